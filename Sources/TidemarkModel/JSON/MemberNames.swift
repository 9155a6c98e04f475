// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Which of the members that an object may have it has had so far, to refuse one that comes twice.
struct MemberNames {
    private var seen: UInt32 = 0

    /// Whether a name is a certain word, noting it under a number of its own below 32.
    ///
    /// Refuses a member that was there before.
    mutating func take(
        _ number: UInt32,
        _ word: StaticString,
        _ key: JSONText,
        in reader: JSONReader
    ) throws(JSONError) -> Bool {
        guard reader.isWord(key, word) else { return false }
        guard seen & 1 << number == 0 else {
            throw JSONError(
                "The member \"\(word)\" comes twice; keep one of them.",
                at: key.range.lowerBound
            )
        }
        seen |= 1 << number
        return true
    }
}

extension JSONReader {
    /// Refuses a member that an object of this kind does not have; a request of CloudKit Web Services may have any.
    mutating func passUnknown(_ key: JSONText, _ known: String) throws(JSONError) {
        guard webForm == nil else { return try skip() }
        throw unknownMember(key, known)
    }

    /// The refusal of a member that an object of this kind does not have.
    func unknownMember(_ key: JSONText, _ known: String) -> JSONError {
        JSONError(
            "There is no member \"\(copy(key))\" here; the members are \(known).",
            at: key.range.lowerBound
        )
    }
}
