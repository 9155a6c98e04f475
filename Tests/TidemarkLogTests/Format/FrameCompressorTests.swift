// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Dispatch
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
            var blocks = Self.blocks(sizes)
            let stored = [UInt8](unsafeUninitializedCapacity: raw.count) { buffer, count in
                let room = UnsafeMutableRawBufferPointer(buffer)
                count = compressor.compress(Self.frame(raw, sizes), &blocks, into: room)
            }
            #expect(blocks.map { Int($0.rawByteCount) } == sizes)
            #expect(stored.count == blocks.reduce(0) { $0 + Int($1.storedByteCount) })
            var start = 0
            var rawStart = 0
            for (block, size) in zip(blocks, sizes) {
                let count = Int(block.storedByteCount)
                let bytes = stored.span.bytes.extracting(start..<start + count)
                for first in [1, 20, 2048, size - 1, size, size + 1, .max] {
                    var decoded: [UInt8] = []
                    #expect(decoder.decode(first, of: bytes, rawByteCount: size, into: &decoded))
                    let end = rawStart + min(first, size)
                    #expect(decoded == Array(raw[rawStart..<end]), "\(first) of \(size) bytes")
                }
                start += count
                rawStart += size
            }
            if sizes.contains(large) { #expect(stored.count < raw.count) }
        }
    }

    /// The time at which the other thread runs.
    enum Lateness: CaseIterable {
        case never, comes, atOnce
    }

    @Test(arguments: Lateness.allCases, [0, 1, 5, 8])
    func `Stored blocks are the same whichever thread takes them`(
        _ lateness: Lateness,
        addedCount: Int
    ) {
        let dictionary = Self.text(64 << 10, seed: 1)
        let compressor = BlockCompressor(dictionary: dictionary, level: .fast)
        let owner = SpareCompressor(compressor)
        let sizes = [0x4000, 700, 5 * Layout.blockByteCount, 0x3FF0, 1, 20, 0x2000, 4096]
        let raw = Self.text(sizes.reduce(0, +), seed: 2)
        var blocks = Self.blocks(sizes)
        let queue = DispatchQueue(label: "test")
        if lateness == .never { queue.suspend() }
        let stored = [UInt8](unsafeUninitializedCapacity: raw.count) { buffer, count in
            guard let spare = owner.take() else { return }
            let shared = SharedBlocks(spare, of: owner, on: queue)
            var start = 0
            for size in sizes[..<addedCount] {
                shared.add(Array(raw[start..<start + size]))
                start += size
            }
            if lateness == .atOnce { queue.sync {} }
            #expect(owner.take() == nil)
            count = shared.finish(
                Self.frame(raw, sizes),
                &blocks,
                by: BlockCompressor(dictionary: dictionary, level: .fast),
                into: UnsafeMutableRawBufferPointer(buffer)
            )
        }
        // Another frame may have the compressor, even if the other thread never came.
        if lateness != .comes { #expect(owner.take() === compressor) }
        if lateness == .never { queue.resume() }
        queue.sync {}
        var start = 0
        var expected: [UInt8] = []
        for (index, size) in sizes.enumerated() {
            let bytes = Self.stored(Array(raw[start..<start + size]), dictionary)
            #expect(Int(blocks[index].storedByteCount) == bytes.count)
            expected.append(contentsOf: bytes)
            start += size
        }
        #expect(stored == expected)
        #expect(stored.count < raw.count)
    }

    @Test func `The blocks of an abandoned frame are not compressed`() {
        let owner = SpareCompressor(BlockCompressor(dictionary: [], level: .fast))
        let queue = DispatchQueue(label: "test")
        queue.suspend()
        let shared = owner.take().map { SharedBlocks($0, of: owner, on: queue) }
        for _ in 0..<20 { shared?.add(Self.text(600, seed: 2)) }
        shared?.abandon()
        queue.resume()
        queue.sync {}
        #expect(shared?.compressedCount == 0)
    }

    @Test func `Two threads store the same blocks as one`() {
        let dictionary = Self.text(64 << 10, seed: 1)
        let compressor = FrameCompressor(dictionary: dictionary)
        for round in 0..<50 {
            // With a short block at the end, as most frames have.
            let sizes = [Int](repeating: 0x3F00, count: 6 + round % 5) + [600]
            let raw = Self.text(sizes.reduce(0, +), seed: UInt64(round))
            var blocks = Self.blocks(sizes)
            let stored = [UInt8](unsafeUninitializedCapacity: raw.count) { buffer, count in
                let room = UnsafeMutableRawBufferPointer(buffer)
                count = compressor.compress(Self.frame(raw, sizes), &blocks, into: room)
            }
            var start = 0
            var expected: [UInt8] = []
            for size in sizes {
                expected += Self.stored(Array(raw[start..<start + size]), dictionary)
                start += size
            }
            #expect(stored == expected, "round \(round)")
        }
    }

    /// The stored form of a block that a new compressor compresses alone.
    private static func stored(_ raw: [UInt8], _ dictionary: [UInt8]) -> [UInt8] {
        let compressor = BlockCompressor(dictionary: dictionary, level: .fast)
        return [UInt8](unsafeUninitializedCapacity: raw.count) { buffer, count in
            let room = UnsafeMutableRawBufferPointer(buffer)
            count = raw.withUnsafeBytes { compressor.compress($0, into: room) }
        }
    }

    /// The blocks of a frame, one after another in some bytes.
    private static func frame(_ raw: [UInt8], _ sizes: [Int]) -> [RawFrame.Block] {
        var start = 0
        return sizes.map { size in
            defer { start += size }
            return RawFrame.Block(raw: Array(raw[start..<start + size]), first: 1)
        }
    }

    private static func blocks(_ sizes: [Int]) -> [BlockEntry] {
        sizes.map { size in
            BlockEntry(
                first: 1,
                offset: 0,
                storedByteCount: 0,
                rawByteCount: size,
                positionCount: 1,
                checksum: 0
            )
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
