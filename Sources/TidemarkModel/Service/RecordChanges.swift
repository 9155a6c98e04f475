// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The lines of one page of a zone's delta, oldest first.
///
/// A page from a store refers to the log's blocks that hold its records. A line, its record and its
/// change tag are created on access, in O(1) and without copying the record. A record of a page
/// retains its block, usually 16 or 32 KiB.
public struct RecordChanges: Sendable {
    private enum Storage: Sendable {
        case rows(RecordRows, zone: ZoneID, FieldSelection?)
        case lines([RecordChange])
    }

    private var storage: Storage

    /// Creates a page of lines that were created one by one.
    ///
    /// O(lines).
    public init(_ lines: some Sequence<RecordChange>) {
        storage = .lines(Array(lines))
    }

    /// Creates a page from rows, with the selected fields only.
    package init(_ rows: RecordRows, in zone: ZoneID, selecting selection: FieldSelection? = nil) {
        storage = .rows(rows, zone: zone, selection)
    }

    /// The rows of the page, for code that writes them as bytes; `nil` for lines that were created
    /// one by one.
    package var table: (rows: RecordRows, zone: ZoneID, selection: FieldSelection?)? {
        if case .rows(let rows, let zone, let selection) = storage {
            (rows, zone, selection)
        } else {
            nil
        }
    }
}

extension RecordChanges: RandomAccessCollection {
    /// Zero.
    public var startIndex: Int { 0 }

    /// The number of lines.
    public var endIndex: Int {
        switch storage {
        case .rows(let rows, _, _): rows.count
        case .lines(let lines): lines.count
        }
    }

    /// A line by its place in the page.
    ///
    /// O(1); O(fields) for a record of which some fields are selected.
    public subscript(position: Int) -> RecordChange {
        switch storage {
        case .lines(let lines): lines[position]
        case .rows(let rows, let zone, let selection):
            rows.change(at: position, in: zone, selecting: selection)
        }
    }
}

extension RecordChanges: RangeReplaceableCollection {
    /// No lines.
    public init() {
        storage = .lines([])
    }

    /// Replaces some lines, to collect several pages.
    ///
    /// Creates every line of the page. O(lines).
    public mutating func replaceSubrange(
        _ range: Range<Int>,
        with lines: some Collection<RecordChange>
    ) {
        var all = Array(self)
        storage = .lines([])
        all.replaceSubrange(range, with: lines)
        storage = .lines(all)
    }

    /// Adds lines after the last one.
    public mutating func append(contentsOf lines: some Sequence<RecordChange>) {
        var all: [RecordChange]
        switch storage {
        case .lines(let own): all = own
        case .rows: all = Array(self)
        }
        // This keeps the only reference to the array, so that appending pages copies none of them.
        storage = .lines([])
        all.append(contentsOf: lines)
        storage = .lines(all)
    }
}

extension RecordChanges: ExpressibleByArrayLiteral {
    /// Collects the lines of a literal.
    public init(arrayLiteral lines: RecordChange...) {
        self.init(lines)
    }
}

extension RecordChanges: Hashable {
    /// Returns true if two pages have equal lines in the same order.
    ///
    /// O(bytes).
    public static func == (lhs: RecordChanges, rhs: RecordChanges) -> Bool {
        lhs.elementsEqual(rhs)
    }

    /// Hashes the lines.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(count)
        for change in self { hasher.combine(change) }
    }
}

extension RecordChanges: CustomStringConvertible {
    /// The lines, in brackets.
    public var description: String { "\(Array(self))" }
}
