// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Walks the frames of one file in order, and reports the exact place and cause of a stop.
///
/// Opening, reading, sealing, verifying and salvaging all use this type, so that they agree on the
/// definition of a sound frame.
struct FrameScan {
    /// A frame that is sound in every checked respect.
    struct Frame: Hashable {
        var header: FrameHeader
        var offset: UInt64
        var blocks: [BlockEntry]

        /// The offset of the next frame.
        var end: UInt64 { offset + UInt64(header.byteCount) }
    }

    /// The reason why the walk has ended.
    enum Stop: Hashable {
        /// Nothing was written here: the bytes of a frame header are all zero, or the file ends.
        case blank
        /// The limit of the walk.
        case limit
        /// The bytes at the offset are not the frame that belongs there.
        case unsound(Unsound)
    }

    /// A defect of a frame.
    struct Unsound: Hashable {
        var reason: String
        /// The number of bytes that the frame covers, as far as that can be trusted.
        var extent: Int
        /// The frame, if its header and its block table are sound and only a block is not, or the file
        /// ends before its last block does.
        var frame: Frame?
    }

    enum Step {
        case frame(Frame)
        case stop(Stop)
    }

    let header: FileHeader
    private(set) var offset: UInt64
    private(set) var chain: UInt64
    /// The expected first position of the next frame; `nil` if positions are not counted.
    private(set) var next: SequenceNumber?
    var limit: UInt64
    /// True if the walk has a limit: the file is finished, and may have been truncated.
    let isLimited: Bool
    var window: FileWindow

    /// Starts before the first frame of a file.
    ///
    /// The walk ends at `limit` if that comes first.
    init(_ file: any LogFile, header: FileHeader, limit: UInt64? = nil) throws(LogError) {
        self.header = header
        window = try FileWindow(file)
        offset = UInt64(header.framesOffset)
        chain = header.chain
        // A manifest's frames all state position 0, so only their chain orders them.
        next = header.kind == .manifest ? nil : header.first
        self.limit = min(limit ?? .max, window.fileByteCount, Layout.frameOffsetLimit)
        isLimited = limit != nil
    }

    /// Returns the next frame, or the reason why there is none.
    ///
    /// After a stop, every further call returns the same.
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
                    Unsound(
                        reason: "no frame header with a valid checksum",
                        extent: Layout.frameHeaderByteCount
                    )
                )
            )
        }
        let extent = Int(frame.byteCount)
        func unsound(_ reason: String, _ whole: Frame? = nil) -> Step {
            .stop(.unsound(Unsound(reason: reason, extent: extent, frame: whole)))
        }
        // Salt and offset do not tell two continuations of one file apart, such as those of a
        // copied store and its original. The chain does.
        guard frame.chain == chain else {
            return unsound("the frame does not follow the one before it (chain word)")
        }
        if let next, frame.first != next {
            return unsound("the frame begins with event \(frame.first), not \(next)")
        }
        // The table is read before the length is checked. If the file ends within the frame,
        // salvage can still read the blocks that precede the end.
        let blocks = try table(of: frame)
        guard UInt64(extent) <= limit - offset else {
            return unsound(
                "a frame of \(extent) bytes runs past the end of the file",
                blocks.map { Frame(header: frame, offset: offset, blocks: $0) }
            )
        }
        guard let blocks else {
            return unsound("the frame's block table fails its checksum or does not add up")
        }
        let result = Frame(header: frame, offset: offset, blocks: blocks)
        if let reason = try fault(in: result) { return unsound(reason, result) }
        try pass(result)
        return .frame(result)
    }

    /// Continues after a frame in which only a block is unsound.
    mutating func pass(_ frame: Frame) throws(LogError) {
        let place = try window.range(at: frame.offset, byteCount: Layout.frameHeaderByteCount)
        chain = chainWord(after: window.bytes.span.bytes.extracting(place))
        if next != nil {
            next = frame.header.first + Int(frame.header.positionCount)
        }
        offset = frame.end
    }

    /// Moves the walk to a frame that was found by searching, whose predecessor is unknown.
    mutating func resume(at offset: UInt64, _ frame: FrameHeader) {
        self.offset = offset
        chain = frame.chain
        if next != nil { next = frame.first }
    }

    /// Returns the stored bytes of a block of the frame that was returned last.
    mutating func stored(_ entry: BlockEntry) throws(LogError) -> [UInt8] {
        let place = try window.range(
            at: UInt64(entry.offset),
            byteCount: Int(entry.storedByteCount)
        )
        return [UInt8](window.bytes[place])
    }

    /// Searches forward from an offset for a frame header that is valid at its place.
    mutating func search(from start: UInt64) throws(LogError) -> (UInt64, FrameHeader)? {
        var found: (UInt64, FrameHeader)?
        _ = try survey(from: start) { offset, frame in
            found = (offset, frame)
            return false
        }
        return found
    }

    /// Scans the file once, from an offset to the end of the walk.
    ///
    /// Calls `visit` with each frame header that is valid at its place, until it returns `false`.
    /// Returns the offset of the last nonzero byte. Zeros cost little more than reading them, and
    /// holes of the file cost nothing.
    mutating func survey(
        from start: UInt64,
        visit: (UInt64, FrameHeader) -> Bool
    ) throws(LogError) -> UInt64? {
        let alignment = UInt64(Layout.frameAlignment)
        let pageByteCount: UInt64 = 4096
        // A header may begin in one page and end in the next.
        let overlap = UInt64(Layout.frameHeaderByteCount)
        var last: UInt64?
        var place = (start + alignment - 1) / alignment * alignment
        var data = place..<place
        while place < limit {
            if place >= data.upperBound {
                guard let next = try window.dataRange(from: place) else { break }
                data = next
                place = max(place, next.lowerBound / alignment * alignment)
                continue
            }
            let pageEnd = min(limit, (place / pageByteCount + 1) * pageByteCount)
            let range = try window.range(at: place, byteCount: Int(pageEnd - place + overlap))
            let page = window.bytes.span.bytes.extracting(range)
            let pageByteCount = min(Int(pageEnd - place), page.byteCount)
            // A header begins with its magic, so none begins in a page of zeros.
            if !page.isZero(in: 0..<pageByteCount) {
                for index in stride(from: 0, to: pageByteCount, by: Layout.frameAlignment) {
                    let here = page.extracting(index..<page.byteCount)
                    let offset = place + UInt64(index)
                    // Cheap for most places: the magic is compared before anything is hashed.
                    if let frame = FrameHeader(decoding: here, salt: header.salt, offset: offset),
                        !visit(offset, frame)
                    {
                        return offset
                    }
                }
                let index = (0..<pageByteCount).last { page.byte(at: $0) != 0 } ?? 0
                last = place + UInt64(index)
            }
            place = pageEnd
        }
        return last
    }
}

extension FrameScan {
    /// Reads a frame's block table; `nil` if its checksum does not match the header.
    private mutating func table(of frame: FrameHeader) throws(LogError) -> [BlockEntry]? {
        let tableOffset = offset + UInt64(Layout.frameHeaderByteCount)
        let tableByteCount = Int(frame.blockCount) * Layout.blockEntryByteCount
        let range = try window.range(at: tableOffset, byteCount: tableByteCount)
        let table = window.bytes.span.bytes.extracting(range)
        let seed = Layout.seed(salt: header.salt, offset: tableOffset)
        guard xxh3(table, seed: seed) == frame.tableChecksum else { return nil }
        var entries: [BlockEntry] = []
        var expectedOffset = tableOffset + UInt64(tableByteCount)
        var expected = frame.first.rawValue
        for row in stride(from: 0, to: tableByteCount, by: Layout.blockEntryByteCount) {
            let entry = BlockEntry(decoding: table, at: row)
            // The checksum proves only that the table is as written. Readers rely on entries
            // without gaps or overlaps, and a defect of a writer must not pass as a sound frame.
            guard UInt64(entry.offset) == expectedOffset else { return nil }
            expectedOffset += UInt64(entry.storedByteCount)
            entries.append(entry)
            if frame.kind == .stripe, !entry.isMap {
                // After the maps, whose positions are contiguous, blocks may lie anywhere in the
                // maps' range.
                guard entry.first >= frame.first, entry.first <= frame.last,
                    entry.last <= frame.last
                else { return nil }
            } else {
                // A stripe begins with its maps, and no map follows a block. Other frames have no
                // maps.
                guard entry.first.rawValue == expected,
                    entry.isMap == (frame.kind == .stripe),
                    row == 0 || entries[entries.count - 2].isMap == entry.isMap
                else { return nil }
                expected += UInt64(entry.positionCount)
            }
        }
        let end = offset + UInt64(frame.byteCount)
        guard expected == frame.first.rawValue + UInt64(frame.positionCount),
            expectedOffset <= end, end - expectedOffset < UInt64(Layout.frameAlignment)
        else { return nil }
        return entries
    }

    /// Returns the defect of a frame's blocks or padding, if there is one.
    private mutating func fault(in frame: Frame) throws(LogError) -> String? {
        var end = frame.offset + UInt64(Layout.frameHeaderByteCount)
        end += UInt64(frame.blocks.count * Layout.blockEntryByteCount)
        for (index, entry) in frame.blocks.enumerated() {
            let range = try window.range(
                at: UInt64(entry.offset),
                byteCount: Int(entry.storedByteCount)
            )
            let seed = Layout.seed(salt: header.salt, offset: UInt64(entry.offset))
            guard
                xxh3(window.bytes.span.bytes.extracting(range), seed: seed) == entry.checksum
            else {
                return "block \(index) of the frame, at offset \(entry.offset), fails its checksum"
            }
            end += UInt64(entry.storedByteCount)
        }
        let padding = try window.range(at: end, byteCount: Int(frame.end - end))
        guard window.bytes.span.bytes.isZero(in: padding) else {
            return "the frame's padding is not zero"
        }
        return nil
    }
}
