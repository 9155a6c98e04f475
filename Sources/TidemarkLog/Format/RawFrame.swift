// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// A frame that holds events, before its blocks are compressed.
struct RawFrame: Sendable {
    /// A block before it is compressed.
    ///
    /// Each has bytes of its own, so that complete blocks can be compressed while others grow.
    struct Block: Sendable {
        var raw: [UInt8] = []
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
    var blocks: [Block]
    /// The first blocks, if another thread compresses them already.
    var begun: SharedBlocks?

    /// The block table before compression: without stored lengths, places and checksums.
    private var entries: [BlockEntry] {
        blocks.map { block in
            BlockEntry(
                first: block.first,
                offset: 0,
                storedByteCount: 0,
                rawByteCount: block.raw.count,
                positionCount: block.positionCount,
                checksum: 0,
                isMap: block.isMap
            )
        }
    }

    private var rawByteCount: Int { blocks.reduce(0) { $0 + $1.raw.count } }

    /// The end of the block table and start of the first block, relative to the frame's start.
    private var tableEnd: Int {
        Layout.frameHeaderByteCount + blocks.count * Layout.blockEntryByteCount
    }

    /// Returns the length of the frame if a compressor encodes it.
    func byteCount(by compressor: FrameCompressor) -> Int {
        var entries = entries
        return withUnsafeTemporaryAllocation(byteCount: rawByteCount, alignment: 1) { room in
            tableEnd + compressor.compress(blocks, &entries, into: room)
        }
    }

    /// Returns the frame's bytes for one place in one file, and its block table.
    func encoded(
        at place: FramePlace,
        compressor: FrameCompressor
    ) -> (bytes: [UInt8], blocks: [BlockEntry]) {
        var entries = entries
        var start = tableEnd
        // No block becomes longer than its raw bytes, so the array has room for all of them and
        // never moves.
        let capacity = start + rawByteCount + Layout.frameAlignment
        var bytes = [UInt8](unsafeUninitializedCapacity: capacity) { buffer, count in
            // Header and table are filled in when the blocks are known.
            buffer[..<start].initialize(repeating: 0)
            let room = UnsafeMutableRawBufferPointer(
                rebasing: UnsafeMutableRawBufferPointer(buffer)[start...]
            )
            let end = start + compressor.compress(blocks, &entries, begun: begun, into: room)
            count = Layout.aligned(end)
            buffer[end..<count].initialize(repeating: 0)
        }
        for index in entries.indices {
            let end = start + Int(entries[index].storedByteCount)
            let offset = place.offset + UInt64(start)
            entries[index].offset = UInt32(offset)
            entries[index].checksum = xxh3(
                bytes.span.bytes.extracting(start..<end),
                seed: Layout.seed(salt: place.salt, offset: offset)
            )
            start = end
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
