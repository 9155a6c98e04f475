// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// A string that was read and checked: its range, without its quotation marks.
package struct JSONText: Sendable {
    /// The range of its characters in the bytes.
    package let range: Range<Int>
    /// True if the text contains escapes, so that the bytes are not the text itself.
    package let hasEscapes: Bool

    /// The top bit of each byte of a word.
    static let tops: UInt64 = 0x8080_8080_8080_8080

    /// Returns a word that marks the first byte that needs an escape; zero if there is none.
    ///
    /// Its lowest set bit is in that byte: a quotation mark, a backslash or a control character.
    static func specialBytes(in word: UInt64) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        // In `(x - 1) & ~x` the top bit of a byte is set if the byte is zero, or if a lower byte
        // borrowed from it. The lowest mark is therefore right, and only that one is used.
        let quotes = word ^ (ones &* 0x22)
        let backslashes = word ^ (ones &* 0x5C)
        // `& ~word` also clears the mark of every byte above 0x7F. A writer copies such bytes. A
        // reader must check them as UTF-8, so it adds `tops` to this mask.
        return
            (((quotes &- ones) & ~quotes) | ((backslashes &- ones) & ~backslashes)
            | ((word &- (ones &* 0x20)) & ~word)) & tops
    }

    /// Returns the number of bytes from an index on that need no escape.
    static func plainCount(in utf8: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
        let raw = UnsafeRawBufferPointer(utf8)
        var index = start
        while index + 8 <= utf8.count {
            let word = raw.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            // In little-endian order the lowest byte is the first one, so the lowest mark is the
            // first special byte.
            let special = specialBytes(in: UInt64(littleEndian: word))
            if special != 0 { return index + special.trailingZeroBitCount / 8 - start }
            index += 8
        }
        while index < utf8.count {
            let byte = utf8[index]
            if byte < 0x20 || byte == 0x22 || byte == 0x5C { break }
            index += 1
        }
        return index - start
    }
}

extension JSONReader {
    /// Reads a string without copying it.
    package mutating func text() throws(JSONError) -> JSONText {
        try expect(UInt8(ascii: "\""), "a string")
        let start = offset
        var hasEscapes = false
        while true {
            advance(by: plainRun(from: offset))
            // `current` is zero at the end of the bytes. So a string without a closing mark reaches
            // `escape`, which throws the error.
            guard current != UInt8(ascii: "\"") else { break }
            _ = try escape()
            hasEscapes = true
        }
        let range = start..<offset
        advance(by: 1)
        return JSONText(range: range, hasEscapes: hasEscapes)
    }

    /// Reads a string and appends its UTF-8.
    package mutating func appendText(to output: inout [UInt8]) throws(JSONError) {
        try expect(UInt8(ascii: "\""), "a string")
        while true {
            let run = plainRun(from: offset)
            if run > 0 {
                output.append(
                    contentsOf: UnsafeBufferPointer(rebasing: bytes[offset..<offset + run])
                )
                advance(by: run)
            }
            guard current != UInt8(ascii: "\"") else { break }
            // The escapes that texts have most often skip the conversion through a scalar.
            if let byte = lineEndOrQuote() {
                output.append(byte)
            } else {
                try escape().appendUTF8(to: &output)
            }
        }
        advance(by: 1)
    }

    /// Reads a string.
    package mutating func string() throws(JSONError) -> String {
        copy(try text())
    }

    /// Copies out a string that was read before.
    package func copy(_ text: JSONText) -> String {
        guard text.hasEscapes else {
            return String(decoding: UnsafeBufferPointer(rebasing: bytes[text.range]), as: UTF8.self)
        }
        var output: [UInt8] = []
        append(text, to: &output)
        return String(decoding: output, as: UTF8.self)
    }

    /// Appends the UTF-8 of a string that was read before.
    package func append(_ text: JSONText, to output: inout [UInt8]) {
        guard text.hasEscapes else {
            output.append(contentsOf: UnsafeBufferPointer(rebasing: bytes[text.range]))
            return
        }
        var again = JSONReader(bytes)
        // The range begins after the quotation mark, and `appendText` expects that mark.
        again.advance(by: text.range.lowerBound - 1)
        // The text was checked when it was first read.
        try? again.appendText(to: &output)
    }

    /// Returns true if a string that was read before equals a word.
    package func isWord(_ text: JSONText, _ word: StaticString) -> Bool {
        // RFC 8259 allows escapes in the names of members, so `\u006fp` is the member `op`. `Name`
        // compares bytes. `String` would also accept texts that are only equivalent.
        if text.hasEscapes { return Name(copy(text)) == Name(word.description) }
        guard text.range.count == word.utf8CodeUnitCount else { return false }
        return ByteEquality.areEqual(
            UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: bytes[text.range])),
            UnsafeRawBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount)
        )
    }

    // MARK: Characters

    /// Returns the number of bytes from an index on that stand for themselves.
    ///
    /// They end at a quotation mark, a backslash, a control character, bytes that are not UTF-8, or
    /// the end.
    private func plainRun(from start: Int) -> Int {
        let raw = UnsafeRawBufferPointer(bytes)
        let count = bytes.count
        var index = start
        while index < count {
            while index + 8 <= count {
                let word = raw.loadUnaligned(fromByteOffset: index, as: UInt64.self)
                let littleEndian = UInt64(littleEndian: word)
                let special = JSONText.specialBytes(in: littleEndian) | littleEndian & JSONText.tops
                guard special == 0 else {
                    index += special.trailingZeroBitCount / 8
                    break
                }
                index += 8
            }
            guard index < count else { break }
            let byte = bytes[index]
            if byte >= 0x80 {
                // Bytes that are not UTF-8 end the run as a control character does. `escape` throws
                // the error.
                let length = UTF8Text.sequenceLength(bytes, at: index)
                guard length > 0 else { break }
                index += length
            } else if byte >= 0x20, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") {
                index += 1
            } else {
                break
            }
        }
        return index - start
    }

    /// Reads one of the most frequent escapes; `nil` if the next one is another.
    private mutating func lineEndOrQuote() -> UInt8? {
        guard bytes.count - offset >= 2, bytes[offset] == UInt8(ascii: "\\") else { return nil }
        switch bytes[offset + 1] {
        case UInt8(ascii: "n"):
            advance(by: 2)
            return 0x0A
        case UInt8(ascii: "\""):
            advance(by: 2)
            return 0x22
        default:
            return nil
        }
    }

    /// Reads an escape, or throws the error for the byte that ended a run of plain bytes.
    private mutating func escape() throws(JSONError) -> Unicode.Scalar {
        let start = offset
        guard start < bytes.count else {
            throw JSONError(
                "A string is not closed before the end of the text; close it with \".",
                at: start
            )
        }
        guard bytes[start] == UInt8(ascii: "\\") else {
            throw bytes[start] < 0x20
                ? JSONError(
                    "A control character in a string must be written as an escape.",
                    at: start
                )
                : JSONError("A string is not UTF-8.", at: start)
        }
        advance(by: 1)
        let kind = current
        advance(by: 1)
        switch kind {
        case UInt8(ascii: "\""): return "\""
        case UInt8(ascii: "\\"): return "\\"
        case UInt8(ascii: "/"): return "/"
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): return try unicodeEscape(at: start)
        default:
            throw JSONError(
                "There is no such escape in JSON; the escapes are \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u.",
                at: start
            )
        }
    }

    private mutating func unicodeEscape(at start: Int) throws(JSONError) -> Unicode.Scalar {
        guard let first = fourDigits() else {
            throw JSONError("Expected four hexadecimal digits after \\u.", at: start)
        }
        if let scalar = Unicode.Scalar(first) { return scalar }
        // Only a surrogate is no scalar. The first half is below U+DC00.
        guard first < 0xDC00, take("\\u"), let second = fourDigits(),
            (0xDC00...0xDFFF).contains(second),
            let scalar = Unicode.Scalar(0x1_0000 + (first - 0xD800) << 10 + (second - 0xDC00))
        else { throw JSONError("Half of a surrogate pair stands alone.", at: start) }
        return scalar
    }

    private mutating func fourDigits() -> UInt32? {
        guard bytes.count - offset >= 4 else { return nil }
        // `UInt32(_:radix:)` would also accept a plus sign, which is no hexadecimal digit.
        var value: UInt32 = 0
        for index in offset..<offset + 4 {
            switch bytes[index] {
            case let digit where (48...57).contains(digit): value = value << 4 | UInt32(digit - 48)
            case let digit where (65...70).contains(digit): value = value << 4 | UInt32(digit - 55)
            case let digit where (97...102).contains(digit): value = value << 4 | UInt32(digit - 87)
            default: return nil
            }
        }
        advance(by: 4)
        return value
    }
}

extension Unicode.Scalar {
    fileprivate func appendUTF8(to output: inout [UInt8]) {
        if value < 0x80 {
            output.append(UInt8(truncatingIfNeeded: value))
        } else {
            output.append(contentsOf: UTF8.encode(self) ?? UTF8.encodedReplacementCharacter)
        }
    }
}
