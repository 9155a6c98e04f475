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

/// Some blocks of a segment, in order, decoded ahead of their reader.
///
/// A helper on another thread decodes the next blocks while the reader uses one: decoding is most of
/// the cost of a long read, and a device's first sync waits for all of it. Whichever thread is free
/// takes the next block that nobody has begun. So the reader waits only for a block that the helper
/// has begun, once all others are decoded.
///
/// The reader moves to a block and then takes it. A sequence of results would copy each of them twice.
///
/// When this is released, the helper has ended, and reads nothing more.
final class BlocksAhead {
    /// The maximum number of blocks decoded ahead: 1 MiB, which stays in the processor's cache.
    static let countLimit = 64

    private let reader: SegmentReader
    private let mapping: Bool
    /// The cache that takes the decoded blocks; `nil` for none.
    private let cache: BlockCache?
    private let entries: [BlockEntry]
    /// The blocks that need no decoding, in the order of their entries; empty if there are none.
    private let kept: [DecodedBlock?]
    /// True for a long read, whose blocks pass through a part of the cache.
    private let isPassing: Bool
    private let shared: SharedDecoding?
    /// The index of the next block; the reader is at the one before it.
    private var next = 0
    /// The number of blocks so far that were not in the cache.
    private var missCount = 0

    /// With fewer blocks, waking another thread (about 6 µs) costs more than it saves.
    private static let sharedBlockCount = 12
    /// A read of so many neighbouring blocks that are not in the cache is a long one: a page of a
    /// first sync has ten.
    private static let passingBlockCount = 4
    private static let hasProcessors = sysconf(Int32(_SC_NPROCESSORS_ONLN)) > 1

    /// Creates the sequence of some blocks, of which those that are kept need no decoding.
    ///
    /// `isLong` is true for a part of a long read, however few blocks it has.
    init(
        _ entries: [BlockEntry],
        of reader: SegmentReader,
        kept: [DecodedBlock?] = [],
        mapping: Bool = false,
        isLong: Bool = false,
        keeping cache: BlockCache? = nil
    ) {
        self.reader = reader
        self.mapping = mapping
        self.cache = cache
        self.entries = entries
        self.kept = kept
        var missing = kept.isEmpty ? entries : []
        for (index, block) in kept.enumerated() where block == nil {
            missing.append(entries[index])
        }
        // Blocks with maps are those of scattered records.
        isPassing = (isLong || missing.count >= Self.passingBlockCount) && !mapping
        guard missing.count >= Self.sharedBlockCount, Self.hasProcessors else {
            shared = nil
            return
        }
        let shared = SharedDecoding(missing, of: reader, mapping: mapping)
        self.shared = shared
        DispatchQueue.global(qos: .userInitiated).async { shared.help() }
    }

    deinit {
        guard let shared else { return }
        for block in shared.end() { keep(block) }
    }

    /// Moves to the next block, and returns its entry; `nil` behind the last one.
    func advance() -> BlockEntry? {
        guard next < entries.count else { return nil }
        if kept.isEmpty || kept[next] == nil { missCount += 1 }
        next += 1
        return entries[next - 1]
    }

    /// Takes the block to which ``advance()`` moved; may be called once for each.
    ///
    /// Throws the error of a block that is damaged or cannot be read.
    func take() throws(LogError) -> DecodedBlock {
        if !kept.isEmpty, let block = kept[next - 1] { return block }
        let block =
            shared?.take(missCount - 1, reader)
            ?? reader.decoded(entries[next - 1], mapping: mapping)
        keep(block)
        return try block.get()
    }

    private func keep(_ block: Result<DecodedBlock, LogError>) {
        guard let cache, case .success(let block) = block else { return }
        let key = BlockCache.Key(segment: reader.id, offset: block.entry.offset)
        cache.keep(block, key, isPassing: isPassing)
    }
}

/// Blocks that their reader and a helper decode.
private final class SharedDecoding: Sendable {
    private struct State {
        /// The reader for the helper; `nil` once that must end, so that a helper that never ran keeps
        /// no file open.
        var reader: SegmentReader?
        /// The index of the first block that nobody has begun.
        var next = 0
        /// The decoded blocks that the reader has not taken.
        var done: [Result<DecodedBlock, LogError>?]
        /// True while the helper decodes a block.
        var isHelping = false
        /// True if the reader waits for that block.
        var isAwaited = false
    }

    private enum Step {
        case use(Result<DecodedBlock, LogError>)
        case decode(Int)
        case wait
    }

    private let entries: [BlockEntry]
    private let mapping: Bool
    private let state: Lock<State>
    /// Signalled after the block that the reader waits for.
    private let helped = DispatchSemaphore(value: 0)

    init(_ entries: [BlockEntry], of reader: SegmentReader, mapping: Bool) {
        self.entries = entries
        self.mapping = mapping
        let done = [Result<DecodedBlock, LogError>?](repeating: nil, count: entries.count)
        state = Lock(State(reader: reader, done: done))
    }

    /// Returns the next block to the reader, which takes each of them once and in order.
    func take(_ index: Int, _ reader: SegmentReader) -> Result<DecodedBlock, LogError> {
        while true {
            switch step(before: index) {
            case .use(let block): return block
            case .decode(let begun):
                let block = reader.decoded(entries[begun], mapping: mapping)
                if begun == index { return block }
                // The helper is at the reader's block: this one is for later.
                state.withLock { $0.done[begun] = block }
            case .wait: helped.wait()
            }
        }
    }

    private func step(before index: Int) -> Step {
        state.withLock { state in
            if let block = state.done[index] {
                state.done[index] = nil
                return .use(block)
            }
            if state.next < entries.count {
                state.next += 1
                return .decode(state.next - 1)
            }
            // All blocks are begun, and the reader decodes none: the helper is at this one.
            state.isAwaited = true
            return .wait
        }
    }

    /// Decodes the next blocks until all are begun; runs on a thread of its own.
    func help() {
        while let (reader, index) = beginHelping() {
            let block = reader.decoded(entries[index], mapping: mapping)
            let isAwaited = state.withLock { state in
                state.done[index] = block
                state.isHelping = false
                defer { state.isAwaited = false }
                return state.isAwaited
            }
            if isAwaited { helped.signal() }
        }
    }

    private func beginHelping() -> (SegmentReader, Int)? {
        state.withLock { state in
            guard let reader = state.reader, state.next < entries.count else { return nil }
            state.isHelping = true
            state.next += 1
            return (reader, state.next - 1)
        }
    }

    /// Ends the decoding, waits for a block that the helper has begun, and returns the decoded blocks
    /// that the reader did not take.
    func end() -> [Result<DecodedBlock, LogError>] {
        let isHelping = state.withLock { state in
            state.reader = nil
            state.isAwaited = state.isHelping
            return state.isHelping
        }
        if isHelping { helped.wait() }
        return state.withLock { $0.done.compactMap(\.self) }
    }
}
