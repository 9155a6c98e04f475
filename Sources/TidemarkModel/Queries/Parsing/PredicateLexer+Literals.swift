// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension PredicateLexer {
    /// Reads a text up to the quotation mark that it began with.
    mutating func string(endedBy mark: UInt8) throws(PredicateError) -> String {
        let start = offset
        skip(1)
        var content: [UInt8] = []
        while offset < text.count {
            let byte = text[offset]
            skip(1)
            if byte == mark { return String(decoding: content, as: UTF8.self) }
            if byte == UInt8(ascii: "\\") {
                try escape(into: &content)
            } else {
                content.append(byte)
            }
        }
        let sign = String(decoding: [mark], as: UTF8.self)
        throw PredicateError(
            "The text that begins here has no end. Put \(sign) after it, and \\ before each "
                + "\(sign) inside.",
            at: start,
            isSyntax: true
        )
    }

    private mutating func escape(into content: inout [UInt8]) throws(PredicateError) {
        let start = offset - 1
        guard offset < text.count else {
            throw PredicateError("Expected a character after \\.", at: start)
        }
        let byte = text[offset]
        skip(1)
        switch byte {
        case UInt8(ascii: "n"): content.append(10)
        case UInt8(ascii: "t"): content.append(9)
        case UInt8(ascii: "r"): content.append(13)
        case UInt8(ascii: "0"): content.append(0)
        case UInt8(ascii: "x"): try scalar(digitCount: 2, from: start, into: &content)
        case UInt8(ascii: "u"): try scalar(digitCount: 4, from: start, into: &content)
        case UInt8(ascii: "U"): try scalar(digitCount: 8, from: start, into: &content)
        default: content.append(byte)
        }
    }

    private mutating func scalar(
        digitCount: Int,
        from start: Int,
        into content: inout [UInt8]
    ) throws(PredicateError) {
        var value: UInt32 = 0
        for _ in 0..<digitCount {
            guard offset < text.count, let digit = Self.digit(text[offset]), digit < 16 else {
                throw PredicateError(
                    "Expected \(digitCount) hexadecimal digits in this escape.",
                    at: start
                )
            }
            // At most eight digits are read, which fill 32 bits. So the shift loses none.
            value = value << 4 | UInt32(digit)
            skip(1)
        }
        // Half of a surrogate pair is no character. `\U` with eight digits writes a character above
        // U+FFFF.
        guard let scalar = Unicode.Scalar(value) else {
            throw PredicateError("There is no character of this number.", at: start)
        }
        content.append(contentsOf: Character(scalar).utf8)
    }

    /// Reads a number: whole in decimal, hexadecimal, octal or binary; or with a fraction.
    mutating func number() throws(PredicateError) -> FieldValue {
        let start = offset
        if text[offset] == UInt8(ascii: "-") { skip(1) }
        if let radix = prefixedRadix {
            skip(2)
            return .int64(try wholeNumber(from: start, digitsAt: offset, radix: radix))
        }
        let digits = offset
        var isWhole = true
        skipDigits()
        if offset < text.count, text[offset] == UInt8(ascii: ".") {
            isWhole = false
            skip(1)
            skipDigits()
        }
        if offset < text.count, text[offset] | 0x20 == UInt8(ascii: "e") {
            isWhole = false
            skip(1)
            if offset < text.count, text[offset] == 43 || text[offset] == 45 { skip(1) }
            skipDigits()
        }
        if offset < text.count, Self.isWordByte(text[offset]) {
            throw PredicateError("A number runs into a name here. Put a space between.", at: offset)
        }
        if isWhole { return .int64(try wholeNumber(from: start, digitsAt: digits, radix: 10)) }
        let lexeme = String(decoding: text[start..<offset], as: UTF8.self)
        guard let value = Double(lexeme), value.isFinite else {
            throw PredicateError("'\(lexeme)' is not a number of 64 bits.", at: start)
        }
        return .double(value)
    }

    private var prefixedRadix: Int? {
        guard offset + 1 < text.count, text[offset] == 48 else { return nil }
        switch text[offset + 1] {
        case UInt8(ascii: "x"), UInt8(ascii: "X"): return 16
        case UInt8(ascii: "o"), UInt8(ascii: "O"): return 8
        case UInt8(ascii: "b"), UInt8(ascii: "B"): return 2
        default: return nil
        }
    }

    private mutating func skipDigits() {
        while offset < text.count, (48...57).contains(text[offset]) { skip(1) }
    }

    private mutating func wholeNumber(
        from start: Int,
        digitsAt digits: Int,
        radix: Int
    ) throws(PredicateError) -> Int64 {
        // Letters that are no digits are read too, so that the error quotes all of the wrong
        // number.
        while offset < text.count, Self.isWordByte(text[offset]) { skip(1) }
        let sign = text[start] == UInt8(ascii: "-") ? "-" : ""
        let lexeme = sign + String(decoding: text[digits..<offset], as: UTF8.self)
        guard let value = Int64(lexeme, radix: radix) else {
            throw PredicateError("'\(lexeme)' is not a whole number of 64 bits.", at: start)
        }
        return value
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 48...57: byte - 48
        case 65...70: byte - 55
        case 97...102: byte - 87
        default: nil
        }
    }
}
