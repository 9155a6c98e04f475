// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

extension RawSpan {
    /// Returns the little-endian integer at an offset, which must lie within the span.
    @inlinable @inline(__always)
    package func integer<Value: FixedWidthInteger & BitwiseCopyable>(
        at offset: Int,
        as type: Value.Type = Value.self
    ) -> Value {
        precondition(offset >= 0 && offset <= byteCount - MemoryLayout<Value>.size)
        return Value(littleEndian: unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: type))
    }

    /// Returns the position at an offset.
    @inlinable @inline(__always)
    package func sequence(at offset: Int) -> SequenceNumber {
        SequenceNumber(rawValue: integer(at: offset))
    }

    /// Returns the byte at an offset, which must lie within the span.
    @inlinable @inline(__always)
    package func byte(at offset: Int) -> UInt8 {
        integer(at: offset)
    }

    /// Reads a variable-length integer (LEB128, shortest form) and moves past it; `nil` if it is
    /// cut off, longer than 64 bits or not in its shortest form.
    @inlinable @inline(__always)
    package func variableInteger(at offset: inout Int) -> UInt64? {
        guard offset < byteCount else { return nil }
        let first = byte(at: offset)
        if first < 0x80 {
            offset += 1
            return UInt64(first)
        }
        // Most integers in blocks have one or two bytes. A second byte of zero is not the shortest
        // form, and the long path rejects it.
        if offset + 1 < byteCount, case let second = byte(at: offset + 1), 1..<0x80 ~= second {
            offset += 2
            return UInt64(first & 0x7F) | UInt64(second) << 7
        }
        return longVariableInteger(at: &offset)
    }

    @usableFromInline
    package func longVariableInteger(at offset: inout Int) -> UInt64? {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        var position = offset
        while position < byteCount, shift < 64 {
            let next = byte(at: position)
            // The tenth byte holds one bit of the 64.
            if shift == 63, next > 1 { return nil }
            value |= UInt64(next & 0x7F) << shift
            position += 1
            if next < 0x80 {
                // A last byte of zero could be left out, so this is not the shortest form.
                if next == 0 { return nil }
                offset = position
                return value
            }
            shift += 7
        }
        return nil
    }

    /// Reads a byte count and the bytes after it, and moves past them; `nil` if they are cut off.
    @inlinable @inline(__always)
    package func countedRange(at offset: inout Int) -> Range<Int>? {
        var position = offset
        // Compared without a conversion: a damaged count may be greater than any `Int`.
        guard let count = variableInteger(at: &position), count <= UInt64(byteCount - position)
        else { return nil }
        offset = position + Int(count)
        return position..<offset
    }

    /// Returns true if every byte of a range is zero.
    package func isZero(in range: Range<Int>) -> Bool {
        guard !range.isEmpty else { return true }
        return extracting(range).withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress, bytes[0] == 0 else { return false }
            // Every byte is equal to the one before it, and the first one is zero.
            return memcmp(start, start + 1, bytes.count - 1) == 0
        }
    }
}

extension [UInt8] {
    /// Appends an integer, little-endian.
    @inlinable @inline(__always)
    package mutating func append(integer value: some FixedWidthInteger & BitwiseCopyable) {
        Swift.withUnsafeBytes(of: value.littleEndian) { append(contentsOf: $0) }
    }

    /// Appends a variable-length integer (LEB128).
    @inlinable @inline(__always)
    package mutating func append(variableInteger value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        append(UInt8(truncatingIfNeeded: rest))
    }

    /// Overwrites bytes with an integer, little-endian.
    @inlinable
    package mutating func store(
        integer value: some FixedWidthInteger & BitwiseCopyable,
        at offset: Int
    ) {
        precondition(offset >= 0 && offset <= count - MemoryLayout.size(ofValue: value))
        withUnsafeMutableBytes {
            $0.storeBytes(of: value.littleEndian, toByteOffset: offset, as: type(of: value))
        }
    }

    /// Appends zeros up to a length.
    package mutating func pad(to byteCount: Int) {
        while count < byteCount { append(0) }
    }
}

extension UnsafeMutableRawBufferPointer {
    /// Overwrites bytes with an integer, little-endian.
    @inline(__always)
    func store<Value: FixedWidthInteger & BitwiseCopyable>(integer value: Value, at offset: Int) {
        precondition(offset >= 0 && offset <= count - MemoryLayout<Value>.size)
        storeBytes(of: value.littleEndian, toByteOffset: offset, as: Value.self)
    }
}

/// Maps signed to unsigned so that small magnitudes stay small.
@inlinable @inline(__always)
package func zigzag(_ value: Int64) -> UInt64 {
    UInt64(bitPattern: (value << 1) ^ (value >> 63))
}

/// Returns the inverse of `zigzag`.
@inlinable @inline(__always)
package func unzigzag(_ value: UInt64) -> Int64 {
    Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
}
