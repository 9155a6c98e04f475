// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Decoding of paths and queries.
package enum PercentCoding {
    /// Decodes `%` and two hexadecimal digits; a plus sign stays a plus sign.
    package static func decoded(_ text: Substring) -> String {
        var text = text
        return text.withUTF8 { decoded($0) }
    }

    fileprivate static func decoded(_ text: UnsafeBufferPointer<UInt8>) -> String {
        guard text.contains(UInt8(ascii: "%")) else { return String(decoding: text, as: UTF8.self) }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var index = 0
        while index < text.count {
            if text[index] == UInt8(ascii: "%"), index + 2 < text.count,
                let high = digit(text[index + 1]), let low = digit(text[index + 2])
            {
                bytes.append(high << 4 | low)
                index += 3
            } else {
                bytes.append(text[index])
                index += 1
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

    /// Returns the parts of the path in a request's target, and the members of its query, decoded.
    ///
    /// Empty parts are dropped. O(target).
    package static func split(target: String) -> (path: [String], query: QueryMembers) {
        var target = target
        // As contiguous bytes: a target of tokens is long, and every request has one.
        return target.withUTF8 { bytes in
            let end = bytes.firstIndex(of: UInt8(ascii: "?")) ?? bytes.count
            var path: [String] = []
            path.reserveCapacity(8)
            // Split first, decode second: `%2F` in the name of a container does not end its part.
            pieces(of: part(bytes, 0..<end), between: UInt8(ascii: "/")) {
                path.append(decoded($0))
            }
            return (path, QueryMembers(part(bytes, min(end + 1, bytes.count)..<bytes.count)))
        }
    }

    /// Passes each piece between separators to a closure, without the empty ones.
    fileprivate static func pieces(
        of text: UnsafeBufferPointer<UInt8>,
        between separator: UInt8,
        _ pass: (UnsafeBufferPointer<UInt8>) -> Void
    ) {
        var start = 0
        for index in text.indices where text[index] == separator {
            if index > start { pass(part(text, start..<index)) }
            start = index + 1
        }
        if start < text.count { pass(part(text, start..<text.count)) }
    }

    fileprivate static func part(
        _ text: UnsafeBufferPointer<UInt8>,
        _ range: Range<Int>
    ) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(rebasing: text[range])
    }

    /// Returns the members of a form, in which a plus sign is a space.
    package static func form(_ bytes: some Sequence<UInt8>) -> QueryMembers {
        // Before decoding, so that an encoded plus sign stays one. 43 is a plus sign, 32 a space.
        Array(bytes).map { $0 == 43 ? 32 : $0 }.withUnsafeBufferPointer { QueryMembers($0) }
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

/// The members of a query or a form, decoded; of a duplicate member the first counts.
///
/// A list, because a request has a few of them: comparing their names takes less than hashing them.
package struct QueryMembers: Sendable {
    private var members: [(name: String, value: String)] = []

    /// Creates a query without members.
    package init() {}

    /// Reads the text of a query.
    package init(_ text: String) {
        var text = text
        self = text.withUTF8 { QueryMembers($0) }
    }

    init(_ text: UnsafeBufferPointer<UInt8>) {
        PercentCoding.pieces(of: text, between: UInt8(ascii: "&")) { pair in
            let end = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.count
            let name = PercentCoding.decoded(PercentCoding.part(pair, 0..<end))
            let value = PercentCoding.part(pair, min(end + 1, pair.count)..<pair.count)
            members.append((name, PercentCoding.decoded(value)))
        }
    }

    /// Returns the value of a member; `nil` if there is none of that name.
    ///
    /// O(members).
    package subscript(name: String) -> String? {
        members.first { $0.name == name }?.value
    }
}
