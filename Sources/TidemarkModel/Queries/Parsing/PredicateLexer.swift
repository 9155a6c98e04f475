// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Splits a predicate's text into tokens, one at a time.
struct PredicateLexer {
    enum Token: Hashable {
        /// Letters, digits, underscores, dots and colons.
        case word(String)
        /// A field's name after `#`.
        case escapedName(String)
        case string(String)
        case number(FieldValue)
        /// Operators, brackets and commas, in their usual spelling.
        case symbol(String)
        /// `%` and letters.
        case placeholder(String)
        case end
    }

    let text: [UInt8]
    private(set) var offset = 0

    init(_ text: [UInt8]) {
        self.text = text
    }

    private var current: UInt8? { offset < text.count ? text[offset] : nil }

    private func byte(after distance: Int) -> UInt8? {
        offset + distance < text.count ? text[offset + distance] : nil
    }

    mutating func skip(_ byteCount: Int) {
        offset += byteCount
    }

    /// Skips white space, and returns the offset of the next token.
    mutating func skipSpace() -> Int {
        while let byte = current, byte == 32 || (9...13).contains(byte) { offset += 1 }
        return offset
    }

    /// Reads the next token, which begins at ``offset``.
    mutating func next() throws(PredicateError) -> Token {
        guard let byte = current else { return .end }
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "'"):
            return .string(try string(endedBy: byte))
        case UInt8(ascii: "%"):
            offset += 1
            return .placeholder(placeholder())
        case UInt8(ascii: "#"):
            offset += 1
            return .escapedName(try escapedName())
        case UInt8(ascii: "@"):
            throw PredicateError(
                "Aggregates such as @count are not supported. Keep the figure in a field of its "
                    + "own.",
                at: offset
            )
        case UInt8(ascii: "$"):
            throw PredicateError(
                "Variables are not supported. Write %@ and give the value as an argument.",
                at: offset
            )
        case 48...57: return .number(try number())
        case UInt8(ascii: "-"), UInt8(ascii: "."):
            // A minus sign is part of a number only if one follows. Otherwise `symbol` reports
            // arithmetic.
            if let next = self.byte(after: 1), (48...57).contains(next) || next == 46 {
                return .number(try number())
            }
        default: break
        }
        if Self.isWordStart(byte) { return .word(word(allowing: Self.isWordByte)) }
        return .symbol(try symbol())
    }

    private mutating func word(allowing isAllowed: (UInt8) -> Bool) -> String {
        let start = offset
        while let byte = current, isAllowed(byte) { offset += 1 }
        return String(decoding: text[start..<offset], as: UTF8.self)
    }

    /// Reads the rest of a placeholder after `%`: a width, a length such as `ll`, and one letter or
    /// `@`.
    private mutating func placeholder() -> String {
        let start = offset
        while let byte = current, "hlqztj.0123456789".utf8.contains(byte) { offset += 1 }
        if current != nil { offset += 1 }
        return String(decoding: text[start..<offset], as: UTF8.self)
    }

    private mutating func escapedName() throws(PredicateError) -> String {
        let start = offset
        if let byte = current, byte == UInt8(ascii: "\"") { return try string(endedBy: byte) }
        // A colon is part of the names of functions only.
        let name = word { Self.isWordByte($0) && $0 != UInt8(ascii: ":") }
        guard !name.isEmpty else {
            throw PredicateError("Expected the name of a field after #.", at: start)
        }
        return name
    }

    private static let symbols = [
        "==", "!=", "<=", ">=", "=<", "=>", "<>", "&&", "||", "=", "<", ">", "!", "(", ")", "{",
        "}", "[", "]", ",",
    ]

    private mutating func symbol() throws(PredicateError) -> String {
        // The list has every symbol before its own prefixes, so the longest one is found.
        for symbol in Self.symbols where text[offset...].starts(with: symbol.utf8) {
            offset += symbol.utf8.count
            switch symbol {
            case "=": return "=="
            case "<>": return "!="
            case "=<": return "<="
            case "=>": return ">="
            case "&&": return "AND"
            case "||": return "OR"
            case "!": return "NOT"
            default: return symbol
            }
        }
        let rest = String(decoding: text[offset...].prefix(8), as: UTF8.self)
        let found = rest.first.map(String.init) ?? ""
        if "+-*/".contains(found) {
            throw PredicateError(
                "Arithmetic is not supported. Compute the value and give it as an argument.",
                at: offset
            )
        }
        throw PredicateError("Unexpected character '\(found)'.", at: offset, isSyntax: true)
    }
}

extension PredicateLexer {
    static func isWordStart(_ byte: UInt8) -> Bool {
        // All bytes above ASCII count as letters, so a name of any script is read without quotes.
        (65...90).contains(byte) || (97...122).contains(byte) || byte == 95 || byte >= 0x80
    }

    static func isWordByte(_ byte: UInt8) -> Bool {
        // 58 is the colon, which is part of `distanceToLocation:fromLocation:`.
        isWordStart(byte) || (48...58).contains(byte) || byte == 46
    }

    /// Returns true if a field's name needs no quotes.
    static func isPlainWord(_ text: String) -> Bool {
        guard let first = text.utf8.first, isWordStart(first), first < 0x80 else { return false }
        return text.utf8.allSatisfy { isWordByte($0) && $0 < 0x80 && $0 != UInt8(ascii: ":") }
    }

    /// Returns true if a name has the form of a path through several objects.
    ///
    /// The fields of a share have dots in their names and are not paths.
    static func isKeyPath(_ text: String) -> Bool {
        text.utf8.contains(UInt8(ascii: ".")) && !text.utf8.starts(with: "cloudkit.".utf8)
    }

    /// Returns a text between quotation marks, escaped so that it parses to the same bytes.
    static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\t": result += "\\t"
            case "\r": result += "\\r"
            case _ where scalar.value < 32 || scalar.value == 127:
                let digits = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}
