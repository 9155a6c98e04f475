// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLock

/// The blocks of one frame, which two threads compress: whichever is free takes the next.
///
/// One thread begins with the first block, and writes stored blocks one behind another. The other
/// begins with the last one, and writes each where it would lie if no block shrank; `finish` moves
/// those. A thread that comes late leaves more blocks to the other, and neither waits for more than
/// the block that the other has begun.
///
/// Unchecked: each block is taken once. No stored block is longer than its raw bytes, so the thread
/// at the front writes nothing behind the raw end of its block, and the other nothing before the
/// raw start of its own.
final class SharedBlocks: @unchecked Sendable {
    /// The side from which a thread takes blocks; only one thread takes from each.
    enum Side {
        case front, back
    }

    private struct State {
        /// The blocks that no thread has begun.
        var rest: Range<Int>
        var storedByteCounts: [Int]
    }

    private let raw: [UInt8]
    /// The start of each block in the raw bytes, and the end of the last one.
    private let starts: [Int]
    private let output: UnsafeMutableRawBufferPointer
    private let state: Lock<State>

    /// Prepares to compress blocks, which are all of the raw bytes, into a buffer with room for
    /// those.
    init(_ raw: [UInt8], _ blocks: [BlockEntry], into output: UnsafeMutableRawBufferPointer) {
        var starts = [0]
        starts.reserveCapacity(blocks.count + 1)
        var end = 0
        for block in blocks {
            end += Int(block.rawByteCount)
            starts.append(end)
        }
        self.raw = raw
        self.starts = starts
        self.output = output
        state = Lock(
            State(
                rest: 0..<blocks.count,
                storedByteCounts: [Int](repeating: 0, count: blocks.count)
            )
        )
    }

    /// Compresses blocks until all are begun.
    func compress(from side: Side, by compressor: BlockCompressor) {
        var end = 0
        while let index = take(from: side) {
            let start = side == .front ? end : starts[index]
            let count = raw.withUnsafeBytes { raw in
                compressor.compress(
                    UnsafeRawBufferPointer(rebasing: raw[starts[index]..<starts[index + 1]]),
                    into: UnsafeMutableRawBufferPointer(rebasing: output[start...])
                )
            }
            end += count
            state.withLock { $0.storedByteCounts[index] = count }
        }
    }

    private func take(from side: Side) -> Int? {
        state.withLock { state in
            switch side {
            case .front: state.rest.popFirst()
            case .back: state.rest.popLast()
            }
        }
    }

    /// Moves the stored blocks together, sets their lengths, and returns the sum.
    ///
    /// Only called after every thread has returned from `compress`.
    func finish(_ blocks: inout [BlockEntry]) -> Int {
        // The rest is empty, and lies where the two threads met.
        let (meeting, counts) = state.withLock { ($0.rest.lowerBound, $0.storedByteCounts) }
        var end = 0
        for index in blocks.indices {
            let count = counts[index]
            if index >= meeting {
                let stored = output[starts[index]..<starts[index] + count]
                UnsafeMutableRawBufferPointer(rebasing: output[end...])
                    .copyMemory(from: UnsafeRawBufferPointer(rebasing: stored))
            }
            blocks[index].storedByteCount = UInt32(count)
            end += count
        }
        return end
    }
}
