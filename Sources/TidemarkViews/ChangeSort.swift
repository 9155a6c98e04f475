// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents

/// Sorts changes by key, and leaves those of one key in their order.
///
/// A slot is as random as its hash, and a rebuild sorts millions of them. Those of each zone are sorted
/// by themselves if the zones come in order. They are dealt out by the highest bits that differ, and so
/// is each pile, which by then fits into the processor's nearest cache: twice through memory, where
/// going byte by byte from the lowest is eight times.
package struct ChangeSort {
    private typealias Changes = UnsafeMutableBufferPointer<ViewBatch.Change>

    private let changes: Changes
    /// Room for as many.
    private let spare: Changes

    /// Up to so many are put in order one by one.
    private static let fewCount = 24
    /// From so many on they are dealt out to more piles at once.
    private static let manyCount = 1 << 14

    /// Sorts changes.
    ///
    /// O(n) for keys that are like random ones or in order already; at most a pass for each byte of
    /// the keys.
    package static func sort(_ changes: inout [ViewBatch.Change]) {
        let groups = groups(of: changes)
        let spareCount = groups.lazy.map(\.count).max() ?? 0
        changes.withUnsafeMutableBufferPointer { changes in
            withUnsafeTemporaryAllocation(of: ViewBatch.Change.self, capacity: spareCount) {
                spare in
                for group in groups {
                    ChangeSort(changes: Changes(rebasing: changes[group]), spare: spare)
                        .sort(0..<group.count)
                }
            }
        }
    }

    /// The stretches of changes whose keys have the same high word, if those words ascend; else all of
    /// the changes as one.
    private static func groups(of changes: [ViewBatch.Change]) -> [Range<Int>] {
        var groups: [Range<Int>] = []
        var start = 0
        for index in changes.indices.dropFirst() {
            let (last, next) = (changes[index - 1].key.high, changes[index].key.high)
            if next == last { continue }
            if next < last { return [changes.indices] }
            groups.append(start..<index)
            start = index
        }
        groups.append(start..<changes.count)
        return groups
    }

    private func sort(_ range: Range<Int>) {
        guard range.count > Self.fewCount else { return insert(range) }
        let first = changes[range.lowerBound].key
        var last = first
        var differing = (high: UInt64(0), low: UInt64(0))
        var isInOrder = true
        for index in range {
            let key = changes[index].key
            differing.high |= key.high ^ first.high
            differing.low |= key.low ^ first.low
            if key < last { isInOrder = false }
            last = key
        }
        if isInOrder { return }
        if differing.high > 0 {
            deal(range, by: \.high, differing.high)
        } else {
            deal(range, by: \.low, differing.low)
        }
    }

    /// Deals a range out by the highest of the bits in which a word of its keys differs, and sorts
    /// each pile.
    @inline(__always)
    private func deal(_ range: Range<Int>, by word: (ViewKey) -> UInt64, _ differing: UInt64) {
        let bitCount = 64 - differing.leadingZeroBitCount
        let width = min(range.count < Self.manyCount ? 8 : 11, bitCount)
        let pileCount = 1 << width
        func pile(_ index: Int) -> Int {
            Int(word(changes[index].key) >> UInt64(bitCount - width)) & (pileCount - 1)
        }
        withUnsafeTemporaryAllocation(of: Int.self, capacity: pileCount + 1) { places in
            places.initialize(repeating: 0)
            for index in range { places[pile(index) + 1] += 1 }
            places[0] = range.lowerBound
            for pile in 1...pileCount { places[pile] += places[pile - 1] }
            for index in range {
                let pile = pile(index)
                spare.initializeElement(at: places[pile], to: changes[index])
                places[pile] += 1
            }
            _ = Changes(rebasing: changes[range])
                .update(fromContentsOf: Changes(rebasing: spare[range]))
            var start = range.lowerBound
            for pile in 0..<pileCount {
                // The place behind its last.
                let end = places[pile]
                if end - start > 1 { sort(start..<end) }
                start = end
            }
        }
    }

    private func insert(_ range: Range<Int>) {
        for index in range.dropFirst() {
            let change = changes[index]
            var place = index
            while place > range.lowerBound, change.key < changes[place - 1].key {
                changes[place] = changes[place - 1]
                place -= 1
            }
            if place < index { changes[place] = change }
        }
    }
}
