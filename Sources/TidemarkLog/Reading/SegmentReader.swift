// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLock

/// One segment file, open for reading, with its dictionary and the places of its blocks.
///
/// A sealed segment's blocks are listed in its footer. Those of a segment without a footer were
/// found by walking its frames; more are added while the segment takes events.
final class SegmentReader: Sendable {
    let id: SegmentID
    let file: any LogFile
    let header: FileHeader
    let dictionary: [UInt8]
    /// The blocks that hold each zone's events; `nil` for a segment without a footer.
    let postings: ZonePostings?
    /// The stripes, ascending; a segment that takes events has none.
    let stripes: [Stripe]
    private let entries: Lock<[BlockEntry]>
    /// Decoders that are not in use.
    private let decoders = Lock<[BlockDecoder]>([])

    init(
        id: SegmentID,
        file: any LogFile,
        header: FileHeader,
        dictionary: [UInt8],
        blocks: [BlockEntry],
        postings: ZonePostings? = nil
    ) {
        self.id = id
        self.file = file
        self.header = header
        self.dictionary = dictionary
        self.postings = postings
        stripes = Stripe.all(in: blocks)
        entries = Lock(blocks)
    }

    /// The current number of blocks.
    var blockCount: Int { entries.withLock { $0.count } }

    /// Returns the entry of a block by its index.
    func entry(at index: Int) -> BlockEntry? {
        entries.withLock { $0.indices.contains(index) ? $0[index] : nil }
    }

    /// Returns the entries in a range of indexes.
    func entries(_ indexes: Range<Int>) -> ArraySlice<BlockEntry> {
        entries.withLock { $0[indexes] }
    }

    /// Returns up to `count` entries from an index on.
    func entries(from index: Int, count: Int) -> [BlockEntry] {
        entries.withLock { Array($0.dropFirst(index).prefix(count)) }
    }

    /// Adds the blocks of a frame that has become durable.
    func add(_ blocks: [BlockEntry]) {
        // Entries are only appended: an index that a reader holds stays valid.
        entries.withLock { $0.append(contentsOf: blocks) }
    }

    /// Returns the index of the block that covers a position, or of the first one after it; in a
    /// stripe, the index of the stripe's first map.
    func index(of sequence: SequenceNumber) -> Int {
        entries.withLock { entries in
            if stripes.isEmpty {
                return entries.endOfPrefix(near: entries.guess(at: sequence)) {
                    $0.last < sequence
                }
            }
            // Within a stripe, positions do not ascend from block to block, so the search takes a
            // stripe as a whole.
            return entries.indices.endOfPrefix {
                (stripe(around: $0)?.last ?? entries[$0].last) < sequence
            }
        }
    }

    /// Returns the stripe that contains the map or block at an index.
    func stripe(around index: Int) -> Stripe? {
        let place = stripes.endOfPrefix { $0.blocks.upperBound <= index }
        guard place < stripes.count, stripes[place].maps.lowerBound <= index else { return nil }
        return stripes[place]
    }

    /// Reads, checks and decodes a block.
    func decode(_ entry: BlockEntry) throws(LogError) -> DecodedBlock {
        DecodedBlock(bytes: try firstBytes(.max, of: entry), entry: entry)
    }

    /// Reads and checks a block, and decodes as many of its first bytes, or all that it has.
    func firstBytes(_ count: Int, of entry: BlockEntry) throws(LogError) -> [UInt8] {
        let decoder = takeDecoder()
        defer { giveBack(decoder) }
        var bytes: [UInt8] = []
        try decode(count, of: entry, try read(entry, by: decoder).bytes, by: decoder, into: &bytes)
        return bytes
    }

    /// Reads and checks a block, and returns the events between two positions, as far as they are in as many of
    /// its first bytes.
    ///
    /// Nothing else is copied out of the decoder's buffers, which stay in the processor's cache.
    func events(
        at wanted: ClosedRange<SequenceNumber>,
        inFirst count: Int,
        of entry: BlockEntry
    ) throws(LogError) -> DecodedBlock {
        let decoder = takeDecoder()
        defer { giveBack(decoder) }
        let stored = try read(entry, by: decoder).bytes
        try check(stored, of: entry)
        let events = decoder.withFirst(count, of: stored, rawByteCount: Int(entry.rawByteCount)) {
            BlockCursor.events(at: wanted, in: $0, of: entry)
        }
        guard let events else { throw damaged(entry, "cannot be decompressed") }
        return events
    }

    /// Reads the stored bytes of a block, which are valid until the decoder reads others.
    ///
    /// They are fewer than the block has at the end of a file that was cut.
    private func read(
        _ entry: BlockEntry,
        by decoder: BlockDecoder
    ) throws(LogError) -> UnsafeRawBufferPointer {
        let room = decoder.room(byteCount: Int(entry.storedByteCount))
        let byteCount = try LogError.wrapping(at: UInt64(entry.offset)) { () throws(FileError) in
            try file.read(into: room, at: UInt64(entry.offset))
        }
        return UnsafeRawBufferPointer(rebasing: room[..<byteCount])
    }

    /// Checks a block that was read, and fills an empty array with as many of its first bytes, or all
    /// that it has.
    private func decode(
        _ count: Int,
        of entry: BlockEntry,
        _ stored: RawSpan,
        by decoder: BlockDecoder,
        into bytes: inout [UInt8]
    ) throws(LogError) {
        try check(stored, of: entry)
        let rawByteCount = Int(entry.rawByteCount)
        guard decoder.decode(count, of: stored, rawByteCount: rawByteCount, into: &bytes) else {
            throw damaged(entry, "cannot be decompressed")
        }
    }

    /// Checks the stored bytes of a block.
    ///
    /// Before they are decoded: for many wrong inputs, LZ4 returns wrong bytes of the right length.
    private func check(_ stored: RawSpan, of entry: BlockEntry) throws(LogError) {
        let seed = Layout.seed(salt: header.salt, offset: UInt64(entry.offset))
        guard stored.byteCount == entry.storedByteCount, xxh3(stored, seed: seed) == entry.checksum
        else { throw damaged(entry, "fails its checksum") }
    }

    /// Reads, checks and decodes a block, with a map if a marker is given.
    func decoded(_ entry: BlockEntry, mapping: EventMarker?) -> Result<DecodedBlock, LogError> {
        Result { () throws(LogError) in
            let block = try decode(entry)
            return mapping.map(block.mapped) ?? block
        }
    }

    /// Does the same for neighbouring blocks, which are read at once and decoded into as many rooms.
    func decoded(
        _ neighbours: some BidirectionalCollection<BlockEntry>,
        mapping: EventMarker?,
        into rooms: inout [BlockRoom]
    ) -> [Result<DecodedBlock, LogError>] {
        guard let first = neighbours.first, let last = neighbours.last else { return [] }
        let decoder = takeDecoder()
        defer { giveBack(decoder) }
        let read = decoder.room(byteCount: Int(last.end - UInt64(first.offset)))
        guard (try? file.read(into: read, at: UInt64(first.offset))) == read.count else {
            // Only some of the blocks may be unreadable.
            return neighbours.map { decoded($0, mapping: mapping) }
        }
        return zip(neighbours, rooms.indices).map { entry, index in
            let start = Int(entry.offset - first.offset)
            let stored = UnsafeRawBufferPointer(read).bytes
                .extracting(start..<start + Int(entry.storedByteCount))
            return Result { () throws(LogError) in
                try decode(.max, of: entry, stored, by: decoder, into: &rooms[index].bytes)
                // Now, while the block is in the processor's cache.
                return DecodedBlock(in: &rooms[index], entry: entry, mapping: mapping)
            }
        }
    }

    private func takeDecoder() -> BlockDecoder {
        // A new decoder copies the dictionary, up to 64 KiB. So decoders are reused, and made
        // outside of the lock.
        decoders.withLock { $0.popLast() } ?? BlockDecoder(dictionary: dictionary)
    }

    /// Returns a decoder to the pool.
    ///
    /// The pool keeps at most two decoders, and none that had to grow its buffer.
    private func giveBack(_ decoder: BlockDecoder) {
        guard !decoder.isGrown else { return }
        decoders.withLock { if $0.count < 2 { $0.append(decoder) } }
    }

    /// Returns the error for a block that was decoded but violates the format.
    func malformed(_ entry: BlockEntry, _ malformed: BlockCursor.Malformed) -> LogError {
        damaged(entry, "is malformed at its raw byte \(malformed.offset)")
    }

    /// Returns the error for a damaged block.
    func damaged(_ entry: BlockEntry, _ found: String) -> LogError {
        LogError(
            .corrupted,
            "The block of events \(entry.first) to \(entry.last) \(found). The other blocks can "
                + "still be read; `tidemark log salvage` copies them into a new store.",
            path: file.path,
            offset: UInt64(entry.offset)
        )
    }
}

extension [BlockEntry] {
    /// Guesses the index of the block that covers a position: most blocks have about as many positions.
    fileprivate func guess(at sequence: SequenceNumber) -> Int {
        guard let first, let last, first.first < sequence, sequence < last.first else {
            return first.map { $0.first < sequence } == true ? count - 1 : 0
        }
        let share =
            Double(sequence.rawValue - first.first.rawValue)
            / Double(last.first.rawValue - first.first.rawValue)
        return Int(share * Double(count - 1))
    }
}

extension SegmentReader {
    /// Opens a segment's file and checks that it is the segment that the manifest names.
    static func open(
        _ id: SegmentID,
        store: StoreID,
        in folder: StoreFolder,
        fileSystem: any FileSystem,
        mode: FileMode = .read
    ) throws(LogError) -> (file: any LogFile, header: FileHeader) {
        let path = folder.segment(id)
        guard try LogError.wrapping({ () throws(FileError) in try fileSystem.exists(path) }) else {
            throw LogError(
                .corrupted,
                "The manifest names this segment, but the file is missing. Restore the file from a "
                    + "backup; `tidemark log salvage` copies what the other files hold.",
                path: path
            )
        }
        let file = try LogError.wrapping { () throws(FileError) in
            try fileSystem.open(path, mode)
        }
        let header = try FileHeader.read(from: file, kind: .segment)
        guard header.store == store else {
            throw LogError(
                .foreignFile,
                "The segment belongs to store \(header.store), not to this one, \(store). Restore "
                    + "the right file from a backup.",
                path: path,
                offset: 16
            )
        }
        guard header.first == id.first, header.generation == id.generation else {
            throw LogError(
                .foreignFile,
                "The segment begins with event \(header.first), generation \(header.generation), "
                    + "which differs from its name. Files have been renamed or swapped; restore "
                    + "the right ones from a backup.",
                path: path,
                offset: 40
            )
        }
        return (file, header)
    }

    /// Reads and checks the dictionary behind a header.
    static func dictionary(
        of file: any LogFile,
        header: FileHeader
    ) throws(LogError) -> [UInt8] {
        let reference = header.dictionary
        guard reference.storedByteCount > 0 else { return [] }
        let offset = UInt64(Layout.fileHeaderByteCount)
        let byteCount = header.framesOffset - Layout.fileHeaderByteCount
        let stored = try file.bytes(at: offset, byteCount: byteCount)
        let used = Int(reference.storedByteCount)
        guard stored.count == byteCount,
            xxh3(
                stored.span.bytes.extracting(0..<used),
                seed: Layout.seed(salt: header.salt, offset: offset)
            ) == reference.checksum,
            stored.span.bytes.isZero(in: used..<byteCount),
            reference.rawByteCount <= Layout.dictionaryByteCount,
            let raw = LZ4.decode(
                stored.span.bytes.extracting(0..<used),
                rawByteCount: Int(reference.rawByteCount)
            )
        else {
            throw LogError(
                .corrupted,
                "The segment's dictionary fails its checksum; its compressed blocks cannot be "
                    + "read without it. `tidemark log salvage` copies what the other files hold.",
                path: file.path,
                offset: offset
            )
        }
        return raw
    }

    /// Reads and checks the footer of a sealed segment.
    static func footer(
        of file: any LogFile,
        header: FileHeader
    ) throws(LogError) -> Footer {
        let summary = try footerSummary(of: file, header: header)
        let bodyOffset = summary.offset + UInt64(Layout.footerHeaderByteCount)
        let bodyByteCount =
            summary.footerByteCount - Layout.footerHeaderByteCount - Layout.trailerByteCount
        let body = try file.bytes(at: bodyOffset, byteCount: bodyByteCount)
        guard
            let footer = Footer(
                summary: summary,
                decoding: body.span.bytes,
                salt: header.salt
            )
        else {
            throw LogError(
                .corrupted,
                "The footer's directory or postings fail their checksum. The segment's frames "
                    + "can still be read one by one; `tidemark log salvage` does so.",
                path: file.path,
                offset: bodyOffset
            )
        }
        return footer
    }

    /// Reads and checks only the fixed parts of a footer: two small reads.
    static func footerSummary(
        of file: any LogFile,
        header: FileHeader
    ) throws(LogError) -> Footer.Summary {
        func damaged(_ what: String, at offset: UInt64) -> LogError {
            LogError(
                .corrupted,
                "The sealed segment's \(what) fails its checksum or is cut off. The segment's "
                    + "frames can still be read one by one; `tidemark log salvage` does so.",
                path: file.path,
                offset: offset
            )
        }
        let fileByteCount = try LogError.wrapping { () throws(FileError) in
            try file.byteCount()
        }
        guard fileByteCount >= UInt64(Layout.trailerByteCount) else {
            throw damaged("trailer", at: 0)
        }
        let trailerOffset = fileByteCount - UInt64(Layout.trailerByteCount)
        let trailer = try file.bytes(at: trailerOffset, byteCount: Layout.trailerByteCount)
        guard
            let place = Footer.Summary.footerPlace(
                decodingTrailer: trailer.span.bytes,
                salt: header.salt
            ),
            // The first comparison prevents an overflow of the subtraction.
            place.offset <= trailerOffset, place.byteCount == trailerOffset - place.offset
        else { throw damaged("trailer", at: trailerOffset) }
        let bytes = try file.bytes(at: place.offset, byteCount: Layout.footerHeaderByteCount)
        guard
            let summary = Footer.Summary(
                decoding: bytes.span.bytes,
                salt: header.salt,
                offset: place.offset
            ),
            UInt64(summary.footerByteCount) == fileByteCount - place.offset,
            summary.first == header.first
        else { throw damaged("footer", at: place.offset) }
        return summary
    }
}

extension Footer.Summary {
    /// Checks that the footer's end matches the manifest.
    func check(last: SequenceNumber, framesEnd: UInt64, path: String) throws(LogError) {
        guard self.last == last, offset == framesEnd else {
            throw LogError(
                .corrupted,
                "The footer ends with event \(self.last), but the manifest says \(last). Files "
                    + "have been renamed or swapped; restore the right ones from a backup.",
                path: path,
                offset: offset
            )
        }
    }
}
