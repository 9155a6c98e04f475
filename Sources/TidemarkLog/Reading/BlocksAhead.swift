// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Some blocks, in order, decoded ahead of their reader.
///
/// A helper on another thread decodes the next blocks while the reader uses one: decoding is most of
/// the cost of a long read, and a device's first sync waits for all of it. So the reader waits only for
/// blocks that the helper has begun, once all others are decoded.
///
/// The reader moves to a block and then takes it. A sequence of results would copy each of them twice.
///
/// When this is released, the helper has ended, unless a ``ReadAhead`` has the blocks that follow.
final class BlocksAhead {
    /// The maximum number of blocks decoded ahead: 1 MiB, which stays in the processor's cache.
    static let countLimit = 64

    private let mapping: EventMarker?
    /// The cache that takes the decoded blocks; `nil` for none.
    private let cache: BlockCache?
    private let blocks: [SegmentBlock]
    /// Those that need no decoding, each at its place in `blocks`; empty if there are none.
    private let kept: [DecodedBlock?]
    /// The kind of the read, by which the cache keeps the blocks.
    private let read: BlockCache.Read
    /// The decoding of the blocks that need it; `nil` for none or one.
    private let shared: SharedDecoding?
    /// The index there of the first of them.
    private let firstShared: Int
    /// Takes the decoding of the blocks that follow; `nil` for a short read.
    private let readAhead: ReadAhead?
    /// The index of the next block; the reader is at the one before it.
    private var next = 0
    /// The number of blocks so far that were not in the cache.
    private var missCount = 0

    /// A read of so many neighbouring blocks that are not in the cache is a long one: a page of a
    /// first sync has ten.
    private static let longBlockCount = 4

    /// Creates the sequence of some blocks, of which those that are kept need no decoding.
    ///
    /// They have maps if a marker is given. `isScattered` is true if few of their events are wanted, and
    /// `isLong` for a part of a long read, however few blocks it has. If it is long and `files` are given,
    /// the blocks that follow there are decoded next.
    init(
        _ blocks: [SegmentBlock],
        kept: [DecodedBlock?] = [],
        mapping: EventMarker? = nil,
        isScattered: Bool = false,
        isLong: Bool = false,
        keeping cache: BlockCache? = nil,
        continuingIn files: LogFiles? = nil
    ) {
        self.mapping = mapping
        self.cache = cache
        self.blocks = blocks
        self.kept = kept
        var missing = kept.isEmpty ? blocks : []
        for (index, block) in kept.enumerated() where block == nil {
            missing.append(blocks[index])
        }
        let isLong = (isLong || missing.count >= Self.longBlockCount) && !isScattered
        let continued =
            isScattered || missing.isEmpty ? nil : files?.readAhead.take(missing)
        read = continued != nil ? .continued : isLong ? .long : .short
        guard missing.count > 1 || continued != nil else {
            (shared, firstShared, readAhead) = (nil, 0, nil)
            return
        }
        let shared = continued?.decoding ?? SharedDecoding(missing, mapping: mapping)
        self.shared = shared
        firstShared = continued?.index ?? 0
        let begins = missing.count >= SharedDecoding.helpedBlockCount && !isScattered
        if let files, continued != nil || begins && files.readAhead.mayBegin() {
            readAhead = files.readAhead
            let wantedCount = missing.count + ReadAhead.blockCount - shared.count(from: firstShared)
            if let last = shared.last {
                shared.append(files.blocks(after: last, count: wantedCount))
            }
        } else {
            readAhead = nil
        }
        shared.startHelper()
    }

    deinit {
        guard let shared else { return }
        let end = firstShared + missCount
        if let readAhead, next == blocks.count, shared.count(from: end) > 0 {
            readAhead.give(shared)
        } else {
            for (block, decoded) in shared.end() { keep(decoded, of: block) }
        }
    }

    /// Moves to the next block, and returns its entry; `nil` behind the last one.
    func advance() -> BlockEntry? {
        guard next < blocks.count else { return nil }
        if kept.isEmpty || kept[next] == nil { missCount += 1 }
        next += 1
        return blocks[next - 1].entry
    }

    /// Prefetches the last wanted event of a block of a scattered read, at a distance from the block to which
    /// ``advance()`` moved.
    func prefetchEvent(after distance: Int) {
        let index = next - 1 + distance
        guard index < kept.count, let block = kept[index], let wanted = blocks[index].wanted
        else { return }
        block.prefetchEvent(at: wanted.upperBound)
    }

    /// The reader of the block to which ``advance()`` moved.
    var reader: SegmentReader { blocks[next - 1].reader }

    /// Takes the block to which ``advance()`` moved; may be called once for each.
    ///
    /// Throws the error of a block that is damaged or cannot be read.
    func take() throws(LogError) -> DecodedBlock {
        if !kept.isEmpty, let block = kept[next - 1] { return block }
        let block = blocks[next - 1]
        let result =
            shared?.take(firstShared + missCount - 1) ?? block.decoded(mapping: mapping)
        keep(result, of: block)
        return try result.get()
    }

    private func keep(_ decoded: Result<DecodedBlock, LogError>, of block: SegmentBlock) {
        guard !block.isPart, let cache, case .success(let decoded) = decoded else { return }
        cache.keep(decoded, block.key, of: read)
    }
}
