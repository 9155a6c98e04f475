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
        let high = random.next() & ~0xF000 | 0x4000
        let low = random.next() >> 2 | 1 << 63
        func digits(_ word: UInt64) -> String {
            let digits = String(word, radix: 16, uppercase: true)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }
        let text = Array(digits(high) + digits(low))
        let parts = [text[..<8], text[8..<12], text[12..<16], text[16..<20], text[20...]]
        return parts.map { String($0) }.joined(separator: "-")
    }
}
