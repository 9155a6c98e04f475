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

    private func keep(_ numbers: Range<Int>, of read: BlockCache.Read) {
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
            cache.keep(block, key(number), of: read)
        }
    }

    /// Which of some blocks are in the cache.
    private func kept(_ numbers: Range<Int>) -> [Int] {
        numbers.filter { cache.block(key($0)) != nil }
    }

    @Test func `Several blocks are returned, each at the place of its key, and counted`() {
        keep(0..<10, of: .short)
        let blocks = cache.blocks([3, 77, 9, 3].map(key))
        #expect(blocks.map { $0?.entry.offset } == [3, nil, 9, 3])
        #expect(cache.use == CacheUse(hitCount: 3, missCount: 1))
    }

    @Test func `The least recently used block is removed first`() {
        keep(0..<64, of: .short)
        #expect(kept(0..<2) == [0, 1])
        keep(64..<66, of: .short)
        #expect(kept(0..<66) == [0, 1] + Array(4..<66))
    }

    @Test func `A long read uses the room that is left, and removes no other blocks`() {
        keep(0..<40, of: .short)
        keep(100..<1_000, of: .long)
        #expect(kept(0..<40) == Array(0..<40))
        #expect(kept(100..<1_000) == Array(100..<116) + Array(992..<1_000))
    }

    @Test func `A short read has room in a full cache`() {
        keep(0..<64, of: .short)
        keep(100..<108, of: .long)
        #expect(kept(100..<108) == Array(100..<108))
        #expect(kept(0..<64) == Array(8..<64))
    }

    @Test func `A long read that is made again soon after is kept`() {
        keep(0..<64, of: .short)
        keep(100..<140, of: .long)
        #expect(kept(100..<140) == Array(132..<140))
        // Those that are still there are not read again.
        keep(100..<132, of: .long)
        keep(200..<300, of: .long)
        #expect(kept(100..<132) == Array(100..<132))
        #expect(kept(132..<140) == [])
    }

    @Test func `A long read that continues uses the room that is left, and no more`() {
        keep(0..<40, of: .short)
        keep(100..<104, of: .long)
        keep(104..<1_000, of: .continued)
        #expect(kept(0..<40) == Array(0..<40))
        #expect(kept(100..<1_000) == Array(100..<124))
        // The next long read still passes through the cache.
        keep(1_000..<1_010, of: .long)
        #expect(kept(1_000..<1_010) == Array(1_002..<1_010))
    }

    @Test func `A full cache wants one in 32 of the blocks of scattered reads`() {
        func wantedCount() -> Int {
            (0..<320).count { _ in cache.wantsScattered(byteCount: Self.byteCount) }
        }
        keep(0..<63, of: .short)
        #expect(wantedCount() == 320)
        keep(63..<64, of: .short)
        #expect(wantedCount() == 10)
    }

    @Test func `Blocks that were removed long ago are forgotten`() {
        keep(0..<64, of: .short)
        keep(100..<300, of: .long)
        keep(100..<120, of: .long)
        keep(400..<500, of: .long)
        #expect(kept(100..<120) == [])
        #expect(kept(8..<64) == Array(8..<64))
    }
}
