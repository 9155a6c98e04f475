// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TidemarkLog

/// What is compressed is decoded again, however it was compressed.
@Suite struct FrameCompressorTests {
    @Test(arguments: [0, 100, 64 << 10])
    func `Blocks of any size and number round-trip`(_ dictionaryByteCount: Int) throws {
        let dictionary = Self.text(dictionaryByteCount, seed: 1)
        let compressor = FrameCompressor(dictionary: dictionary)
        let decoder = BlockDecoder(dictionary: dictionary)
        let large = 5 * Layout.blockByteCount
        // Few blocks are compressed by one thread, more by two; a large one beside the dictionary.
        for sizes in [
            [1], [600], [4096, 9, 4096], [4097, 600, 600], [large],
            [0x4000, 1, 700], [9, 0x4000, large, 0x3FF0, 20, 0x2000],
        ] {
            let raw = Self.text(sizes.reduce(0, +), seed: 2)
            var blocks = sizes.map { size in
                BlockEntry(
                    first: 1,
                    offset: 0,
                    storedByteCount: 0,
                    rawByteCount: size,
                    positionCount: 1,
                    checksum: 0
                )
            }
            let stored = [UInt8](unsafeUninitializedCapacity: raw.count) { buffer, count in
                let room = UnsafeMutableRawBufferPointer(buffer)
                count = compressor.compress(raw, &blocks, into: room)
            }
            #expect(blocks.map { Int($0.rawByteCount) } == sizes)
            #expect(stored.count == blocks.reduce(0) { $0 + Int($1.storedByteCount) })
            var start = 0
            var rawStart = 0
            for (block, size) in zip(blocks, sizes) {
                let count = Int(block.storedByteCount)
                let bytes = stored.span.bytes.extracting(start..<start + count)
                let decoded = decoder.decode(bytes, rawByteCount: size)
                #expect(
                    decoded == Array(raw[rawStart..<rawStart + size]),
                    "a block of \(size) bytes"
                )
                start += count
                rawStart += size
            }
            if sizes.contains(large) { #expect(stored.count < raw.count) }
        }
    }

    /// Words in no order, of which there are few.
    private static func text(_ byteCount: Int, seed: UInt64) -> [UInt8] {
        var state = seed
        var bytes: [UInt8] = []
        while bytes.count < byteCount {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            bytes.append(contentsOf: "word\(state >> 56) ".utf8)
        }
        return Array(bytes.prefix(byteCount))
    }
}
