// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Numbers in base 36: digits, then lower-case letters, without leading zeros.
enum Base36 {
    private static let digits: StaticString = "0123456789abcdefghijklmnopqrstuvwxyz"

    /// Returns two numbers with a hyphen between them.
    static func text(of first: UInt64, _ second: UInt32) -> String {
        // The largest numbers have 13 and 7 digits.
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 21) { room in
            // From the end, so that the digits need not be counted first.
            var place = room.count
            write(second, to: room, endingAt: &place)
            place -= 1
            room[place] = UInt8(ascii: "-")
            write(first, to: room, endingAt: &place)
            return String(decoding: UnsafeBufferPointer(rebasing: room[place...]), as: UTF8.self)
        }
    }

    /// Writes a number so that its last digit is before an offset, and moves the offset to its first
    /// digit.
    @inline(__always)
    private static func write(
        _ number: some FixedWidthInteger & UnsignedInteger,
        to room: UnsafeMutableBufferPointer<UInt8>,
        endingAt place: inout Int
    ) {
        var rest = number
        repeat {
            let (quotient, digit) = rest.quotientAndRemainder(dividingBy: 36)
            place -= 1
            room[place] = digits.utf8Start[Int(digit)]
            rest = quotient
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
