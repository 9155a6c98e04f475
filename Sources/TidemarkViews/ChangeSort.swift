// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents

/// A stable sort of changes by key.
///
/// Slots are random hashes, and a rebuild sorts millions of them. If zones are in order, each
/// zone's changes are sorted separately. Changes are distributed by the highest differing bits, and
/// so is each pile, which then fits into the processor's nearest cache. That takes two passes
/// through memory, where a byte-by-byte sort from the lowest byte takes eight.
package struct ChangeSort {
    private typealias Changes = UnsafeMutableBufferPointer<ViewBatch.Change>

    private let changes: Changes
    /// A buffer of the same length.
    private let spare: Changes

    /// The maximum number of changes that are sorted by insertion.
    private static let fewCount = 24
    /// The minimum number of changes that are distributed to more piles at once.
    private static let manyCount = 1 << 14

    /// Sorts changes.
    ///
    /// O(n) for random or sorted keys; at most one pass for each byte of the keys.
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

    /// Returns the runs of changes with equal high words, if those words ascend; otherwise one run
    /// of all changes.
    private static func groups(of changes: [ViewBatch.Change]) -> [Range<Int>] {
        var groups: [Range<Int>] = []
        var start = 0
        for index in changes.indices.dropFirst() {
            let (last, next) = (changes[index - 1].key.high, changes[index].key.high)
            if next == last { continue }
            // The high words do not ascend, as in the table of requests.
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

    /// Distributes a range by the highest differing bits of a word of its keys, and sorts each
    /// pile.
    @inline(__always)
    private func deal(_ range: Range<Int>, by word: (ViewKey) -> UInt64, _ differing: UInt64) {
        let bitCount = 64 - differing.leadingZeroBitCount
        let width = min(range.count < Self.manyCount ? 8 : 11, bitCount)
        let pileCount = 1 << width
        func pile(_ index: Int) -> Int {
            Int(truncatingIfNeeded: word(changes[index].key) >> UInt64(bitCount - width))
                & (pileCount - 1)
        }
        withUnsafeTemporaryAllocation(of: Int.self, capacity: pileCount + 1) { places in
            places.initialize(repeating: 0)
            for index in range { places[pile(index) + 1] += 1 }
            places[0] = range.lowerBound
            for pile in 1...pileCount { places[pile] += places[pile - 1] }
            for index in range {
                // Ascending, so that changes of equal keys keep their order: a batch keeps the last
                // one.
                let pile = pile(index)
                spare.initializeElement(at: places[pile], to: changes[index])
                places[pile] += 1
            }
            _ = Changes(rebasing: changes[range])
                .update(fromContentsOf: Changes(rebasing: spare[range]))
            var start = range.lowerBound
            for pile in 0..<pileCount {
                // The end of the pile.
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
