// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Comparing bytes eight at a time, which the standard library does one by one.
enum ByteEquality {
    /// Returns true if two runs of bytes are equal.
    ///
    /// O(bytes).
    static func areEqual(_ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer) -> Bool
    {
        let count = first.count
        guard count == second.count else { return false }
        // Copies of a record share their bytes, so equal addresses skip the comparison.
        if first.baseAddress == second.baseAddress { return true }
        var index = 0
        while index + 8 <= count {
            let left = first.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            let right = second.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            if left != right { return false }
            index += 8
        }
        if index == count { return true }
        if count >= 8 {
            // Some of the last eight bytes are compared again, which costs less than a loop.
            return first.loadUnaligned(fromByteOffset: count - 8, as: UInt64.self)
                == second.loadUnaligned(fromByteOffset: count - 8, as: UInt64.self)
        }
        return ByteOrder.compare(first, second) == 0
    }

    /// Returns true if one of the bytes is zero.
    ///
    /// O(bytes).
    @inline(__always)
    static func containsZero(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let count = bytes.count
        var index = 0
        if count >= 8 {
            while index + 8 < count {
                if containsZero(bytes, wordAt: index) { return true }
                index += 8
            }
            // Some of the last eight bytes are tested again, which costs less than a loop.
            return containsZero(bytes, wordAt: count - 8)
        }
        while index < count {
            if bytes[index] == 0 { return true }
            index += 1
        }
        return false
    }

    /// Returns true if one of the eight bytes at an offset is zero.
    @inline(__always)
    private static func containsZero(_ bytes: UnsafeRawBufferPointer, wordAt offset: Int) -> Bool {
        let word = bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
        // Of the bytes up to 0x7F, only zero gets its top bit from subtracting one. A byte next
        // to a zero may get it by the borrow, which changes nothing in the answer.
        return (word &- 0x0101_0101_0101_0101) & ~word & 0x8080_8080_8080_8080 != 0
    }

    /// Returns true if two slices hold the same bytes.
    ///
    /// O(bytes).
    static func areEqual(_ first: ArraySlice<UInt8>, _ second: ArraySlice<UInt8>) -> Bool {
        first.withUnsafeBytes { left in
            second.withUnsafeBytes { right in areEqual(left, right) }
        }
    }
}
