// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// A scanner that splits a text of the schema language into words.
///
/// Skips comments and white space. One pass: O(bytes).
struct SchemaScanner {
    /// A word of the language, and its position.
    struct Token {
        enum Kind: Equatable {
            /// A keyword or a name: letters, digits, underscores; a letter first.
            case word
            /// A name in double quotes, without them.
            case quoted
            /// `(`, `)`, `<`, `>`, `,` or `;`.
            case mark
            /// The end of the text.
            case end
        }

        var kind: Kind
        var text: String
        var position: TextPosition
    }

    private let bytes: ArraySlice<UInt8>
    private var index: Int
    private var position = TextPosition(line: 1, column: 1)

    /// Starts at the beginning of a UTF-8 text; skips a byte order mark.
    init(_ bytes: ArraySlice<UInt8>) {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        self.bytes = bytes.starts(with: mark) ? bytes.dropFirst(mark.count) : bytes
        index = self.bytes.startIndex
    }

    /// Returns the next word; its kind is `end` at the end of the text.
    mutating func next() throws(SchemaSyntaxError) -> Token {
        try skipSpaceAndComments()
        let start = position
        guard let byte = peek() else { return Token(kind: .end, text: "", position: start) }
        switch byte {
        case UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: "<"), UInt8(ascii: ">"),
            UInt8(ascii: ","), UInt8(ascii: ";"):
            advance()
            return Token(kind: .mark, text: String(UnicodeScalar(byte)), position: start)
        case UInt8(ascii: "\""):
            return try quotedName(from: start)
        case _ where Self.isWordByte(byte):
            // The whole word is read before its first letter is checked, so that the error names
            // all of it.
            let word = run(while: Self.isWordByte)
            guard Self.isLetter(byte) else { throw Self.needsQuotes(word, at: start) }
            if peek() == UInt8(ascii: ".") {
                throw Self.needsQuotes(
                    word + run { Self.isWordByte($0) || $0 == UInt8(ascii: ".") },
                    at: start
                )
            }
            return Token(kind: .word, text: word, position: start)
        default:
            throw SchemaSyntaxError(
                "Found \(nextCharacter()), which means nothing here; remove it.",
                at: start
            )
        }
    }

    private func peek(_ distance: Int = 0) -> UInt8? {
        bytes.endIndex - index > distance ? bytes[index + distance] : nil
    }

    /// Advances by one byte, and counts lines and columns.
    private mutating func advance() {
        let byte = bytes[index]
        index += 1
        let endsLine =
            // A carriage return alone ends a line; before a line feed it is part of that line's
            // end.
            byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") && peek() != UInt8(ascii: "\n")
        if endsLine {
            position = TextPosition(line: position.line + 1, column: 1)
        } else if byte & 0xC0 != 0x80 {
            // Columns count Unicode scalars, so continuation bytes of UTF-8 do not count.
            position.column += 1
        }
    }

    private mutating func run(while belongs: (UInt8) -> Bool) -> String {
        let start = index
        while let byte = peek(), belongs(byte) { advance() }
        return String(decoding: bytes[start..<index], as: UTF8.self)
    }

    private mutating func quotedName(from start: TextPosition) throws(SchemaSyntaxError) -> Token {
        advance()
        let name = run { $0 != UInt8(ascii: "\"") && $0 != 0x0A && $0 != 0x0D }
        guard peek() == UInt8(ascii: "\"") else {
            throw SchemaSyntaxError(
                "The double quote is not closed before the end of the line; close it after the "
                    + "name.",
                at: start
            )
        }
        advance()
        guard !name.isEmpty else {
            throw SchemaSyntaxError("The name between the double quotes is empty.", at: start)
        }
        return Token(kind: .quoted, text: name, position: start)
    }

    private mutating func skipSpaceAndComments() throws(SchemaSyntaxError) {
        while let byte = peek() {
            switch (byte, peek(1)) {
            case (0x20, _), (0x09...0x0D, _):
                advance()
            case (UInt8(ascii: "/"), UInt8(ascii: "/")), (UInt8(ascii: "-"), UInt8(ascii: "-")):
                while let byte = peek(), byte != 0x0A, byte != 0x0D { advance() }
            case (UInt8(ascii: "/"), UInt8(ascii: "*")):
                try skipBlockComment()
            default:
                return
            }
        }
    }

    private mutating func skipBlockComment() throws(SchemaSyntaxError) {
        let start = position
        advance()
        advance()
        while let byte = peek() {
            let isEnd = byte == UInt8(ascii: "*") && peek(1) == UInt8(ascii: "/")
            advance()
            guard isEnd else { continue }
            advance()
            return
        }
        throw SchemaSyntaxError("The comment is not closed; end it with */.", at: start)
    }

    /// Returns the character at the current offset, for an error's text.
    private func nextCharacter() -> String {
        // A character has at most four bytes in UTF-8.
        let scalar = String(decoding: bytes[index...].prefix(4), as: UTF8.self).unicodeScalars.first
        guard let scalar, scalar.properties.generalCategory != .control else {
            return "a control character"
        }
        return "\"\(scalar)\""
    }

    private static func needsQuotes(_ name: String, at position: TextPosition) -> SchemaSyntaxError
    {
        SchemaSyntaxError(
            "The name \(name) must stand in double quotes, because it is more than a letter "
                + "followed by letters, digits and underscores.",
            at: position
        )
    }

    static func isLetter(_ byte: UInt8) -> Bool {
        (65...90).contains(byte) || (97...122).contains(byte)
    }

    static func isWordByte(_ byte: UInt8) -> Bool {
        isLetter(byte) || (48...57).contains(byte) || byte == UInt8(ascii: "_")
    }
}
