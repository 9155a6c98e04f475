// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Decoding of paths and queries.
package enum PercentCoding {
    /// Decodes `%` and two hexadecimal digits; a plus sign stays a plus sign.
    package static func decoded(_ text: Substring) -> String {
        decoded(text.utf8)
    }

    private static func decoded(_ text: Substring.UTF8View) -> String {
        guard text.contains(UInt8(ascii: "%")) else { return String(Substring(text)) }
        var bytes: [UInt8] = []
        var rest = text[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), let high = rest.first.flatMap(digit),
                let low = rest.dropFirst().first.flatMap(digit)
            {
                bytes.append(high << 4 | low)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the value of a hexadecimal digit; `nil` for any other byte, such as a sign.
    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        default: nil
        }
    }

    /// Returns the members of a query; of a duplicate member the first counts.
    package static func query(_ text: Substring) -> [String: String] {
        var query: [String: String] = [:]
        // As bytes: a query of tokens is long, and grouping it into characters is slow.
        for pair in text.utf8.split(separator: UInt8(ascii: "&")) {
            let end = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
            let name = decoded(pair[..<end])
            if query[name] == nil { query[name] = decoded(pair[end...].dropFirst()) }
        }
        return query
    }

    /// Returns the members of a form, in which a plus sign is a space.
    package static func form(_ bytes: some Sequence<UInt8>) -> [String: String] {
        // Before decoding, so that an encoded plus sign stays one. 43 is a plus sign, 32 a space.
        let text = String(decoding: Array(bytes).map { $0 == 43 ? 32 : $0 }, as: UTF8.self)
        return query(Substring(text))
    }

    /// Encodes everything but letters, digits, and `-._~`.
    package static func encoded(_ text: String) -> String {
        var encoded = ""
        for byte in text.utf8 {
            if isUnreserved(byte) {
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                encoded += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
        return encoded
    }

    /// Returns true if a byte is a letter, a digit, or one of `-._~`.
    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"), 45, 46, 95, 126:
            true
        default: false
        }
    }
}
