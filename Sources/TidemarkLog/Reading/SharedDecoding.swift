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

/// Blocks, in order, that their reader decodes, and a helper on another thread.
///
/// Whichever thread is free takes the next blocks that nobody has begun, as many as one read of the
/// file gets.
final class SharedDecoding: Sendable {
    private struct State {
        /// True while there is a helper.
        var hasHelper = false
        /// The blocks that may still be taken.
        var blocks: [SegmentBlock]
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

        var end: Int { base + blocks.count }

        /// Adds blocks that nobody has begun.
        mutating func append(_ more: some Collection<SegmentBlock>) {
            blocks += more
            done += repeatElement(nil, count: more.count)
        }

        /// Adds decoded blocks, the first of which has an index.
        mutating func add(_ blocks: [Result<DecodedBlock, LogError>], from index: Int) {
            for (index, block) in zip(index..., blocks) where index >= base {
                done[index - base] = block
            }
        }

        /// Returns the next blocks that one read of the file gets, which nobody else begins.
        mutating func begin() -> (index: Int, blocks: ArraySlice<SegmentBlock>) {
            let start = next - base
            let limit = UInt64(blocks[start].entry.offset) + UInt64(BlockDecoder.readByteCount)
            var end = start + 1
            while end < blocks.count, blocks[end].entry.end <= limit,
                blocks[end].follows(blocks[end - 1]), !blocks[start].isPart, !blocks[end].isPart
            { end += 1 }
            defer { next = base + end }
            return (next, blocks[start..<end])
        }
    }

    private enum Step {
        case use(DecodedBlock)
        case retry(SegmentBlock)
        case decode(Int, ArraySlice<SegmentBlock>)
        case wait
    }

    private let mapping: EventMarker?
    private let state: Lock<State>
    /// Signalled after the blocks that the reader waits for.
    private let helped = DispatchSemaphore(value: 0)

    /// The number of blocks that are kept after they were taken: a page is cut back to the end of a
    /// commit, so the next one begins some blocks before the last.
    private static let keptCount = 16
    /// With fewer blocks, waking another thread (about 6 µs) costs more than it saves.
    static let helpedBlockCount = 12
    static let hasProcessors = sysconf(Int32(_SC_NPROCESSORS_ONLN)) > 1

    init(_ blocks: [SegmentBlock], mapping: EventMarker?) {
        self.mapping = mapping
        let done = [Result<DecodedBlock, LogError>?](repeating: nil, count: blocks.count)
        state = Lock(State(blocks: blocks, done: done))
    }

    // MARK: The blocks

    /// Moves to some blocks, and returns the index of the first; `nil` if they are not among those that
    /// can be taken next.
    ///
    /// Adds those of them that are not known yet, and forgets the blocks before them.
    func move(to wanted: [SegmentBlock]) -> Int? {
        state.withLock { state in
            guard let first = wanted.first, let place = state.blocks.firstIndex(of: first),
                state.base + place >= state.taken || state.done[place] != nil
            else { return nil }
            let known = state.blocks[place...]
            let commonCount = min(known.count, wanted.count)
            guard known.prefix(commonCount).elementsEqual(wanted.prefix(commonCount)) else {
                return nil
            }
            state.blocks.removeFirst(place)
            state.done.removeFirst(place)
            state.base += place
            state.next = max(state.next, state.base)
            state.append(wanted.dropFirst(commonCount))
            return state.base
        }
    }

    /// Returns the number of blocks from an index on.
    func count(from index: Int) -> Int { state.withLock { $0.end - index } }

    /// The last of the blocks.
    var last: SegmentBlock? { state.withLock { $0.blocks.last } }

    /// Adds blocks after the last one.
    func append(_ more: some Collection<SegmentBlock>) {
        if !more.isEmpty { state.withLock { $0.append(more) } }
    }

    // MARK: The reader

    /// Returns the block at an index to the reader, which takes each of them once and in order.
    func take(_ index: Int) -> Result<DecodedBlock, LogError> {
        while true {
            switch step(before: index) {
            case .use(let block): return .success(block)
            // Maybe an error of a read that was made long before.
            case .retry(let block): return block.decoded(mapping: mapping)
            case .decode(let first, let begun):
                let blocks = begun.decoded(mapping: mapping)
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
                guard case .success(let block) = result else { return .retry(state.blocks[place]) }
                return .use(block)
            }
            if state.next < state.end {
                let (index, blocks) = state.begin()
                return .decode(index, blocks)
            }
            // All blocks are begun, and the reader decodes none: the helper is at it.
            state.isAwaited = true
            return .wait
        }
    }

    // MARK: The helper

    /// Starts a helper, unless there is one, or too few blocks for one.
    func startHelper() {
        let starts = state.withLock { state in
            guard Self.hasProcessors, !state.hasHelper,
                state.end - state.next >= Self.helpedBlockCount
            else { return false }
            state.hasHelper = true
            return true
        }
        if starts { DispatchQueue.global(qos: .userInitiated).async { self.help() } }
    }

    /// Decodes the next blocks until all are begun; runs on a thread of its own.
    private func help() {
        while let (index, begun) = beginHelping() {
            let blocks = begun.decoded(mapping: mapping)
            let isAwaited = state.withLock { state in
                state.add(blocks, from: index)
                state.isHelping = false
                defer { state.isAwaited = false }
                return state.isAwaited
            }
            if isAwaited { helped.signal() }
        }
    }

    private func beginHelping() -> (index: Int, blocks: ArraySlice<SegmentBlock>)? {
        state.withLock { state in
            guard state.hasHelper, state.next < state.end else {
                state.hasHelper = false
                return nil
            }
            state.isHelping = true
            return state.begin()
        }
    }

    /// Ends the decoding, waits for the blocks that the helper has begun, and returns the decoded
    /// blocks that the reader did not take.
    @discardableResult
    func end() -> [(block: SegmentBlock, decoded: Result<DecodedBlock, LogError>)] {
        let isHelping = state.withLock { state in
            state.hasHelper = false
            state.isAwaited = state.isHelping
            return state.isHelping
        }
        if isHelping { helped.wait() }
        return state.withLock { state in
            // So that a helper which has not started yet keeps no files open.
            defer { (state.blocks, state.done) = ([], []) }
            return zip(state.blocks, state.done).dropFirst(max(0, state.taken - state.base))
                .compactMap { block, decoded in decoded.map { (block, $0) } }
        }
    }
}

extension SegmentBlock {
    /// True if not much more than the head of a frame is between two blocks of a segment, so that
    /// reading it costs less than another call.
    fileprivate func follows(_ other: SegmentBlock) -> Bool {
        reader === other.reader && UInt64(entry.offset) >= other.entry.end
            && UInt64(entry.offset) - other.entry.end <= 4096
    }
}

extension ArraySlice<SegmentBlock> {
    /// Reads, checks and decodes neighbouring blocks of a segment, with maps if a marker is given.
    fileprivate func decoded(mapping: EventMarker?) -> [Result<DecodedBlock, LogError>] {
        guard count > 1, let reader = first?.reader else {
            return map { $0.decoded(mapping: mapping) }
        }
        return reader.decoded(lazy.map(\.entry), mapping: mapping)
    }
}
