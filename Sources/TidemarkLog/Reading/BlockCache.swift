// Tidemark
// SPDX-License-Identifier: Apache-2.0

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
final class BlockCache: Sendable {
    /// The identity of a block while its file exists.
    struct Key: Hashable {
        // A rewritten segment has another generation, so a block never takes the key of one that it
        // replaced.
        var segment: SegmentID
        var offset: UInt32
    }

    /// One kept block, in a ring ordered by use: slot 0 is the ring's anchor.
    fileprivate struct Slot {
        var key: Key
        var block: DecodedBlock?
        var older: Int
        var newer: Int
    }

    fileprivate struct State {
        var places: [Key: Int] = [:]
        var slots: [Slot]
        var free: [Int] = []
        var byteCount = 0
        var use = CacheUse()
    }

    private let budget: Int
    private let state: Lock<State>

    init(byteCount budget: Int) {
        self.budget = budget
        let nowhere = Key(segment: SegmentID(first: .zero), offset: 0)
        let anchor = Slot(key: nowhere, block: nil, older: 0, newer: 0)
        state = Lock(State(slots: [anchor]))
    }

    /// The numbers of lookups that found a block and that did not.
    var use: CacheUse { state.withLock { $0.use } }

    /// Returns the block if it is in the cache.
    func block(_ key: Key) -> DecodedBlock? {
        state.withLock { state -> DecodedBlock? in
            guard let index = state.places[key] else {
                state.use.missCount += 1
                return nil
            }
            state.use.hitCount += 1
            state.unlink(index)
            state.linkNewest(index)
            return state.slots[index].block
        }
    }

    /// Adds a block, replacing one without a map; a block larger than the whole limit is not added.
    func keep(_ block: DecodedBlock, _ key: Key) {
        // Otherwise one block would evict all others and then itself.
        guard block.byteCount <= budget else { return }
        state.withLock { state in
            if let index = state.places[key] {
                // Two threads may have decoded the same block. Without a map, the new one has no
                // advantage.
                guard block.map != nil else { return }
                state.byteCount += block.byteCount - (state.slots[index].block?.byteCount ?? 0)
                state.slots[index].block = block
                return state.dropOldest(over: budget)
            }
            let index = state.takeSlot()
            state.slots[index].key = key
            state.slots[index].block = block
            state.places[key] = index
            state.byteCount += block.byteCount
            state.linkNewest(index)
            state.dropOldest(over: budget)
        }
    }
}

extension BlockCache.State {
    fileprivate mutating func takeSlot() -> Int {
        if let index = free.popLast() { return index }
        // A placeholder: `keep` sets the key and the block, and `linkNewest` the links.
        slots.append(slots[0])
        return slots.count - 1
    }

    fileprivate mutating func unlink(_ index: Int) {
        let slot = slots[index]
        slots[slot.older].newer = slot.newer
        slots[slot.newer].older = slot.older
    }

    fileprivate mutating func linkNewest(_ index: Int) {
        let newest = slots[0].older
        slots[index].older = newest
        slots[index].newer = 0
        slots[newest].newer = index
        slots[0].older = index
    }

    fileprivate mutating func dropOldest(over budget: Int) {
        while byteCount > budget { dropOldest() }
    }

    private mutating func dropOldest() {
        let oldest = slots[0].newer
        unlink(oldest)
        byteCount -= slots[oldest].block?.byteCount ?? 0
        slots[oldest].block = nil
        places[slots[oldest].key] = nil
        free.append(oldest)
    }
}
