// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TidemarkLog

@Suite struct BlockCacheTests {
    private static let byteCount = 1_000
    /// A cache with room for 64 blocks, of which long reads pass through 8.
    private let cache = BlockCache(byteCount: 64 * Self.byteCount)

    private func key(_ number: Int) -> BlockCache.Key {
        BlockCache.Key(segment: SegmentID(first: .zero), offset: UInt32(number))
    }

    private func keep(_ numbers: Range<Int>, isPassing: Bool) {
        for number in numbers {
            let entry = BlockEntry(
                first: .zero,
                offset: number,
                storedByteCount: Self.byteCount,
                rawByteCount: Self.byteCount,
                positionCount: 1,
                checksum: 0
            )
            let bytes = [UInt8](repeating: 0, count: Self.byteCount)
            let block = DecodedBlock(bytes: bytes, entry: entry)
            cache.keep(block, key(number), isPassing: isPassing)
        }
    }

    /// Which of some blocks are in the cache.
    private func kept(_ numbers: Range<Int>) -> [Int] {
        numbers.filter { cache.block(key($0)) != nil }
    }

    @Test func `The least recently used block is removed first`() {
        keep(0..<64, isPassing: false)
        #expect(kept(0..<2) == [0, 1])
        keep(64..<66, isPassing: false)
        #expect(kept(0..<66) == [0, 1] + Array(4..<66))
    }

    @Test func `A long read uses the room that is left, and removes no other blocks`() {
        keep(0..<40, isPassing: false)
        keep(100..<1_000, isPassing: true)
        #expect(kept(0..<40) == Array(0..<40))
        #expect(kept(100..<1_000) == Array(100..<116) + Array(992..<1_000))
    }

    @Test func `A short read has room in a full cache`() {
        keep(0..<64, isPassing: false)
        keep(100..<108, isPassing: true)
        #expect(kept(100..<108) == Array(100..<108))
        #expect(kept(0..<64) == Array(8..<64))
    }

    @Test func `A long read that is made again soon after is kept`() {
        keep(0..<64, isPassing: false)
        keep(100..<140, isPassing: true)
        #expect(kept(100..<140) == Array(132..<140))
        // Those that are still there are not read again.
        keep(100..<132, isPassing: true)
        keep(200..<300, isPassing: true)
        #expect(kept(100..<132) == Array(100..<132))
        #expect(kept(132..<140) == [])
    }

    @Test func `Blocks that were removed long ago are forgotten`() {
        keep(0..<64, isPassing: false)
        keep(100..<300, isPassing: true)
        keep(100..<120, isPassing: true)
        keep(400..<500, isPassing: true)
        #expect(kept(100..<120) == [])
        #expect(kept(8..<64) == Array(8..<64))
    }
}
