// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// A number that was read: its range, and its value if that is an integer that fits.
package struct JSONNumber: Sendable {
    /// The range of its characters in the bytes.
    package let range: Range<Int>
    /// True if the number has neither a fraction nor an exponent.
    package let isWhole: Bool
    /// The value of a number that is written whole; `nil` beyond 64 bits.
    package let int64: Int64?
}

extension JSONReader {
    /// Reads a number without copying it.
    package mutating func number() throws(JSONError) -> JSONNumber {
        skipSpace()
        let start = offset
        let isNegative = current == UInt8(ascii: "-")
        if isNegative { advance(by: 1) }
        let digits = offset
        var magnitude: UInt64? = 0
        while isDigit(current) {
            // After an overflow the digits are still read, since a fraction or an exponent may
            // follow.
            let (product, first) = (magnitude ?? 0).multipliedReportingOverflow(by: 10)
            let (sum, second) = product.addingReportingOverflow(UInt64(current - 48))
            magnitude = magnitude == nil || first || second ? nil : sum
            advance(by: 1)
        }
        guard offset > digits else { throw unexpected("a digit") }
        guard bytes[digits] != 48 || offset == digits + 1 else {
            throw JSONError(
                "A number must not begin with a zero that has digits after it.",
                at: start
            )
        }
        // The form decides and not the value: `1.0` and `1e3` are not whole, because a whole double
        // and an integer could not be told apart (Docs/formats/changes.md, "Fields").
        var isWhole = true
        if current == UInt8(ascii: ".") {
            isWhole = false
            advance(by: 1)
            try someDigits()
        }
        if current == UInt8(ascii: "e") || current == UInt8(ascii: "E") {
            isWhole = false
            advance(by: 1)
            if current == UInt8(ascii: "+") || current == UInt8(ascii: "-") { advance(by: 1) }
            try someDigits()
        }
        let value = isWhole ? magnitude.flatMap { Self.signed($0, isNegative) } : nil
        return JSONNumber(range: start..<offset, isWhole: isWhole, int64: value)
    }

    /// Returns the characters of a number that was read before.
    package func lexeme(_ number: JSONNumber) -> String {
        String(decoding: UnsafeBufferPointer(rebasing: bytes[number.range]), as: UTF8.self)
    }

    /// Returns the double nearest to a number that was read before; `nil` if it is infinite.
    package func double(_ number: JSONNumber) -> Double? {
        // `Double` also reads `nan`, `inf` and hexadecimal digits, but a lexeme of JSON has none of
        // these. It returns infinity for a number that is too large.
        guard let value = Double(lexeme(number)), value.isFinite else { return nil }
        return value
    }

    private static func signed(_ magnitude: UInt64, _ isNegative: Bool) -> Int64? {
        guard isNegative else { return Int64(exactly: magnitude) }
        // For 2^63 the subtraction wraps to the bits of the smallest integer.
        return magnitude <= 1 << 63 ? Int64(truncatingIfNeeded: 0 &- magnitude) : nil
    }

    private mutating func someDigits() throws(JSONError) {
        guard isDigit(current) else { throw unexpected("a digit") }
        while isDigit(current) { advance(by: 1) }
    }

    private func isDigit(_ byte: UInt8) -> Bool { (48...57).contains(byte) }
}
