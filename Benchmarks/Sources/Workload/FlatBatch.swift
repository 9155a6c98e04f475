// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// A commit made ready for an engine that takes a name and an opaque value: all bytes in one array.
public struct FlatBatch: Sendable {
    /// One record's place in the bytes.
    public struct Entry: Sendable {
        /// The zone, counted from 0.
        public var zone: UInt32
        /// Where in ``FlatBatch/bytes`` the name is.
        public var name: Range<Int>
        /// Where in ``FlatBatch/bytes`` the value is.
        public var value: Range<Int>
    }

    /// Names and values.
    public private(set) var bytes: [UInt8] = []
    /// In the order of the changes.
    public private(set) var entries: [Entry] = []
    /// Whether every record is new.
    public let isInsert: Bool

    /// Lays out a commit.
    ///
    /// The value holds the page's four fields and nothing else: each length in
    /// two bytes, then the bytes; the line count in eight.
    public init(_ batch: Batch, _ pages: PageSource) {
        isInsert = batch.isInsert
        var page = Page()
        entries.reserveCapacity(batch.changes.count)
        for change in batch.changes {
            pages.fill(&page, for: change)
            let start = bytes.count
            change.appendName(to: &bytes)
            let middle = bytes.count
            page.appendValue(to: &bytes)
            entries.append(
                Entry(zone: change.zone, name: start..<middle, value: middle..<bytes.count)
            )
        }
    }
}

extension Page {
    /// Appends the page as an opaque value.
    public func appendValue(to bytes: inout [UInt8]) {
        for field in [title, folder, text] {
            bytes.append(UInt8(truncatingIfNeeded: field.count))
            bytes.append(UInt8(truncatingIfNeeded: field.count >> 8))
            bytes += field
        }
        withUnsafeBytes(of: lineCount.littleEndian) { bytes.append(contentsOf: $0) }
    }
    /// Reads the page back; `nil` if the bytes are no page.
    public init?(value: [UInt8]) {
        var rest = value[...]
        func field() -> [UInt8]? {
            guard rest.count >= 2 else { return nil }
            let count = Int(rest.removeFirst()) | Int(rest.removeFirst()) << 8
            guard rest.count >= count else { return nil }
            defer { rest = rest.dropFirst(count) }
            return Array(rest.prefix(count))
        }
        guard let title = field(), let folder = field(), let text = field(), rest.count == 8 else {
            return nil
        }
        self.init(
            title: title,
            folder: folder,
            text: text,
            lineCount: rest.reversed().reduce(0) { $0 << 8 | Int64($1) }
        )
    }
}
