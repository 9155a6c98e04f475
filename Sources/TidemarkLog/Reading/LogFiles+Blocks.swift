// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension LogFiles {
    /// The reader of the segment that covers a position, or of the first one after it that can be
    /// read, and the last position of that segment, unless it takes events.
    ///
    /// By position, because compaction may put one segment in the place of several between two calls.
    func readerOrNext(
        at position: SequenceNumber
    ) throws(LogError) -> (reader: SegmentReader, last: SequenceNumber?)? {
        var position = position
        while let segment = segment(at: position) {
            do throws(LogError) {
                if let reader = try reader(of: segment) { return (reader, segment.last) }
            } catch {
                if isPart(segment.id) { throw error }
                continue
            }
            guard let last = segment.last else { return nil }
            position = last.next
        }
        return nil
    }

    /// A decoded block, from the cache or the file; `nil` if it is damaged and was passed over.
    func block(
        _ entry: BlockEntry,
        in reader: SegmentReader,
        keeping: Bool
    ) throws(LogError) -> DecodedBlock? {
        try blocks([entry], in: reader, keeping: keeping).first.flatMap(sound)
    }

    /// Some blocks of a segment, from the cache or the file.
    func blocks(
        _ entries: [BlockEntry],
        in reader: SegmentReader,
        keeping: Bool = true,
        mapping: Bool = false
    ) -> [BlockAhead] {
        func key(_ entry: BlockEntry) -> BlockCache.Key {
            BlockCache.Key(segment: reader.id, offset: entry.offset)
        }
        var missing: [BlockEntry] = []
        var blocks = entries.map { entry in
            var kept = cache.block(key(entry))
            if let block = kept {
                if mapping, block.map == nil {
                    let mapped = block.mapped()
                    cache.keep(mapped, key(entry))
                    kept = mapped
                }
            } else {
                missing.append(entry)
            }
            return BlockAhead(entry: entry, block: kept.map { .success($0) })
        }
        guard !missing.isEmpty else { return blocks }
        var decoded = reader.decode(missing, mapping: mapping)[...]
        for index in blocks.indices where blocks[index].block == nil {
            let result = decoded.popFirst()
            blocks[index].block = result
            if keeping, case .success(let block) = result {
                cache.keep(block, key(block.entry))
            }
        }
        return blocks
    }

    /// A block that a reader has come to; `nil` if it is damaged and was passed over.
    func sound(_ next: BlockAhead) throws(LogError) -> DecodedBlock? {
        do throws(LogError) {
            return try next.block?.get()
        } catch {
            try meet(error)
            return nil
        }
    }

    /// Moves to the next event of a block; one that is malformed inside ends there.
    @inline(__always)
    func advance(
        _ cursor: inout BlockCursor,
        of reader: SegmentReader,
        to target: SequenceNumber = .zero,
        by map: BlockMap? = nil
    ) throws(LogError) -> Bool {
        do throws(BlockCursor.Malformed) {
            if let map { return try cursor.jump(to: target, by: map) }
            return try cursor.advance(to: target)
        } catch {
            try meet(reader.malformed(cursor.entry, error))
            cursor = .nowhere
            return false
        }
    }
}

/// A block that was decoded before its reader came to it, or why it could not be.
struct BlockAhead {
    /// Decoded at most at once: one MiB, which stays in the processor's cache.
    static let countLimit = 64

    let entry: BlockEntry
    var block: Result<DecodedBlock, LogError>?
}
