// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Contenders
import Foundation
import Workload

/// The floor under a first sync from compressed blocks.
///
/// LZ4 decodes the records of a zone, and they are copied out.
final class DecodingFloor {
    private let blocks: LZ4Blocks
    /// The stored form of all blocks.
    private let stored: Scratch

    init(_ history: History, _ pages: PageSource, folder: String) throws {
        blocks = try LZ4Blocks(history, pages, path: folder + "/decoding-floor")
        stored = Scratch(blocks.blocks.last?.stored.upperBound ?? 0)
        try blocks.read(blocks.blocks.indices, into: stored.bytes)
    }

    /// The speed of one thread that decodes blocks from memory and copies each as a whole.
    func recordsPerSecond(into sink: Sink) throws -> Double {
        sink.reset()
        let raw = Scratch(blocks.rawByteCountLimit)
        let start = ContinuousClock.now
        for block in blocks.blocks {
            let bytes = raw.bytes[..<block.raw.count]
            try LZ4Call.decode(stored.bytes[block.stored], into: bytes)
            sink.take(
                name: UnsafeRawBufferPointer(start: nil, count: 0),
                sequence: 0,
                value: UnsafeRawBufferPointer(UnsafeMutableRawBufferPointer(rebasing: bytes))
            )
        }
        return Double(blocks.records.count) / start.secondsUntilNow
    }

    /// The speed of two threads that read blocks from the file, hash and decode them, and copy each
    /// record, in no order and without waiting for each other.
    func recordsPerSecondOfTwoThreads() throws -> Double {
        let blocks = blocks
        // As many as Tidemark reads at once.
        let groupCount = 3
        let start = ContinuousClock.now
        try onTwoThreads { thread in
            let sink = Sink()
            let stored = Scratch(groupCount * 2 * blocks.rawByteCountLimit)
            let raw = Scratch(blocks.rawByteCountLimit)
            let count = blocks.blocks.count
            for first in stride(from: thread * groupCount, to: count, by: 2 * groupCount) {
                let group = first..<min(first + groupCount, count)
                try blocks.read(group, into: stored.bytes)
                let origin = blocks.blocks[first].stored.lowerBound
                for block in blocks.blocks[group] {
                    let place =
                        block.stored.lowerBound - origin..<block.stored.upperBound - origin
                    let bytes = raw.bytes[..<block.raw.count]
                    try block.check(stored.bytes[place])
                    try LZ4Call.decode(stored.bytes[place], into: bytes)
                    let all = UnsafeRawBufferPointer(UnsafeMutableRawBufferPointer(rebasing: bytes))
                    for index in block.records {
                        let record = blocks.records[index]
                        sink.take(
                            name: UnsafeRawBufferPointer(
                                rebasing: all[Int(record.name)..<Int(record.value)]
                            ),
                            sequence: UInt64(index),
                            value: UnsafeRawBufferPointer(
                                rebasing: all[Int(record.value)..<Int(record.end)]
                            )
                        )
                    }
                }
            }
        }
        return Double(blocks.records.count) / start.secondsUntilNow
    }
}
