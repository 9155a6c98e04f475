// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Checks that bytes are UTF-8 (RFC 3629): no overlong forms, no surrogates, nothing past U+10FFFF.
package enum UTF8Text {
    /// Checks some bytes.
    ///
    /// O(bytes), eight at a time through ASCII.
    package static func isValid(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        invalidOffset(in: bytes) == nil
    }

    /// Returns the offset of the first sequence that is not UTF-8; `nil` if there is none.
    package static func invalidOffset(in bytes: UnsafeBufferPointer<UInt8>) -> Int? {
        let raw = UnsafeRawBufferPointer(bytes)
        let count = bytes.count
        var index = 0
        while index < count {
            while index + 8 <= count {
                let word = raw.loadUnaligned(fromByteOffset: index, as: UInt64.self)
                if word & 0x8080_8080_8080_8080 != 0 { break }
                index += 8
            }
            while index < count, bytes[index] < 0x80 { index += 1 }
            guard index < count else { return nil }
            let length = sequenceLength(bytes, at: index)
            guard length > 0 else { return index }
            index += length
        }
        return nil
    }

    /// Returns the length of the well-formed sequence at an index; zero if there is none.
    static func sequenceLength(_ bytes: UnsafeBufferPointer<UInt8>, at index: Int) -> Int {
        let lead = bytes[index]
        if lead < 0x80 { return 1 }
        let left = bytes.count - index
        func continues(_ distance: Int) -> Bool { bytes[index + distance] & 0xC0 == 0x80 }
        // No case takes 0xC0 and 0xC1, which would begin overlong forms, or bytes from 0xF5 on,
        // which would begin characters past U+10FFFF.
        switch lead {
        case 0xC2...0xDF:
            return left >= 2 && continues(1) ? 2 : 0
        case 0xE0...0xEF:
            guard left >= 3, continues(1), continues(2) else { return 0 }
            let second = bytes[index + 1]
            // Below this bound the form is overlong; above the next one the character is a
            // surrogate.
            if lead == 0xE0, second < 0xA0 { return 0 }
            if lead == 0xED, second > 0x9F { return 0 }
            return 3
        case 0xF0...0xF4:
            guard left >= 4, continues(1), continues(2), continues(3) else { return 0 }
            let second = bytes[index + 1]
            // Below this bound the form is overlong; above the next one the character is past
            // U+10FFFF.
            if lead == 0xF0, second < 0x90 { return 0 }
            if lead == 0xF4, second > 0x8F { return 0 }
            return 4
        default:
            return 0
        }
    }
}
