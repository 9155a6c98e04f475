// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Unique names.
package enum UniqueName {
    /// 122 random bits in the form of a UUID of version 4, in capital letters.
    package static func make() -> String {
        var random = SystemRandomNumberGenerator()
        return make(using: &random)
    }

    /// Returns the name of a new item that its request does not name.
    ///
    /// A repetition under the same request id gets the same name. Otherwise its content would be
    /// another, and the store rejects other content under an id.
    package static func make(forItem index: Int, of caller: Caller) -> String {
        guard let id = caller.requestID else { return make() }
        // The user and the database, because an id is unique only for both of them.
        let text = "\(id) \(index) \(caller.user?.userRecordName ?? "") \(caller.database)"
        return name(hash(text.utf8), hash(text.utf8.reversed()))
    }

    /// Returns a unique name from a source of randomness.
    package static func make(using random: inout some RandomNumberGenerator) -> String {
        name(random.next(), random.next())
    }

    /// FNV-1a, which is the same in every process.
    ///
    /// Nothing depends on names that cannot be guessed: a client may choose any name.
    private static func hash(_ bytes: some Sequence<UInt8>) -> UInt64 {
        bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }

    private static func name(_ first: UInt64, _ second: UInt64) -> String {
        // Version 4 in the high word, and the variant of RFC 9562 in the two top bits of the low
        // word.
        let high = first & ~0xF000 | 0x4000
        let low = second >> 2 | 1 << 63
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
