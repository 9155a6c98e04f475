// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension LogFiles {
    /// Returns the reader of the segment that covers a position, or of the first readable segment
    /// after it, and that segment's last position, unless it takes events.
    ///
    /// The lookup is by position, because compaction may replace several segments with one between
    /// two calls.
    func readerOrNext(
        at position: SequenceNumber
    ) throws(LogError) -> (reader: SegmentReader, last: SequenceNumber?)? {
        var position = position
        while let segment = segment(at: position) {
            do throws(LogError) {
                if let reader = try reader(of: segment) { return (reader, segment.last) }
            } catch {
                // A replaced segment's file may be gone. The next lookup finds the segment that
                // replaced it.
                if isPart(segment.id) { throw error }
                continue
            }
            guard let last = segment.last else { return nil }
            position = last.next
        }
        return nil
    }

    /// Returns a decoded block, from the cache or the file; `nil` if the block is damaged and was
    /// skipped.
    func block(
        _ entry: BlockEntry,
        in reader: SegmentReader,
        keeping: Bool,
        mapping: Bool = false
    ) throws(LogError) -> DecodedBlock? {
        let block = SegmentBlock(entry, of: reader)
        let ahead = ahead(of: [block], keeping: keeping, mapping: mapping)
        return ahead.advance() == nil ? nil : try takeSound(ahead)
    }

    /// Returns some blocks, from the cache or the files.
    ///
    /// `isLong` is true for a part of a long read, however few blocks it has. A read of one segment that is
    /// likely to go on gives the index of the block that is `following`.
    func ahead(
        of blocks: [SegmentBlock],
        keeping: Bool = true,
        mapping: Bool = false,
        isLong: Bool = false,
        before following: Int? = nil
    ) -> BlocksAhead {
        var blocks = blocks
        let kept = blocks.indices.map { (index) -> DecodedBlock? in
            let key = blocks[index].key
            guard let block = cache.block(key) else {
                if mapping, blocks[index].lastWanted != nil,
                    !cache.wantsScattered(byteCount: Int(blocks[index].entry.rawByteCount))
                {
                    blocks[index].isPart = true
                }
                return nil
            }
            guard mapping, block.map == nil else { return block }
            let mapped = block.mapped()
            cache.keep(mapped, key)
            return mapped
        }
        return BlocksAhead(
            blocks,
            kept: kept,
            mapping: mapping,
            isLong: isLong,
            keeping: keeping ? cache : nil,
            before: following.map { ($0, readAhead) }
        )
    }

    /// Takes a block decoded ahead; `nil` if the block is damaged and was skipped.
    func takeSound(_ ahead: BlocksAhead) throws(LogError) -> DecodedBlock? {
        do throws(LogError) {
            return try ahead.take()
        } catch {
            try meet(error)
            return nil
        }
    }

    /// Moves to the next event of a block; a malformed block ends at the defect.
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
            // A later call then reports the end instead of continuing within the malformed bytes.
            cursor = .nowhere
            return false
        }
    }
}
