// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Unique names.
package enum UniqueName {
    /// 122 random bits in the form of a UUID of version 4, in capital letters.
    package static func make() -> String {
        var random = SystemRandomNumberGenerator()
        return make(using: &random)
    }

    /// Returns a unique name from a source of randomness.
    package static func make(using random: inout some RandomNumberGenerator) -> String {
        // Version 4 in the high word, and the variant of RFC 9562 in the two top bits of the low
        // word.
        let high = random.next() & ~0xF000 | 0x4000
        let low = random.next() >> 2 | 1 << 63
        return String(unsafeUninitializedCapacity: 36) { text in
            var place = 0
            for digit in 0..<32 {
                if [8, 12, 16, 20].contains(digit) {
                    text[place] = UInt8(ascii: "-")
                    place += 1
                }
                let word = digit < 16 ? high : low
                let value = UInt8(truncatingIfNeeded: word >> UInt64(60 - 4 * (digit % 16))) & 15
                text[place] =
                    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
                place += 1
            }
            return place
        }
    }
}
