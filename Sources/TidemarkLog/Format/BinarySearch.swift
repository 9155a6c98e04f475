// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension RandomAccessCollection where Index == Int {
    /// Returns the end of the prefix whose elements meet a condition, which no later element meets.
    ///
    /// O(log elements).
    @inline(__always)
    func endOfPrefix<Failure: Error>(
        while isInPrefix: (Element) throws(Failure) -> Bool
    ) throws(Failure) -> Int {
        var low = startIndex
        var high = endIndex
        while low < high {
            let middle = (low + high) / 2
            if try isInPrefix(self[middle]) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
