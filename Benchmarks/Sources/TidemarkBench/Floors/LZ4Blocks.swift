// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CLZ4
import CXXHash
import Foundation
import Workload

/// A file with the records of a history in blocks that LZ4 has compressed, for floors to read.
final class LZ4Blocks: Sendable {
    struct Block {
        /// Where its stored form is in the file.
        var stored: Range<Int>
        /// Where its raw form would be if no block were compressed.
        var raw: Range<Int>
        var records: Range<Int>
        /// The hash of the stored form.
        var hash: UInt64

        /// Throws if bytes are not the stored form.
        func check(_ bytes: Slice<UnsafeMutableRawBufferPointer>) throws {
            let bytes = UnsafeMutableRawBufferPointer(rebasing: bytes)
            guard tidemark_xxh3_64(bytes.baseAddress, bytes.count, 0) == hash else {
                throw WrongAnswer("a block has another hash")
            }
        }
    }

    /// A record's place in the raw form of its block.
    struct Place {
        var block: UInt32
        var name: UInt32
        var value: UInt32
        var end: UInt32
    }

    /// Blocks are as long as those of Tidemark's log.
    private static let byteCount = 16 << 10

    let blocks: [Block]
    /// By the record's place in the history.
    let records: [Place]
    /// The longest raw form of a block.
    let rawByteCountLimit: Int
    private let descriptor: Int32

    init(_ history: History, _ pages: PageSource, path: String) throws {
        var blocks: [Block] = []
        var records: [Place] = []
        var open: [UInt8] = []
        var stored: [UInt8] = []
        var rawEnd = 0
        func endBlock() {
            let bytes = LZ4Call.compress(open)
            let first = blocks.last?.records.upperBound ?? 0
            blocks.append(
                Block(
                    stored: stored.count..<stored.count + bytes.count,
                    raw: rawEnd..<rawEnd + open.count,
                    records: first..<records.count,
                    hash: tidemark_xxh3_64(bytes, bytes.count, 0)
                )
            )
            stored += bytes
            rawEnd += open.count
            open.removeAll(keepingCapacity: true)
        }
        history.forEachBatch(of: 400) { batch in
            let flat = FlatBatch(batch, pages)
            for entry in flat.entries {
                records.append(
                    Place(
                        block: UInt32(blocks.count),
                        name: UInt32(open.count),
                        value: UInt32(open.count + entry.name.count),
                        end: UInt32(open.count + entry.name.count + entry.value.count)
                    )
                )
                open += flat.bytes[entry.name]
                open += flat.bytes[entry.value]
                if open.count >= Self.byteCount { endBlock() }
            }
        }
        if !open.isEmpty { endBlock() }
        self.blocks = blocks
        self.records = records
        rawByteCountLimit = blocks.reduce(0) { max($0, $1.raw.count) }
        try Data(stored).write(to: URL(fileURLWithPath: path))
        descriptor = Foundation.open(path, O_RDONLY)
        guard descriptor >= 0 else { throw WrongAnswer("cannot open \(path): \(errno)") }
    }

    deinit { close(descriptor) }

    /// Reads the stored form of neighbouring blocks to the start of a buffer.
    func read(_ indices: Range<Int>, into buffer: UnsafeMutableRawBufferPointer) throws {
        let start = blocks[indices.lowerBound].stored.lowerBound
        let count = blocks[indices.upperBound - 1].stored.upperBound - start
        guard pread(descriptor, buffer.baseAddress, count, off_t(start)) == count else {
            throw WrongAnswer("cannot read blocks: \(errno)")
        }
    }

    /// The time in seconds in which two threads read and hash the blocks of the records that a batch
    /// changes, and decode each until the record's end.
    ///
    /// The first blocks of the history, as many as fit into a cache of 64 MiB, take no time.
    func secondsReading(_ batch: Batch, zoneCount: Int) throws -> Double {
        let cacheByteCount = 64 << 20
        var ends: [Int: Int] = [:]
        for change in batch.changes {
            let place = records[Int(change.number) * zoneCount + Int(change.zone)]
            let block = Int(place.block)
            ends[block] = max(ends[block] ?? 0, Int(place.end))
        }
        let wanted = ends.filter { blocks[$0.key].raw.lowerBound >= cacheByteCount }
            .map { (block: $0.key, end: $0.value) }
        let start = ContinuousClock.now
        try onTwoThreads { thread in
            let stored = Scratch(rawByteCountLimit)
            let raw = Scratch(rawByteCountLimit)
            for index in stride(from: thread, to: wanted.count, by: 2) {
                let block = blocks[wanted[index].block]
                try read(wanted[index].block..<wanted[index].block + 1, into: stored.bytes)
                try block.check(stored.bytes[..<block.stored.count])
                try LZ4Call.decode(
                    stored.bytes[..<block.stored.count],
                    into: raw.bytes[..<block.raw.count],
                    until: wanted[index].end
                )
            }
        }
        return start.secondsUntilNow
    }
}

/// Memory for one thread.
final class Scratch {
    let bytes: UnsafeMutableRawBufferPointer

    init(_ byteCount: Int) {
        bytes = .allocate(byteCount: byteCount, alignment: 16)
    }

    deinit { bytes.deallocate() }
}

/// LZ4's calls.
enum LZ4Call {
    /// The length of its state for compressing.
    static let stateByteCount = MemoryLayout<LZ4_stream_t>.size

    /// The stored form of some bytes.
    static func compress(_ raw: [UInt8]) -> [UInt8] {
        let bound = Int(LZ4_compressBound(Int32(raw.count)))
        return [UInt8](unsafeUninitializedCapacity: bound) { buffer, count in
            let state = Scratch(stateByteCount)
            let output = UnsafeMutableRawBufferPointer(buffer)
            count = raw.withUnsafeBytes { compress($0[...], into: output[...], state) }
        }
    }

    /// Compresses bytes and returns the length of their stored form.
    static func compress(
        _ raw: Slice<UnsafeRawBufferPointer>,
        into output: Slice<UnsafeMutableRawBufferPointer>,
        _ state: Scratch
    ) -> Int {
        let raw = UnsafeRawBufferPointer(rebasing: raw)
        let output = UnsafeMutableRawBufferPointer(rebasing: output)
        return Int(
            LZ4_compress_fast_extState(
                state.bytes.baseAddress,
                raw.baseAddress?.assumingMemoryBound(to: CChar.self),
                output.baseAddress?.assumingMemoryBound(to: CChar.self),
                Int32(raw.count),
                Int32(output.count),
                1
            )
        )
    }

    /// Decodes a whole block, or at least until a place in its raw form.
    static func decode(
        _ stored: Slice<UnsafeMutableRawBufferPointer>,
        into raw: Slice<UnsafeMutableRawBufferPointer>,
        until end: Int? = nil
    ) throws {
        let stored = UnsafeMutableRawBufferPointer(rebasing: stored)
        let raw = UnsafeMutableRawBufferPointer(rebasing: raw)
        let source = stored.baseAddress?.assumingMemoryBound(to: CChar.self)
        let target = raw.baseAddress?.assumingMemoryBound(to: CChar.self)
        let lengths = (stored: Int32(stored.count), raw: Int32(raw.count))
        let count =
            if let end {
                LZ4_decompress_safe_partial(
                    source,
                    target,
                    lengths.stored,
                    Int32(end),
                    lengths.raw
                )
            } else {
                LZ4_decompress_safe(source, target, lengths.stored, lengths.raw)
            }
        guard count >= end ?? raw.count else { throw WrongAnswer("LZ4 decoded \(count) bytes") }
    }
}
