// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The names of the members that an object has had so far, to refuse one that comes twice.
///
/// For objects with a few members that are known beforehand: a range for each, compared as bytes.
struct MemberNames {
    private var seen: [JSONText] = []

    /// Notes a name; refuses it if it was there before.
    mutating func note(_ key: JSONText, in reader: JSONReader) throws(JSONError) {
        for earlier in seen where reader.isSame(earlier, key) {
            throw JSONError(
                "The member \"\(reader.copy(key))\" comes twice; keep one of them.",
                at: key.range.lowerBound
            )
        }
        seen.append(key)
    }
}

extension JSONReader {
    /// Whether two strings that were read before are the same text.
    func isSame(_ first: JSONText, _ second: JSONText) -> Bool {
        guard first.hasEscapes || second.hasEscapes else {
            return first.range.count == second.range.count
                && bytes[first.range].elementsEqual(bytes[second.range])
        }
        return Name(copy(first)) == Name(copy(second))
    }

    /// Refuses a member that an object of this kind does not have.
    func unknownMember(_ key: JSONText, _ known: String) -> JSONError {
        JSONError(
            "There is no member \"\(copy(key))\" here; the members are \(known).",
            at: key.range.lowerBound
        )
    }
}
