// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CPlatform
import TidemarkLock

/// The numbers of lookups in a cache that found a block and that did not.
package struct CacheUse: Hashable, Sendable {
    package var hitCount: UInt64 = 0
    package var missCount: UInt64 = 0

    package init(hitCount: UInt64 = 0, missCount: UInt64 = 0) {
        self.hitCount = hitCount
        self.missCount = missCount
    }
}

/// A cache of decoded blocks with a limit in bytes; the least recently used block is removed first.
///
/// Long reads bring blocks that may never be asked for again. These pass through an eighth of the
/// cache: a longer read uses the rest only if that has room, and removes nobody's blocks. A block that
/// is asked for again soon after it was removed is kept like any other.
///
/// Of the blocks of scattered reads, a full cache keeps one in 32. So most of them are decoded no
/// further than to the wanted event, and a block that is wanted again and again is kept all the same.
///
/// A read that continues page after page goes around a full cache behind its first page. Its blocks
/// would remove each other, and each new one would take memory that the processor's cache has no
/// more.
final class BlockCache: Sendable {
    /// The read that brings a block.
    enum Read {
        case short
        /// One of many neighbouring blocks that were not in the cache.
        case long
        /// One that continues a long read.
        case continued
    }

    /// The identity of a block while its file exists.
    struct Key: Hashable {
        // A rewritten segment has another generation, so a block never takes the key of one that it
        // replaced.
        var segment: SegmentID
        var offset: UInt32

        /// Feeds one word: keys with equal words differ in generation, and are few.
        func hash(into hasher: inout Hasher) {
            hasher.combine(segment.first.rawValue ^ UInt64(offset) << 32)
        }
    }

    /// The rings of slots, each from its oldest to its newest; the raw value is the slot of the
    /// anchor.
    fileprivate enum Ring: Int, CaseIterable {
        /// Blocks in the order of their last use.
        case used
        /// Blocks of long reads, in the order in which they came.
        case passing
        /// The keys of blocks that were removed from `passing`, without the blocks.
        case passed
    }

    fileprivate struct Slot {
        var key: Key
        var block: DecodedBlock?
        /// The size of the block, also after it was removed.
        var byteCount = 0
        var ring = Ring.used
        var older: Int
        var newer: Int
    }

    fileprivate struct State {
        var places: [Key: Int] = [:]
        var slots: [Slot]
        var free: [Int] = []
        /// The sizes of the blocks in each ring.
        var byteCounts = [Int](repeating: 0, count: Ring.allCases.count)
        var use = CacheUse()
        /// The number of blocks of scattered reads that found no room.
        var scatteredCount = 0
    }

    private let budget: Int
    private let state: Lock<State>

    init(byteCount budget: Int) {
        self.budget = budget
        let nowhere = Key(segment: SegmentID(first: .zero), offset: 0)
        let anchors = Ring.allCases.map { ring in
            Slot(key: nowhere, block: nil, older: ring.rawValue, newer: ring.rawValue)
        }
        state = Lock(State(slots: anchors))
    }

    /// The numbers of lookups that found a block and that did not.
    var use: CacheUse { state.withLock { $0.use } }

    /// Returns the block if it is in the cache.
    func block(_ key: Key) -> DecodedBlock? {
        state.withLock { state -> DecodedBlock? in
            guard let index = state.places[key], let block = state.take(index) else {
                state.use.missCount += 1
                return nil
            }
            state.use.hitCount += 1
            return block
        }
    }

    /// Returns the blocks of a scattered read that are in the cache, each at the place of its key.
    ///
    /// They are all over memory, and a reference to one changes it. So they are prefetched before the
    /// first of them is returned.
    func blocks(_ keys: [Key]) -> [DecodedBlock?] {
        state.withLock { state in
            let indexes = keys.map { state.places[$0] }
            for case let index? in indexes { state.slots[index].prefetchBlock() }
            let blocks = indexes.map { $0.flatMap { state.take($0) } }
            let hitCount = blocks.count { $0 != nil }
            state.use.hitCount += UInt64(hitCount)
            state.use.missCount += UInt64(blocks.count - hitCount)
            return blocks
        }
    }

    /// Returns true if a block that a scattered read did not find should be decoded as a whole and kept.
    func wantsScattered(byteCount: Int) -> Bool {
        guard byteCount <= budget else { return false }
        return state.withLock { state in
            if state.hasRoom(byteCount, in: budget) { return true }
            state.scatteredCount &+= 1
            return state.scatteredCount % 32 == 0
        }
    }

    /// Adds a block, replacing one without a map; a block larger than the whole limit is not added.
    func keep(_ block: DecodedBlock, _ key: Key, of read: Read = .short) {
        // Otherwise one block would evict all others and then itself.
        guard block.byteCount <= budget else { return }
        state.withLock { state in
            if read == .continued, !state.hasRoom(block.byteCount, in: budget) { return }
            var ring = read == .short ? Ring.used : .passing
            if let index = state.places[key] {
                ring = state.slots[index].ring
                // Two threads may have decoded the same block. Without a map, the new one has no
                // advantage.
                guard ring == .passed || block.map != nil else { return }
                state.remove(index)
                if ring == .passed { ring = .used }
            }
            state.add(block, key, to: ring)
            state.shrink(to: budget)
        }
    }
}

extension BlockCache.Slot {
    fileprivate func prefetchBlock() {
        if let block { tidemark_prefetch(Unmanaged.passUnretained(block).toOpaque()) }
    }
}

extension BlockCache.State {
    /// Returns the block of a slot, which becomes the newest; `nil` if it was removed.
    fileprivate mutating func take(_ index: Int) -> DecodedBlock? {
        // Two pages of a long read have a block in common, which does not make it a used one.
        if slots[index].ring == .used { move(index, to: .used) }
        return slots[index].block
    }

    /// Adds a block whose key has no slot.
    fileprivate mutating func add(
        _ block: DecodedBlock,
        _ key: BlockCache.Key,
        to ring: BlockCache.Ring
    ) {
        let index = takeSlot()
        slots[index].key = key
        slots[index].block = block
        slots[index].byteCount = block.byteCount
        places[key] = index
        link(index, in: ring)
    }

    /// Removes a slot with its block.
    fileprivate mutating func remove(_ index: Int) {
        unlink(index)
        slots[index].block = nil
        places[slots[index].key] = nil
        free.append(index)
    }

    /// Moves a slot to a ring as its newest.
    fileprivate mutating func move(_ index: Int, to ring: BlockCache.Ring) {
        unlink(index)
        link(index, in: ring)
    }

    /// Removes blocks until the others fit.
    fileprivate mutating func shrink(to budget: Int) {
        while byteCount(.passing) > budget / 8, let oldest = oldest(in: .passing) {
            if byteCount(.used) + byteCount(.passing) <= budget {
                move(oldest, to: .used)
            } else {
                slots[oldest].block = nil
                move(oldest, to: .passed)
            }
        }
        while byteCount(.used) + byteCount(.passing) > budget, let oldest = oldest(in: .used) {
            remove(oldest)
        }
        while byteCount(.passed) > budget, let oldest = oldest(in: .passed) { remove(oldest) }
    }

    /// Returns true if a block of some bytes can be added without removing another one.
    fileprivate func hasRoom(_ byteCount: Int, in budget: Int) -> Bool {
        self.byteCount(.used) + self.byteCount(.passing) + byteCount <= budget
    }

    private func byteCount(_ ring: BlockCache.Ring) -> Int { byteCounts[ring.rawValue] }

    private func oldest(in ring: BlockCache.Ring) -> Int? {
        let index = slots[ring.rawValue].newer
        return index == ring.rawValue ? nil : index
    }

    private mutating func takeSlot() -> Int {
        if let index = free.popLast() { return index }
        // A placeholder: `add` sets the key and the block, and `link` the rest.
        slots.append(slots[0])
        return slots.count - 1
    }

    private mutating func unlink(_ index: Int) {
        let (older, newer) = (slots[index].older, slots[index].newer)
        slots[older].newer = newer
        slots[newer].older = older
        byteCounts[slots[index].ring.rawValue] -= slots[index].byteCount
    }

    private mutating func link(_ index: Int, in ring: BlockCache.Ring) {
        let anchor = ring.rawValue
        let newest = slots[anchor].older
        slots[index].ring = ring
        slots[index].older = newest
        slots[index].newer = anchor
        slots[newest].newer = index
        slots[anchor].older = index
        byteCounts[anchor] += slots[index].byteCount
    }
}
