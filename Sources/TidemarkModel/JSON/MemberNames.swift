// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The members that were read from an object so far, to refuse duplicates.
struct MemberNames {
    private var seen: UInt32 = 0

    /// Returns true if a name equals a word, and records the word under its number, below 32.
    ///
    /// Refuses a member that was read before.
    mutating func take(
        _ number: UInt32,
        _ word: StaticString,
        _ key: JSONText,
        in reader: JSONReader
    ) throws(JSONError) -> Bool {
        guard reader.isWord(key, word) else { return false }
        guard seen & 1 << number == 0 else {
            throw JSONError(
                "The member \"\(word)\" appears twice; keep one of them.",
                at: key.range.lowerBound
            )
        }
        seen |= 1 << number
        return true
    }
}

extension JSONReader {
    /// Refuses a member that an object of this kind does not have; a request of CloudKit Web
    /// Services may have any.
    mutating func passUnknown(_ key: JSONText, _ known: String) throws(JSONError) {
        guard webForm == nil else { return try skip() }
        throw unknownMember(key, known)
    }

    /// Returns the refusal of a member that an object of this kind does not have.
    func unknownMember(_ key: JSONText, _ known: String) -> JSONError {
        JSONError(
            "There is no member \"\(copy(key))\" here; the members are \(known).",
            at: key.range.lowerBound
        )
    }
}
