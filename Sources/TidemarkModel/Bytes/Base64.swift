// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Base64 in the two alphabets that formats here use (RFC 4648, sections 4 and 5).
package enum Base64 {
    /// The alphabet, and the padding of the text to a multiple of four characters.
    package enum Variant: Sendable {
        /// `+` and `/`, padded with `=`.
        case standard
        /// `-` and `_`, never padded.
        case urlWithoutPadding
    }

    /// Appends the text of some bytes.
    ///
    /// O(bytes).
    package static func encode(
        _ bytes: UnsafeBufferPointer<UInt8>,
        _ variant: Variant,
        into text: inout [UInt8]
    ) {
        let digits = variant == .standard ? standardDigits : urlDigits
        let count = bytes.count / 3 * 4 + [0, 2, 3][bytes.count % 3]
        text.append(addingCapacity: count) { text in
            var index = 0
            while index + 3 <= bytes.count {
                let group =
                    UInt32(bytes[index]) << 16 | UInt32(bytes[index + 1]) << 8
                    | UInt32(bytes[index + 2])
                for shift: UInt32 in [18, 12, 6, 0] {
                    text.append(digits[Int(group >> shift & 63)])
                }
                index += 3
            }
            guard index < bytes.count else { return }
            let last = index + 1 < bytes.count ? bytes[index + 1] : 0
            let group = UInt32(bytes[index]) << 16 | UInt32(last) << 8
            text.append(digits[Int(group >> 18)])
            text.append(digits[Int(group >> 12 & 63)])
            if index + 1 < bytes.count { text.append(digits[Int(group >> 6 & 63)]) }
        }
        if variant == .standard, !bytes.count.isMultiple(of: 3) {
            text.append(contentsOf: repeatElement(61, count: 3 - bytes.count % 3))
        }
    }

    private static let standardDigits = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8
    )
    private static let urlDigits = Array(standardDigits.dropLast(2)) + Array("-_".utf8)

    /// Appends the bytes of a text; `false` if the text is not exactly the encoding of some bytes.
    ///
    /// Examples are a foreign digit, missing or surplus padding, and bits beyond the last byte.
    /// Bytes that were appended before the error was found stay. O(text).
    package static func decode(
        _ text: some Collection<UInt8>,
        _ variant: Variant,
        into bytes: inout [UInt8]
    ) -> Bool {
        // Other modules get no copy of this function for their types of text, and reading one
        // element after another through the protocol costs hundreds of instructions for each.
        text.withContiguousStorageIfAvailable { decode($0, variant, into: &bytes) }
            ?? Array(text).withUnsafeBufferPointer { decode($0, variant, into: &bytes) }
    }

    /// Returns the text of some bytes in the alphabet of URLs, without padding.
    static func urlText(of bytes: ArraySlice<UInt8>) -> String {
        var text: [UInt8] = []
        bytes.withUnsafeBufferPointer { encode($0, .urlWithoutPadding, into: &text) }
        return String(decoding: text, as: UTF8.self)
    }

    /// Returns the bytes of a text in the alphabet of URLs; `nil` if it is not exactly the encoding
    /// of some bytes.
    static func bytes(ofURLText text: some Collection<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        return decode(text, .urlWithoutPadding, into: &bytes) ? bytes : nil
    }

    private static func decode(
        _ text: UnsafeBufferPointer<UInt8>,
        _ variant: Variant,
        into bytes: inout [UInt8]
    ) -> Bool {
        bytes.reserveCapacity(bytes.count + text.count / 4 * 3 + 2)
        var group: UInt32 = 0
        var digits = 0
        var padding = 0
        for character in text {
            if character == 61 {
                padding += 1
                continue
            }
            // A digit after padding is refused: the text would be two encodings in a row.
            guard padding == 0, let value = value(of: character, variant) else { return false }
            group = group << 6 | value
            digits += 1
            guard digits.isMultiple(of: 4) else { continue }
            bytes.append(UInt8(truncatingIfNeeded: group >> 16))
            bytes.append(UInt8(truncatingIfNeeded: group >> 8))
            bytes.append(UInt8(truncatingIfNeeded: group))
            group = 0
        }
        // The number of digits is known only now, so the padding could not be checked before.
        let rest = digits % 4
        guard padding == (variant == .standard ? (4 - rest) % 4 : 0) else { return false }
        switch rest {
        case 0:
            return true
        // Bits beyond the last byte must be zero (RFC 4648, section 3.5). Otherwise several texts
        // would decode to the same bytes.
        case 2 where group & 0xF == 0:
            bytes.append(UInt8(truncatingIfNeeded: group >> 4))
            return true
        case 3 where group & 0x3 == 0:
            bytes.append(UInt8(truncatingIfNeeded: group >> 10))
            bytes.append(UInt8(truncatingIfNeeded: group >> 2))
            return true
        default:
            return false
        }
    }

    private static func value(of character: UInt8, _ variant: Variant) -> UInt32? {
        switch character {
        case 65...90: UInt32(character) - 65
        case 97...122: UInt32(character) - 97 + 26
        case 48...57: UInt32(character) - 48 + 52
        case 43 where variant == .standard, 45 where variant == .urlWithoutPadding: 62
        case 47 where variant == .standard, 95 where variant == .urlWithoutPadding: 63
        default: nil
        }
    }
}
