// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Numbers in base 36: digits, then lower-case letters, without leading zeros.
enum Base36 {
    private static let digits: StaticString = "0123456789abcdefghijklmnopqrstuvwxyz"

    /// Returns the number of digits of a number.
    @inline(__always)
    static func digitCount(of number: UInt64) -> Int {
        var count = 1
        var limit: UInt64 = 36
        while number >= limit {
            count += 1
            // The next power of 36 does not fit 64 bits, so no number has more digits.
            let (next, overflow) = limit.multipliedReportingOverflow(by: 36)
            if overflow { break }
            limit = next
        }
        return count
    }

    /// Writes a number so that its last digit is before an offset.
    @inline(__always)
    static func write(
        _ number: UInt64,
        to buffer: UnsafeMutableBufferPointer<UInt8>,
        endingAt end: Int
    ) {
        // A caller reserves `digitCount(of:)` bytes before the offset. Release builds do not check
        // the buffer.
        var rest = number
        var place = end
        repeat {
            place -= 1
            buffer[place] = digits.utf8Start[Int(rest % 36)]
            rest /= 36
        } while rest > 0
    }

    /// Returns the value of a digit; `nil` if the byte is not a digit.
    static func value(of byte: UInt8) -> UInt64? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt64(byte - UInt8(ascii: "0"))
        // Capital letters are refused: they would be a second form of the same number.
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt64(byte - UInt8(ascii: "a")) + 10
        default: nil
        }
    }
}

/// Reads numbers in the one form in which they are written.
struct Base36Reader {
    private let utf8: UnsafeBufferPointer<UInt8>
    private var offset = 0

    init(utf8: UnsafeBufferPointer<UInt8>) {
        self.utf8 = utf8
    }

    /// Returns the number that ends before a byte, which is skipped too, or at the end.
    mutating func next(before end: UInt8?) -> UInt64? {
        var number: UInt64 = 0
        var digitCount = 0
        while offset < utf8.count {
            let byte = utf8[offset]
            offset += 1
            if byte == end { break }
            // A digit after a leading zero is rejected: it would be a second form of the same
            // number.
            guard let value = Base36.value(of: byte), digitCount == 0 || number > 0 else {
                return nil
            }
            let (product, overflow) = number.multipliedReportingOverflow(by: 36)
            let (sum, carry) = product.addingReportingOverflow(value)
            guard !overflow, !carry else { return nil }
            number = sum
            digitCount += 1
        }
        return digitCount > 0 ? number : nil
    }
}
