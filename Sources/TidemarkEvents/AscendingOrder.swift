// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The order of numbers, for numbers that are spread evenly, such as slots.
package enum AscendingOrder {
    /// As many buckets as a few hundred numbers fill with one or two each.
    private static let bucketBitCount = 9
    /// The maximum count that is ordered by insertion.
    private static let fewCount = 32

    /// Returns the indexes of numbers in the ascending order of the numbers; equal numbers keep their
    /// order.
    ///
    /// O(n) for up to some thousand numbers that are spread evenly, else O(n log n).
    package static func indexes(of numbers: [UInt64]) -> [Int] {
        if numbers.count <= fewCount {
            var order = Array(numbers.indices)
            insert(&order, by: numbers)
            return order
        }
        guard let least = numbers.min(), let greatest = numbers.max() else { return [] }
        let bitCount = UInt64.bitWidth - (greatest - least).leadingZeroBitCount
        let shift = UInt64(max(0, bitCount - bucketBitCount))
        // The end of each bucket, after one pass that counts and one that adds up.
        var ends = [Int](repeating: 0, count: 1 << bucketBitCount)
        for number in numbers { ends[Int((number - least) >> shift)] += 1 }
        var end = 0
        for bucket in ends.indices {
            guard ends[bucket] <= fewCount || shift == 0 else { return sorted(numbers) }
            end += ends[bucket]
            ends[bucket] = end
        }
        var order = [Int](repeating: 0, count: numbers.count)
        for index in numbers.indices.reversed() {
            let bucket = Int((numbers[index] - least) >> shift)
            ends[bucket] -= 1
            order[ends[bucket]] = index
        }
        // The numbers of a bucket are equal if nothing was shifted out.
        if shift > 0 { insert(&order, by: numbers) }
        return order
    }

    /// Orders indexes that lie a few places from where they belong.
    private static func insert(_ order: inout [Int], by numbers: [UInt64]) {
        for place in order.indices.dropFirst() {
            let index = order[place]
            var next = place
            while next > 0, numbers[order[next - 1]] > numbers[index] {
                order[next] = order[next - 1]
                next -= 1
            }
            order[next] = index
        }
    }

    private static func sorted(_ numbers: [UInt64]) -> [Int] {
        // The sort is stable.
        numbers.indices.sorted { numbers[$0] < numbers[$1] }
    }
}
