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
    ///
    /// It has a map for a read of single events if `mapping` is true.
    func block(
        _ entry: BlockEntry,
        in reader: SegmentReader,
        keeping: Bool,
        mapping: Bool = false
    ) throws(LogError) -> DecodedBlock? {
        let block = SegmentBlock(entry, of: reader)
        let ahead = ahead(
            of: [block],
            keeping: keeping,
            mapping: mapping,
            isScattered: mapping
        )
        return ahead.advance() == nil ? nil : try takeSound(ahead)
    }

    /// Returns some blocks, from the cache or the files.
    ///
    /// They have maps if `mapping` is true. `isScattered` is true if few of their events are wanted, and `isLong`
    /// for a part of a long read, however few blocks it has; `continues` is true if the read is likely to want
    /// the blocks that follow.
    func ahead(
        of blocks: [SegmentBlock],
        keeping: Bool = true,
        mapping: Bool = false,
        isScattered: Bool = false,
        isLong: Bool = false,
        continues: Bool = false
    ) -> BlocksAhead {
        var blocks = blocks
        // A reader of few events reads all of each.
        let marker = isScattered ? .none : marker
        let scattered = isScattered ? cache.blocks(blocks.map(\.key)) : []
        for case let block? in scattered { block.prefetchRows() }
        let kept = blocks.indices.map { (index) -> DecodedBlock? in
            let key = blocks[index].key
            guard let block = isScattered ? scattered[index] : cache.block(key) else {
                if isScattered, blocks[index].wanted != nil,
                    !cache.wantsScattered(byteCount: Int(blocks[index].entry.rawByteCount))
                {
                    blocks[index].isPart = true
                }
                return nil
            }
            guard mapping, !block.isMapped(by: marker) else { return block }
            let mapped = block.mapped(by: marker)
            cache.keep(mapped, key)
            return mapped
        }
        return BlocksAhead(
            blocks,
            kept: kept,
            mapping: mapping ? marker : nil,
            isScattered: isScattered,
            isLong: isLong,
            keeping: keeping ? cache : nil,
            continuingIn: continues ? self : nil
        )
    }

    /// Returns the blocks behind another one, also of the next segments, up to a stripe.
    func blocks(after block: SegmentBlock, count: Int) -> [SegmentBlock] {
        var blocks: [SegmentBlock] = []
        var position = block.entry.last.next
        // An error ends the read that wants these blocks, and not this one.
        while blocks.count < count, let (reader, end) = try? readerOrNext(at: position) {
            let index = reader.index(of: position)
            let entries = reader.entries(from: index, count: count - blocks.count)
                .prefix { !$0.isMap }
            blocks += entries.map { SegmentBlock($0, of: reader) }
            guard let end, index + entries.count == reader.blockCount else { break }
            position = end.next
        }
        return blocks
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
        to target: SequenceNumber = .zero
    ) throws(LogError) -> Bool {
        do throws(BlockCursor.Malformed) {
            return try cursor.advance(to: target)
        } catch {
            try meet(reader.malformed(cursor.entry, error))
            // A later call then reports the end instead of continuing within the malformed bytes.
            cursor = .nowhere
            return false
        }
    }
}
