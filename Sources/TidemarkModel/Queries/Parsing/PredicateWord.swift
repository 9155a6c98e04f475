// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The reserved words of predicates, in any case; a field with such a name is written with `#`.
enum PredicateWord: String, CaseIterable {
    case and = "AND"
    case or = "OR"
    case not = "NOT"
    case any = "ANY"
    case someOf = "SOME"
    case all = "ALL"
    case noneOf = "NONE"
    case `in` = "IN"
    case between = "BETWEEN"
    case contains = "CONTAINS"
    case beginsWith = "BEGINSWITH"
    case endsWith = "ENDSWITH"
    case like = "LIKE"
    case matches = "MATCHES"
    case tokenMatches = "TOKENMATCHES"
    case null = "NULL"
    case `nil` = "NIL"
    case yes = "YES"
    case no = "NO"
    case `true` = "TRUE"
    case `false` = "FALSE"
    case truePredicate = "TRUEPREDICATE"
    case falsePredicate = "FALSEPREDICATE"
    case itself = "SELF"
    case allTokens = "ALLTOKENS"

    /// Creates the word of a text, ignoring case; `nil` for any other text.
    init?(_ text: String) {
        // The longest word, FALSEPREDICATE, has 14 letters. Names of fields are usually rejected
        // here, before a copy in upper case is made.
        guard text.utf8.count <= 14, text.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
        self.init(rawValue: text.uppercased())
    }
}

/// The error of a text that is not a predicate, with its place.
struct PredicateError: Error {
    /// The cause and the remedy, as a sentence.
    let message: String
    /// The byte of the text at which it is.
    let offset: Int
    /// True if the text is not a predicate at all, false if it uses an unsupported construct.
    let isSyntax: Bool

    init(_ message: String, at offset: Int, isSyntax: Bool = false) {
        self.message = message
        self.offset = offset
        self.isSyntax = isSyntax
    }
}

extension SyncError {
    /// Returns the error for a predicate's text that cannot be parsed or uses an unsupported
    /// construct.
    static func invalidPredicate(_ error: PredicateError, in text: [UInt8]) -> SyncError {
        let before = String(decoding: text[..<min(error.offset, text.count)], as: UTF8.self)
        var shown = String(decoding: text, as: UTF8.self)
        if shown.count > 200 { shown = shown.prefix(200) + "…" }
        return SyncError(
            .invalidArguments,
            "The predicate \"\(shown)\" was rejected at character \(before.count + 1): "
                + error.message,
            remedy: predicateRemedy
        )
    }

    /// Returns the error for a predicate that uses an unsupported construct.
    package static func invalidPredicate(
        _ predicate: Query.Predicate,
        _ problem: String
    ) -> SyncError {
        var shown = predicate.description
        if shown.count > 200 { shown = shown.prefix(200) + "…" }
        return SyncError(
            .invalidArguments,
            "The predicate \"\(shown)\" was rejected: \(problem)",
            remedy: predicateRemedy
        )
    }

    private static let predicateRemedy =
        "Change the predicate; Docs/queries.md lists what predicates can contain."
}
