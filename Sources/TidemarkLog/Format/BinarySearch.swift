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

    /// Returns the same; faster if the end is near a guess.
    ///
    /// O(log distance).
    @inline(__always)
    func endOfPrefix<Failure: Error>(
        near guess: Int,
        while isInPrefix: (Element) throws(Failure) -> Bool
    ) throws(Failure) -> Int where SubSequence.Index == Int {
        guard startIndex <= guess, guess < endIndex else {
            return try endOfPrefix(while: isInPrefix)
        }
        var (low, high, step) = (startIndex, endIndex, 1)
        if try isInPrefix(self[guess]) {
            low = guess + 1
            while guess + step < high {
                guard try isInPrefix(self[guess + step]) else {
                    high = guess + step
                    break
                }
                low = guess + step + 1
                step *= 2
            }
        } else {
            high = guess
            while guess - step >= low {
                if try isInPrefix(self[guess - step]) {
                    low = guess - step + 1
                    break
                }
                high = guess - step
                step *= 2
            }
        }
        return try self[low..<high].endOfPrefix(while: isInPrefix)
    }
}
