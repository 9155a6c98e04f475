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
    /// A block and what became of it.
    private struct Piece {
        let block: SegmentBlock
        /// The memory that the block is decoded into, until that is begun.
        var room: BlockRoom
        /// The decoded block, also for a while after the reader took it.
        var done: Result<DecodedBlock, LogError>?

        init(_ block: SegmentBlock, isMapped: Bool) {
            self.block = block
            room = block.isPart ? BlockRoom() : BlockRoom(for: block.entry, isMapped: isMapped)
        }

        mutating func takeRoom() -> BlockRoom {
            var taken = BlockRoom()
            swap(&taken, &room)
            return taken
        }
    }

    private struct State {
        /// True while there is a helper.
        var hasHelper = false
        /// The blocks that may still be taken.
        var pieces: [Piece]
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

        var end: Int { base + pieces.count }

        /// Adds decoded blocks, the first of which has an index.
        mutating func add(_ blocks: [Result<DecodedBlock, LogError>], from index: Int) {
            for (index, block) in zip(index..., blocks) where index >= base {
                pieces[index - base].done = block
            }
        }

        /// Returns the next blocks that one read of the file gets, which nobody else begins.
        mutating func begin() -> Begun {
            let start = next - base
            let first = pieces[start].block
            let limit = UInt64(first.entry.offset) + UInt64(BlockDecoder.readByteCount)
            var begun = Begun(index: next, first, pieces[start].takeRoom())
            for index in (start + 1)..<pieces.count {
                let block = pieces[index].block
                guard block.entry.end <= limit, block.follows(pieces[index - 1].block),
                    !first.isPart, !block.isPart
                else { break }
                begun.append(block, pieces[index].takeRoom())
            }
            next += begun.count
            return begun
        }
    }

    /// Neighbouring blocks that one thread decodes.
    private struct Begun {
        /// The index of the first.
        let index: Int
        private let first: SegmentBlock
        private var entries: [BlockEntry]
        private var rooms: [BlockRoom]

        init(index: Int, _ first: SegmentBlock, _ room: consuming BlockRoom) {
            self.index = index
            self.first = first
            entries = [first.entry]
            rooms = [room]
        }

        var count: Int { entries.count }

        mutating func append(_ block: SegmentBlock, _ room: consuming BlockRoom) {
            entries.append(block.entry)
            rooms.append(room)
        }

        /// Reads, checks and decodes the blocks, with maps if a marker is given.
        mutating func decoded(mapping: EventMarker?) -> [Result<DecodedBlock, LogError>] {
            if first.isPart { return [first.decoded(mapping: mapping)] }
            return first.reader.decoded(entries, mapping: mapping, into: &rooms)
        }
    }

    private enum Step {
        case use(DecodedBlock)
        case retry(SegmentBlock)
        case decode(Begun)
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
        state = Lock(State(pieces: blocks.map { Piece($0, isMapped: mapping != nil) }))
    }

    // MARK: The blocks

    /// Moves to some blocks, and returns the index of the first; `nil` if they are not among those that
    /// can be taken next.
    ///
    /// Adds those of them that are not known yet, and forgets the blocks before them.
    func move(to wanted: [SegmentBlock]) -> Int? {
        let moved = state.withLock { state -> (index: Int, knownCount: Int)? in
            guard let first = wanted.first,
                let place = state.pieces.firstIndex(where: { $0.block == first }),
                state.base + place >= state.taken || state.pieces[place].done != nil
            else { return nil }
            guard
                zip(place..<state.pieces.count, wanted)
                    .allSatisfy({ state.pieces[$0].block == $1 })
            else { return nil }
            state.pieces.removeFirst(place)
            state.base += place
            state.next = max(state.next, state.base)
            return (state.base, state.pieces.count)
        }
        guard let moved else { return nil }
        append(wanted.dropFirst(moved.knownCount))
        return moved.index
    }

    /// Returns the number of blocks from an index on.
    func count(from index: Int) -> Int { state.withLock { $0.end - index } }

    /// The last of the blocks.
    var last: SegmentBlock? { state.withLock { $0.pieces.last?.block } }

    /// Adds blocks after the last one.
    func append(_ more: some Collection<SegmentBlock>) {
        if more.isEmpty { return }
        // Not while the helper waits for the lock.
        let pieces = more.map { Piece($0, isMapped: mapping != nil) }
        state.withLock { $0.pieces += pieces }
    }

    // MARK: The reader

    /// Returns the block at an index to the reader, which takes each of them once and in order.
    func take(_ index: Int) -> Result<DecodedBlock, LogError> {
        while true {
            switch step(before: index) {
            case .use(let block): return .success(block)
            // Maybe an error of a read that was made long before.
            case .retry(let block): return block.decoded(mapping: mapping)
            case .decode(var begun):
                let blocks = begun.decoded(mapping: mapping)
                state.withLock { $0.add(blocks, from: begun.index) }
            case .wait: helped.wait()
            }
        }
    }

    private func step(before index: Int) -> Step {
        // Released when the helper does not wait for the lock.
        var old: Result<DecodedBlock, LogError>?
        return state.withLock { state in
            let place = index - state.base
            if let result = state.pieces[place].done {
                state.taken = max(state.taken, index + 1)
                if place >= Self.keptCount {
                    swap(&old, &state.pieces[place - Self.keptCount].done)
                }
                guard case .success(let block) = result else {
                    return .retry(state.pieces[place].block)
                }
                return .use(block)
            }
            if state.next < state.end { return .decode(state.begin()) }
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
        while var begun = beginHelping() {
            let blocks = begun.decoded(mapping: mapping)
            let isAwaited = state.withLock { state in
                state.add(blocks, from: begun.index)
                state.isHelping = false
                defer { state.isAwaited = false }
                return state.isAwaited
            }
            if isAwaited { helped.signal() }
        }
    }

    private func beginHelping() -> Begun? {
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
            defer { state.pieces = [] }
            return state.pieces.dropFirst(max(0, state.taken - state.base))
                .compactMap { piece in piece.done.map { (piece.block, $0) } }
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
