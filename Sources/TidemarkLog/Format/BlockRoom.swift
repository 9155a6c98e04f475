// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Memory for a decoded block and its map.
///
/// `malloc` has an arena for each thread, and a thread that frees the memory of another one's arena takes
/// its lock. Then the two wait for each other. Of a long read, another thread decodes blocks, and the
/// reader's thread is likely to release them. So the reader makes a room for each, which the thread that
/// decodes the block fills.
struct BlockRoom: Sendable {
    var bytes: [UInt8] = []
    var map = BlockMap()

    /// A room without memory: it is allocated when the room is filled.
    init() {}

    /// A room for a block, and for its map if it gets one.
    init(for entry: BlockEntry, isMapped: Bool) {
        // A longer block has one event, and memory of its own.
        if entry.rawByteCount <= Layout.compactedBlockByteCount {
            bytes.reserveCapacity(Int(entry.rawByteCount))
        }
        if isMapped { map = BlockMap(for: entry) }
    }
}
