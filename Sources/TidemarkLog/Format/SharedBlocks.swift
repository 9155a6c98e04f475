// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import TidemarkLock

/// The blocks of one frame, which two threads compress: whichever is free takes the next.
///
/// The thread that writes the frame begins with the last block. The other begins with the first
/// one, as soon as it is complete, and the frame may still grow then (``EarlyFrame``). A thread
/// that comes late leaves more blocks to the other, and neither waits for more than the block that
/// the other has begun.
final class SharedBlocks: Sendable {
    private struct State {
        /// The raw bytes of the first blocks, each until a thread has begun it.
        var raw: [[UInt8]] = []
        /// Those that no thread has begun.
        var waiting = 0..<0
        /// The stored forms of the blocks that the other thread has compressed.
        var stored: [[UInt8]] = []
        /// True if the other thread has begun a block and not ended it.
        var hasBegun = false
        /// True if the other thread runs, or is about to.
        var isStarted = false
        /// True if the thread that writes the frame waits for the other's last block.
        var isAwaited = false
    }

    /// The owner of the compressor.
    let owner: SpareCompressor
    private let compressor: BlockCompressor
    private let state = Lock(State())
    private let isDone = DispatchSemaphore(value: 0)

    private let queue: DispatchQueue
    /// The queue of the other threads, of which each frame has one.
    private static let otherThreads = DispatchQueue(
        label: "tidemark.log.compressor",
        qos: .userInitiated,
        attributes: .concurrent
    )

    init(
        _ compressor: BlockCompressor,
        of owner: SpareCompressor,
        on queue: DispatchQueue = otherThreads
    ) {
        self.compressor = compressor
        self.owner = owner
        self.queue = queue
    }

    deinit {
        // The other thread keeps this object while it compresses.
        owner.putBack(compressor)
    }

    /// Takes in the next block for the other thread.
    func add(_ block: [UInt8]) {
        let starts = state.withLock { state in
            state.raw.append(block)
            state.waiting = state.waiting.lowerBound..<state.raw.count
            defer { state.isStarted = true }
            return !state.isStarted
        }
        // Weak: a thread that comes too late keeps the compressor from nobody.
        if starts { queue.async { [weak self] in self?.compressFirst() } }
    }

    /// Leaves the blocks that no thread has begun, of a frame that nobody writes.
    func abandon() {
        state.withLock { $0.waiting = 0..<0 }
    }

    /// The number of blocks that the other thread has compressed.
    var compressedCount: Int { state.withLock { $0.stored.count } }

    /// Compresses blocks from the first one on, until none waits.
    private func compressFirst() {
        while let block = takeFirst() {
            let stored = [UInt8](unsafeUninitializedCapacity: block.count) { buffer, count in
                count = block.withUnsafeBytes { raw in
                    compressor.compress(raw, into: UnsafeMutableRawBufferPointer(buffer))
                }
            }
            let isAwaited = state.withLock { state in
                state.stored.append(stored)
                state.hasBegun = false
                return state.isAwaited
            }
            if isAwaited { isDone.signal() }
        }
    }

    private func takeFirst() -> [UInt8]? {
        state.withLock { state in
            guard let index = state.waiting.popFirst() else {
                state.isStarted = false
                return nil
            }
            state.hasBegun = true
            defer { state.raw[index] = [] }
            return state.raw[index]
        }
    }

    /// Takes the last block that waits; returns false if there is none.
    private func takeLast() -> Bool {
        state.withLock { state in
            guard let index = state.waiting.popLast() else { return false }
            state.raw[index] = []
            return true
        }
    }

    /// Writes the stored form of a frame's blocks, of which the first were added, to the start of a
    /// buffer with room for the raw ones; sets the stored lengths of their entries, and returns the
    /// sum.
    ///
    /// Only called once, by the thread that writes the frame.
    func finish(
        _ raw: [RawFrame.Block],
        _ blocks: inout [BlockEntry],
        by own: BlockCompressor,
        into output: UnsafeMutableRawBufferPointer
    ) -> Int {
        for block in raw.dropFirst(state.withLock { $0.raw.count }) { add(block.raw) }
        // The end of the blocks that this thread has not compressed, and where the last of them
        // ends if none shrinks: nothing that is written later is longer.
        var meeting = raw.count
        var start = raw.reduce(0) { $0 + $1.raw.count }
        while takeLast() {
            meeting -= 1
            start -= raw[meeting].raw.count
            let room = UnsafeMutableRawBufferPointer(rebasing: output[start...])
            let count = raw[meeting].raw.withUnsafeBytes { own.compress($0, into: room) }
            blocks[meeting].storedByteCount = UInt32(count)
        }
        let stored = waitForStored()
        var end = 0
        for index in blocks.indices {
            let room = UnsafeMutableRawBufferPointer(rebasing: output[end...])
            if index < meeting {
                room.copyBytes(from: stored[index])
                blocks[index].storedByteCount = UInt32(stored[index].count)
            } else {
                let count = Int(blocks[index].storedByteCount)
                let block = output[start..<start + count]
                room.copyMemory(from: UnsafeRawBufferPointer(rebasing: block))
                start += raw[index].raw.count
            }
            end += Int(blocks[index].storedByteCount)
        }
        return end
    }

    /// Returns the blocks that the other thread has compressed, once it has ended its last one.
    private func waitForStored() -> [[UInt8]] {
        let isLate = state.withLock { state in
            state.isAwaited = state.hasBegun
            return state.hasBegun
        }
        if isLate { isDone.wait() }
        return state.withLock { $0.stored }
    }
}
