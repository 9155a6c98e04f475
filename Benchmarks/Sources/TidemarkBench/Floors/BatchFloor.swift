// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Contenders
import Foundation
import Workload

/// The floor under durable batches that are compressed.
///
/// LZ4 compresses the records of each batch on two threads, and the batch is written and synced.
final class BatchFloor {
    private let path: String

    init(folder: String) {
        path = folder + "/batch-floor"
    }

    /// The time in seconds for some batches, one after another.
    ///
    /// They are written into a file that was filled with zeros and synced before.
    func seconds(_ batches: [Batch], _ pages: PageSource) throws -> Double {
        let batches = batches.map { FlatBatch($0, pages) }
        let descriptor = open(path, O_RDWR | O_CREAT | O_TRUNC, 0o600)
        guard descriptor >= 0 else { throw WrongAnswer("cannot create \(path): \(errno)") }
        defer { close(descriptor) }
        let zeros = [UInt8](repeating: 0, count: batches.reduce(0) { $0 + $1.bytes.count + 4_096 })
        guard pwrite(descriptor, zeros, zeros.count, 0) == zeros.count, fsync(descriptor) == 0
        else { throw WrongAnswer("cannot fill \(path): \(errno)") }
        var offset = 0
        let start = ContinuousClock.now
        for batch in batches {
            let stored = try Self.compress(batch.bytes)
            for part in stored {
                guard pwrite(descriptor, part, part.count, off_t(offset)) == part.count else {
                    throw WrongAnswer("cannot write \(path): \(errno)")
                }
                offset += part.count
            }
            guard sync(descriptor) == 0 else { throw WrongAnswer("cannot sync \(path): \(errno)") }
        }
        return start.secondsUntilNow
    }

    /// Compresses half of the blocks on each of two threads; returns what each wrote.
    private static func compress(_ bytes: [UInt8]) throws -> [[UInt8]] {
        let blockByteCount = 16 << 10
        let blockCount = (bytes.count + blockByteCount - 1) / blockByteCount
        let halves = Halves()
        try onTwoThreads { thread in
            let state = Scratch(LZ4Call.stateByteCount)
            let blocks = thread == 0 ? 0..<blockCount / 2 : blockCount / 2..<blockCount
            let limit = blocks.count * (blockByteCount + blockByteCount / 64)
            let stored = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
                let output = UnsafeMutableRawBufferPointer(buffer)
                bytes.withUnsafeBytes { raw in
                    for block in blocks {
                        let start = block * blockByteCount
                        let end = min(start + blockByteCount, raw.count)
                        count += LZ4Call.compress(raw[start..<end], into: output[count...], state)
                    }
                }
            }
            halves.set(thread, stored)
        }
        return halves.all
    }
}
