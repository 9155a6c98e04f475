// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// A frame that holds events, before its blocks are compressed.
struct RawFrame: Sendable {
    /// A block's place in `raw`: it ends where the next one begins.
    struct Block: Sendable {
        var start: Int
        var first: SequenceNumber
        var positionCount = 0
        var isMap = false
    }

    var kind: FrameKind
    var first: SequenceNumber
    var positionCount: Int
    var commitCount: Int
    var lastTime: Int64
    var lastReceived: Int64
    /// The blocks, one after another.
    var raw: [UInt8]
    var blocks: [Block]

    /// The ranges of the blocks' raw bytes.
    private var ranges: [Range<Int>] {
        blocks.indices.map { index in
            blocks[index].start..<(index + 1 < blocks.count ? blocks[index + 1].start : raw.count)
        }
    }

    /// The end of the block table and start of the first block, relative to the frame's start.
    private var tableEnd: Int {
        Layout.frameHeaderByteCount + blocks.count * Layout.blockEntryByteCount
    }

    /// Returns the length of the frame if a compressor encodes it.
    func byteCount(by compressor: FrameCompressor) -> Int {
        withUnsafeTemporaryAllocation(byteCount: raw.count, alignment: 1) { room in
            compressor.compress(raw, blocks: ranges, into: room).reduce(tableEnd, +)
        }
    }

    /// Returns the frame's bytes for one place in one file, and its block table.
    func encoded(
        at place: FramePlace,
        compressor: FrameCompressor
    ) -> (bytes: [UInt8], blocks: [BlockEntry]) {
        let ranges = ranges
        var start = tableEnd
        var storedByteCounts: [Int] = []
        // No block becomes longer than its raw bytes, so the array has room for all of them and
        // never moves.
        let capacity = start + raw.count + Layout.frameAlignment
        var bytes = [UInt8](unsafeUninitializedCapacity: capacity) { buffer, count in
            // Header and table are filled in when the blocks are known.
            buffer[..<start].initialize(repeating: 0)
            let room = UnsafeMutableRawBufferPointer(
                rebasing: UnsafeMutableRawBufferPointer(buffer)[start...]
            )
            storedByteCounts = compressor.compress(raw, blocks: ranges, into: room)
            let end = storedByteCounts.reduce(start, +)
            count = Layout.aligned(end)
            buffer[end..<count].initialize(repeating: 0)
        }
        var entries: [BlockEntry] = []
        entries.reserveCapacity(blocks.count)
        for (block, stored) in zip(blocks, storedByteCounts) {
            let offset = place.offset + UInt64(start)
            let checksum = xxh3(
                bytes.span.bytes.extracting(start..<start + stored),
                seed: Layout.seed(salt: place.salt, offset: offset)
            )
            entries.append(
                BlockEntry(
                    first: block.first,
                    offset: Int(offset),
                    storedByteCount: stored,
                    rawByteCount: ranges[entries.count].count,
                    positionCount: block.positionCount,
                    checksum: checksum,
                    isMap: block.isMap
                )
            )
            start += stored
        }
        place.fill(
            &bytes,
            kind: kind,
            entries: entries,
            first: first,
            positionCount: positionCount,
            commitCount: commitCount,
            lastTime: lastTime,
            lastReceived: lastReceived
        )
        return (bytes, entries)
    }
}
