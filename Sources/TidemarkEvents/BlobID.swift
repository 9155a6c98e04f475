// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// A blob's identity: the SHA-256 of its bytes.
package struct BlobID: Hashable, Sendable {
    /// The 32 bytes as four words, the first byte the most significant.
    private let words: InlineArray<4, UInt64>

    /// Bytes of a SHA-256.
    package static let byteCount = 32

    /// Wraps a checksum; `nil` if it does not have 32 bytes.
    package init?(_ checksum: some Collection<UInt8>) {
        guard checksum.count == Self.byteCount else { return nil }
        self.init(sha256: checksum)
    }

    /// Wraps the result of a SHA-256.
    package init(sha256 checksum: some Sequence<UInt8>) {
        var words = InlineArray<4, UInt64>(repeating: 0)
        for (index, byte) in checksum.prefix(Self.byteCount).enumerated() {
            words[index / 8] = words[index / 8] << 8 | UInt64(byte)
        }
        self.words = words
    }

    /// Reads 64 lower-case hexadecimal digits; `nil` for anything else.
    package init?(hexadecimal text: String) {
        var checksum: [UInt8] = []
        var high: UInt8?
        for digit in text.utf8 {
            guard let value = Self.value(ofDigit: digit) else { return nil }
            if let first = high {
                checksum.append(first << 4 | value)
                high = nil
            } else {
                high = value
            }
        }
        // An odd number of digits. `init(_:)` rejects any other wrong length.
        guard high == nil else { return nil }
        self.init(checksum)
    }

    /// The 32 bytes.
    package var checksum: [UInt8] {
        (0..<Self.byteCount).map { UInt8(truncatingIfNeeded: words[$0 / 8] >> (56 - 8 * ($0 % 8))) }
    }

    /// Returns true if two ids are equal.
    package static func == (lhs: BlobID, rhs: BlobID) -> Bool {
        // Written out: `InlineArray` is not `Equatable`.
        lhs.words[0] == rhs.words[0] && lhs.words[1] == rhs.words[1]
            && lhs.words[2] == rhs.words[2] && lhs.words[3] == rhs.words[3]
    }

    /// Hashes the first word: all bits of a checksum are equally random.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(words[0])
    }

    private static func value(ofDigit digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}

extension BlobID: CustomStringConvertible {
    /// 64 lower-case hexadecimal digits, as `sha256sum` prints them.
    package var description: String {
        let digits = Array("0123456789abcdef".utf8)
        let text = checksum.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        return String(decoding: text, as: UTF8.self)
    }
}
