// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Numbers in base 36: digits, then lower-case letters, without leading zeros.
enum Base36 {
    /// Returns two numbers as text, with a hyphen between them.
    static func text(of first: UInt64, _ second: UInt32) -> String {
        guard first < numberOfEightDigits else {
            return String(first, radix: 36) + "-" + String(second, radix: 36)
        }
        let head = eightDigits(of: first)
        let tail = eightDigits(of: UInt64(second))
        // Room for all eight bytes of the second number, which are written at once.
        return String(unsafeUninitializedCapacity: head.count &+ 1 &+ 8) { buffer in
            let bytes = UnsafeMutableRawBufferPointer(buffer)
            bytes.storeBytes(of: head.text.littleEndian, as: UInt64.self)
            bytes[head.count] = UInt8(ascii: "-")
            let place = head.count &+ 1
            bytes.storeBytes(of: tail.text.littleEndian, toByteOffset: place, as: UInt64.self)
            return place &+ tail.count
        }
    }

    /// The first number of nine digits: 36 to the power of 8.
    private static let numberOfEightDigits: UInt64 = 2_821_109_907_456

    /// Returns the digits of a number below ``numberOfEightDigits``, the first in the lowest byte, and
    /// how many there are.
    ///
    /// All digits are computed at once: the text of a tag is made for each record that a server sends.
    @inline(__always)
    private static func eightDigits(of number: UInt64) -> (text: UInt64, count: Int) {
        let (high, low) = number.quotientAndRemainder(dividingBy: 36 * 36 * 36 * 36)
        let (pair0, pair1) = high.quotientAndRemainder(dividingBy: 36 * 36)
        let (pair2, pair3) = low.quotientAndRemainder(dividingBy: 36 * 36)
        // Four numbers below 1,296 in lanes of 16 bits. Their quotients by 36 are computed in lanes of
        // 32 bits: times 1,821, divided by 65,536, is exact for such numbers.
        let pairs = pair0 | pair1 << 16 | pair2 << 32 | pair3 << 48
        let even = ((pairs & 0x0000_FFFF_0000_FFFF) &* 1_821) >> 16 & 0x0000_003F_0000_003F
        let odd = (pairs >> 16 & 0x0000_FFFF_0000_FFFF) &* 1_821 & 0x003F_0000_003F_0000
        let quotients = even | odd
        let digits = quotients | (pairs &- quotients &* 36) << 8
        // A digit from 10 on sets the highest bit of its byte when 118 is added; `a` lies 39 behind
        // the character after `9`.
        let letters = (digits &+ 0x7676_7676_7676_7676) >> 7 & 0x0101_0101_0101_0101
        let text = digits &+ 0x3030_3030_3030_3030 &+ letters &* 39
        // The last digit is kept even if it is zero.
        let leadingZeros = (digits | 1 << 63).trailingZeroBitCount & ~7
        return (text &>> leadingZeros, 8 &- leadingZeros / 8)
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
