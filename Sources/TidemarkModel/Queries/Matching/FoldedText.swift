// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// UTF-8 folded byte by byte as it is read, without the ignored differences.
///
/// So a comparison needs no allocation.
package struct FoldedText {
    private let options: Query.TextOptions
    private var offset: Int
    private let end: Int
    /// Bytes that one character became, the first one lowest.
    private var pending: UInt128 = 0

    /// Reads a part of some bytes.
    init(_ range: Range<Int>, _ options: Query.TextOptions) {
        self.options = options
        offset = range.lowerBound
        end = range.upperBound
    }

    /// Returns the next byte; `nil` at the end.
    mutating func next(in bytes: RawSpan) -> UInt8? {
        while true {
            if pending != 0 {
                defer { pending >>= 8 }
                return UInt8(truncatingIfNeeded: pending)
            }
            guard offset < end else { return nil }
            let byte = bytes.byte(at: offset)
            if byte < 0x80 {
                offset += 1
                // Without a sign the difference is below 26 for `A` to `Z` only.
                let isUpper = byte &- 65 < 26 && options.contains(.caseInsensitive)
                return isUpper ? byte | 0x20 : byte
            }
            let scalar = UTF8Text.scalar(in: bytes, at: &offset, end: end)
            // NUL is ASCII, so no byte of a folded character is zero.
            // A folded character has at most nine bytes, those of a Korean syllable. So 128 bits
            // hold it.
            var character = FoldedCharacter()
            character.fold(scalar, options)
            pending = character.bytes
        }
    }

    /// Returns all of a text's bytes, folded.
    package static func bytes(of text: String, _ options: Query.TextOptions) -> [UInt8] {
        let raw = Array(text.utf8)
        let span = raw.span.bytes
        return bytes(in: span, 0..<span.byteCount, options)
    }

    /// Returns all bytes of a range, folded.
    package static func bytes(
        in span: RawSpan,
        _ range: Range<Int>,
        _ options: Query.TextOptions
    ) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(range.count)
        append(span, range, options, to: &result)
        return result
    }

    /// Appends all bytes of a range, folded.
    static func append(
        _ span: RawSpan,
        _ range: Range<Int>,
        _ options: Query.TextOptions,
        to result: inout [UInt8]
    ) {
        var folded = FoldedText(range, options)
        while let byte = folded.next(in: span) { result.append(byte) }
    }
}

/// The folded form of one character.
private struct FoldedCharacter {
    private(set) var bytes: UInt128 = 0
    private var bitCount = 0

    /// Without accents first, so that ᾴ becomes α and not αι.
    mutating func fold(_ scalar: UInt32, _ options: Query.TextOptions) {
        guard options.contains(.diacriticInsensitive) else { return lowercase(scalar, options) }
        guard !Accents.isMark(scalar) else { return }
        guard (0xAC00...0xD7A3).contains(scalar) else {
            return lowercase(Accents.base(of: scalar), options)
        }
        // Korean syllables are decomposed by computation.
        let index = scalar - 0xAC00
        append(0x1100 + index / 588)
        append(0x1161 + index % 588 / 28)
        if index % 28 > 0 { append(0x11A7 + index % 28) }
    }

    /// Lower case of upper case is close enough to case folding: ς and Σ become σ, ß becomes ss.
    private mutating func lowercase(_ scalar: UInt32, _ options: Query.TextOptions) {
        // The dotless ı is another letter than i, though both have the upper case I.
        // The capital sharp s is its own upper case, and folds as the small one does.
        guard options.contains(.caseInsensitive), scalar != 0x131,
            let character = Unicode.Scalar(scalar == 0x1E9E ? 0xDF : scalar)
        else { return append(scalar) }
        for upper in character.properties.uppercaseMapping.unicodeScalars {
            for lower in upper.properties.lowercaseMapping.unicodeScalars {
                if options.contains(.diacriticInsensitive) {
                    guard !Accents.isMark(lower.value) else { continue }
                    append(Accents.base(of: lower.value))
                } else {
                    append(lower.value)
                }
            }
        }
    }

    private mutating func append(_ scalar: UInt32) {
        switch scalar {
        case ..<0x80: append(byte: scalar)
        case ..<0x800:
            append(byte: 0xC0 | scalar >> 6)
            append(byte: 0x80 | scalar & 0x3F)
        case ..<0x1_0000:
            append(byte: 0xE0 | scalar >> 12)
            append(byte: 0x80 | scalar >> 6 & 0x3F)
            append(byte: 0x80 | scalar & 0x3F)
        default:
            append(byte: 0xF0 | scalar >> 18)
            append(byte: 0x80 | scalar >> 12 & 0x3F)
            append(byte: 0x80 | scalar >> 6 & 0x3F)
            append(byte: 0x80 | scalar & 0x3F)
        }
    }

    private mutating func append(byte: UInt32) {
        bytes |= UInt128(byte & 0xFF) << UInt128(bitCount)
        bitCount += 8
    }
}

extension UTF8Text {
    /// Returns the character at an offset, and advances the offset; U+FFFD for an invalid byte.
    static func scalar(in bytes: RawSpan, at offset: inout Int, end: Int) -> UInt32 {
        let lead = bytes.byte(at: offset)
        offset += 1
        let length: Int
        var value: UInt32
        switch lead {
        case ..<0x80: return UInt32(lead)
        case 0xC2...0xDF:
            length = 1
            value = UInt32(lead & 0x1F)
        case 0xE0...0xEF:
            length = 2
            value = UInt32(lead & 0x0F)
        case 0xF0...0xF4:
            length = 3
            value = UInt32(lead & 0x07)
        default: return 0xFFFD
        }
        // After an error only the first byte is consumed, so the characters after it are still
        // read.
        guard end - offset >= length else { return 0xFFFD }
        for index in 0..<length {
            let byte = bytes.byte(at: offset + index)
            guard byte & 0xC0 == 0x80 else { return 0xFFFD }
            value = value << 6 | UInt32(byte & 0x3F)
        }
        offset += length
        return value
    }
}
