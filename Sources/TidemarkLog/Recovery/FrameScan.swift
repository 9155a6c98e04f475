// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Walks the frames of one file in order and says precisely where and why it has to stop.
///
/// Opening, reading, sealing, verifying and salvaging all walk with this one type, so that they
/// agree about what a sound frame is.
struct FrameScan {
    /// A frame that is sound in every checked respect.
    struct Frame {
        var header: FrameHeader
        var offset: UInt64
        var blocks: [BlockEntry]

        /// Where the next frame begins.
        var end: UInt64 { offset + UInt64(header.byteCount) }
    }

    /// Why the walk is over.
    enum Stop: Hashable {
        /// Nothing was written here: the bytes of a frame header are all zero, or the file ends.
        case blank
        /// The place where the walk was told to end.
        case limit
        /// What is here is not the frame that belongs here. `extent` is how many bytes the frame
        /// covers, as far as that can be trusted.
        case unsound(reason: String, extent: Int)
    }

    enum Step {
        case frame(Frame)
        case stop(Stop)
    }

    let header: FileHeader
    private(set) var offset: UInt64
    private(set) var chain: UInt64
    /// The position that the next frame must begin with; `nil` where positions are not counted.
    private(set) var next: SequenceNumber?
    private let limit: UInt64
    var window: FileWindow

    /// Starts before the first frame of a file.
    ///
    /// The walk ends at `limit` if that comes first.
    init(_ file: any LogFile, header: FileHeader, limit: UInt64? = nil) throws(LogError) {
        self.header = header
        window = try FileWindow(file)
        offset = UInt64(header.framesOffset)
        chain = header.chain
        next = header.kind == .manifest ? nil : header.first
        self.limit = min(limit ?? .max, window.fileByteCount)
        isLimited = limit != nil
    }

    private let isLimited: Bool

    /// The next frame, or why there is none.
    ///
    /// After a stop every further call says the same.
    mutating func step() throws(LogError) -> Step {
        if offset >= limit { return .stop(isLimited ? .limit : .blank) }
        let place = try window.range(at: offset, byteCount: Layout.frameHeaderByteCount)
        guard
            let frame = FrameHeader(
                decoding: window.bytes.span.bytes.extracting(place),
                salt: header.salt,
                offset: offset
            )
        else {
            if window.bytes.span.bytes.extracting(place).isZero(in: 0..<place.count) {
                return .stop(.blank)
            }
            return .stop(
                .unsound(
                    reason: "no frame header with a valid checksum",
                    extent: Layout.frameHeaderByteCount
                )
            )
        }
        let extent = Int(frame.byteCount)
        func unsound(_ reason: String) -> Step { .stop(.unsound(reason: reason, extent: extent)) }
        guard UInt64(extent) <= limit - offset else {
            return unsound("a frame of \(extent) bytes runs past the end of the file")
        }
        guard frame.chain == chain else {
            return unsound("the frame does not follow the one before it (chain word)")
        }
        if let next, frame.first != next {
            return unsound("the frame begins with event \(frame.first), not \(next)")
        }
        switch try blocks(of: frame) {
        case .failure(let failure): return unsound(failure.reason)
        case .success(let blocks):
            let result = Frame(header: frame, offset: offset, blocks: blocks)
            let place = try window.range(at: offset, byteCount: Layout.frameHeaderByteCount)
            chain = chainWord(after: window.bytes.span.bytes.extracting(place))
            if next != nil {
                next = SequenceNumber(rawValue: frame.first.rawValue + UInt64(frame.positionCount))
            }
            offset = result.end
            return .frame(result)
        }
    }

    /// Moves the walk to a frame that was found by searching, whose predecessor is unknown.
    mutating func resume(at offset: UInt64, _ frame: FrameHeader) {
        self.offset = offset
        chain = frame.chain
        if next != nil { next = frame.first }
    }

    /// The stored bytes of a block of the frame that was returned last.
    mutating func stored(_ entry: BlockEntry) throws(LogError) -> [UInt8] {
        let place = try window.range(
            at: UInt64(entry.offset),
            byteCount: Int(entry.storedByteCount)
        )
        return [UInt8](window.bytes[place])
    }

    /// Searches forward from an offset for a frame header that is valid where it stands.
    mutating func search(from start: UInt64) throws(LogError) -> (UInt64, FrameHeader)? {
        let alignment = UInt64(Layout.frameAlignment)
        let pageByteCount: UInt64 = 4096
        var place = (start + alignment - 1) / alignment * alignment
        while place < limit {
            let pageEnd = min(limit, (place / pageByteCount + 1) * pageByteCount)
            let overlap = UInt64(Layout.frameHeaderByteCount)
            let range = try window.range(at: place, byteCount: Int(pageEnd - place + overlap))
            let page = window.bytes.span.bytes.extracting(range)
            let pageByteCount = min(Int(pageEnd - place), page.byteCount)
            if !page.isZero(in: 0..<pageByteCount) {
                for index in stride(from: 0, to: pageByteCount, by: Layout.frameAlignment) {
                    let here = page.extracting(index..<page.byteCount)
                    let offset = place + UInt64(index)
                    if let frame = FrameHeader(decoding: here, salt: header.salt, offset: offset) {
                        return (offset, frame)
                    }
                }
            }
            place = pageEnd
        }
        return nil
    }
}

extension FrameScan {
    private struct Unsound: Error {
        var reason: String
    }

    /// Reads and checks a frame's block table and blocks.
    private mutating func blocks(
        of frame: FrameHeader
    ) throws(LogError) -> Result<[BlockEntry], Unsound> {
        let tableOffset = offset + UInt64(Layout.frameHeaderByteCount)
        let tableByteCount = Int(frame.blockCount) * Layout.blockEntryByteCount
        let table = try window.range(at: tableOffset, byteCount: tableByteCount)
        let tableSeed = Layout.seed(salt: header.salt, offset: tableOffset)
        guard
            xxh3(window.bytes.span.bytes.extracting(table), seed: tableSeed) == frame.tableChecksum
        else {
            return .failure(Unsound(reason: "the frame's block table fails its checksum"))
        }
        let entries = (0..<Int(frame.blockCount)).map {
            BlockEntry(
                decoding: window.bytes.span.bytes.extracting(table),
                at: $0 * Layout.blockEntryByteCount
            )
        }
        var expectedOffset = tableOffset + UInt64(tableByteCount)
        var expected = frame.first
        for (index, entry) in entries.enumerated() {
            guard UInt64(entry.offset) == expectedOffset, entry.first == expected,
                expectedOffset + UInt64(entry.storedByteCount) <= offset + UInt64(frame.byteCount)
            else { return .failure(Unsound(reason: "block \(index) of the frame is misplaced")) }
            let bytes = try window.range(
                at: expectedOffset,
                byteCount: Int(entry.storedByteCount)
            )
            let seed = Layout.seed(salt: header.salt, offset: expectedOffset)
            guard xxh3(window.bytes.span.bytes.extracting(bytes), seed: seed) == entry.checksum
            else {
                return .failure(
                    Unsound(
                        reason: "block \(index) of the frame, at offset \(expectedOffset), "
                            + "fails its checksum"
                    )
                )
            }
            expectedOffset += UInt64(entry.storedByteCount)
            expected = SequenceNumber(
                rawValue: expected.rawValue + UInt64(entry.positionCount)
            )
        }
        guard expected.rawValue == frame.first.rawValue + UInt64(frame.positionCount) else {
            return .failure(Unsound(reason: "the frame's blocks do not add up to its events"))
        }
        let padding = Int(offset + UInt64(frame.byteCount) - expectedOffset)
        let paddingRange = try window.range(at: expectedOffset, byteCount: padding)
        guard padding < Layout.frameAlignment,
            window.bytes.span.bytes.extracting(paddingRange).isZero(in: 0..<paddingRange.count)
        else { return .failure(Unsound(reason: "the frame's padding is not zero")) }
        return .success(entries)
    }
}
