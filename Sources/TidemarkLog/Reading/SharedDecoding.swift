// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import TidemarkLock

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Blocks of a segment, in order, that their reader decodes, and a helper on another thread.
///
/// Whichever thread is free takes the next blocks that nobody has begun, as many as one read of the
/// file gets.
final class SharedDecoding: Sendable {
    private struct State {
        /// The reader for the helper; `nil` while there is none, so that no file is kept open.
        var reader: SegmentReader?
        /// The blocks that may still be taken.
        var entries: [BlockEntry]
        /// For each of them the decoded block, also for a while after the reader took it.
        var done: [Result<DecodedBlock, LogError>?]
        /// The index of the first of them; indexes count all blocks there ever were.
        var base = 0
        /// The index of the first block that nobody has begun.
        var next = 0
        /// The index of the first block that the reader has not taken.
        var taken = 0
        /// True while the helper decodes blocks.
        var isHelping = false
        /// True if the reader waits for those blocks.
        var isAwaited = false

        var end: Int { base + entries.count }

        /// Adds blocks that nobody has begun.
        mutating func append(_ more: some Collection<BlockEntry>) {
            entries += more
            done += repeatElement(nil, count: more.count)
        }

        /// Adds decoded blocks, the first of which has an index.
        mutating func add(_ blocks: [Result<DecodedBlock, LogError>], from index: Int) {
            for (index, block) in zip(index..., blocks) where index >= base {
                done[index - base] = block
            }
        }

        /// Returns the next blocks that one read of the file gets, which nobody else begins.
        mutating func begin() -> (index: Int, entries: ArraySlice<BlockEntry>) {
            let start = next - base
            let limit = UInt64(entries[start].offset) + UInt64(BlockDecoder.readByteCount)
            var end = start + 1
            while end < entries.count, entries[end].end <= limit,
                entries[end].follows(entries[end - 1])
            { end += 1 }
            defer { next = base + end }
            return (next, entries[start..<end])
        }
    }

    private enum Step {
        case use(DecodedBlock)
        case retry(BlockEntry)
        case decode(Int, ArraySlice<BlockEntry>)
        case wait
    }

    /// The segment of the blocks.
    let segment: SegmentID
    private let mapping: Bool
    private let state: Lock<State>
    /// Signalled after the blocks that the reader waits for.
    private let helped = DispatchSemaphore(value: 0)

    /// The number of blocks that are kept after they were taken: a page is cut back to the end of a
    /// commit, so the next one begins some blocks before the last.
    private static let keptCount = 16
    /// With fewer blocks, waking another thread (about 6 µs) costs more than it saves.
    static let helpedBlockCount = 12
    static let hasProcessors = sysconf(Int32(_SC_NPROCESSORS_ONLN)) > 1

    init(_ entries: [BlockEntry], of segment: SegmentID, mapping: Bool) {
        self.segment = segment
        self.mapping = mapping
        let done = [Result<DecodedBlock, LogError>?](repeating: nil, count: entries.count)
        state = Lock(State(entries: entries, done: done))
    }

    // MARK: The blocks

    /// Moves to some blocks, and returns the index of the first; `nil` if they are not among those that
    /// can be taken next.
    ///
    /// Adds those of them that are not known yet, and forgets the blocks before them.
    func move(to wanted: [BlockEntry]) -> Int? {
        state.withLock { state in
            guard let first = wanted.first, let place = state.entries.firstIndex(of: first),
                state.base + place >= state.taken || state.done[place] != nil
            else { return nil }
            let known = state.entries[place...]
            let commonCount = min(known.count, wanted.count)
            guard known.prefix(commonCount).elementsEqual(wanted.prefix(commonCount)) else {
                return nil
            }
            state.entries.removeFirst(place)
            state.done.removeFirst(place)
            state.base += place
            state.next = max(state.next, state.base)
            state.append(wanted.dropFirst(commonCount))
            return state.base
        }
    }

    /// Returns the number of blocks from an index on.
    func count(from index: Int) -> Int { state.withLock { $0.end - index } }

    /// Adds blocks after the last one.
    func append(_ more: some Collection<BlockEntry>) {
        if !more.isEmpty { state.withLock { $0.append(more) } }
    }

    // MARK: The reader

    /// Returns the block at an index to the reader, which takes each of them once and in order.
    func take(_ index: Int, _ reader: SegmentReader) -> Result<DecodedBlock, LogError> {
        while true {
            switch step(before: index) {
            case .use(let block): return .success(block)
            // Maybe an error of a read that was made long before.
            case .retry(let entry): return reader.decoded(entry, mapping: mapping)
            case .decode(let first, let begun):
                let blocks = reader.decoded(begun, mapping: mapping)
                state.withLock { $0.add(blocks, from: first) }
            case .wait: helped.wait()
            }
        }
    }

    private func step(before index: Int) -> Step {
        state.withLock { state in
            let place = index - state.base
            if let result = state.done[place] {
                state.taken = max(state.taken, index + 1)
                if place >= Self.keptCount { state.done[place - Self.keptCount] = nil }
                guard case .success(let block) = result else { return .retry(state.entries[place]) }
                return .use(block)
            }
            if state.next < state.end {
                let (index, entries) = state.begin()
                return .decode(index, entries)
            }
            // All blocks are begun, and the reader decodes none: the helper is at it.
            state.isAwaited = true
            return .wait
        }
    }

    // MARK: The helper

    /// Starts a helper, unless there is one, or too few blocks for one.
    func startHelper(of reader: SegmentReader) {
        let starts = state.withLock { state in
            guard Self.hasProcessors, state.reader == nil,
                state.end - state.next >= Self.helpedBlockCount
            else { return false }
            state.reader = reader
            return true
        }
        if starts { DispatchQueue.global(qos: .userInitiated).async { self.help() } }
    }

    /// Decodes the next blocks until all are begun; runs on a thread of its own.
    private func help() {
        while let (reader, index, entries) = beginHelping() {
            let blocks = reader.decoded(entries, mapping: mapping)
            let isAwaited = state.withLock { state in
                state.add(blocks, from: index)
                state.isHelping = false
                defer { state.isAwaited = false }
                return state.isAwaited
            }
            if isAwaited { helped.signal() }
        }
    }

    private func beginHelping() -> (SegmentReader, Int, ArraySlice<BlockEntry>)? {
        state.withLock { state in
            guard let reader = state.reader, state.next < state.end else {
                state.reader = nil
                return nil
            }
            state.isHelping = true
            let (index, entries) = state.begin()
            return (reader, index, entries)
        }
    }

    /// Ends the decoding, waits for the blocks that the helper has begun, and returns the decoded
    /// blocks that the reader did not take.
    @discardableResult
    func end() -> [Result<DecodedBlock, LogError>] {
        let isHelping = state.withLock { state in
            state.reader = nil
            state.isAwaited = state.isHelping
            return state.isHelping
        }
        if isHelping { helped.wait() }
        return state.withLock { $0.done.dropFirst(max(0, $0.taken - $0.base)).compactMap(\.self) }
    }
}

extension BlockEntry {
    /// True if not much more than the head of a frame is between two blocks, so that reading it costs
    /// less than another call.
    fileprivate func follows(_ other: BlockEntry) -> Bool {
        UInt64(offset) >= other.end && UInt64(offset) - other.end <= 4096
    }
}
