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

/// A member's name in place, to be compared with words: a `switch` over them makes no string.
///
/// Valid for as long as the reader's bytes.
package struct MemberName {
    private let text: JSONText
    private let reader: JSONReader

    /// Wraps a name that was just read; `bytes` are those of its reader.
    package init(_ text: JSONText, in reader: JSONReader) {
        self.text = text
        // Without the form of fields, which would be retained.
        self.reader = JSONReader(reader.bytes)
    }

    /// The name as text.
    package var string: String { reader.copy(text) }

    /// One bit, which differs between most names of one object.
    ///
    /// All bits for a name with escapes, because a name has several spellings with them.
    package var mark: UInt64 {
        guard !text.hasEscapes else { return .max }
        var hash = UInt64(text.range.count)
        for byte in reader.bytes[text.range].suffix(4) { hash = hash &* 31 &+ UInt64(byte) }
        return 1 << (hash % 64)
    }

    /// Returns true if the name is a word.
    package static func == (name: MemberName, word: StaticString) -> Bool {
        name.reader.isWord(name.text, word)
    }

    /// Returns true if the name is the word of a case.
    package static func ~= (word: StaticString, name: MemberName) -> Bool { name == word }
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
