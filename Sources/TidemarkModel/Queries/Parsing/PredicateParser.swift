// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension Query.Predicate {
    /// The limits of a predicate's text: its bytes, and the brackets and `NOT`s open at one time.
    package static let textByteCountLimit = 100_000
    package static let depthLimit = 64
    /// The depth limit for a text that ``description`` wrote: twice the levels of a query, because
    /// a `NOT` precedes a bracket.
    private static let writtenDepthLimit = 600

    /// Parses a predicate in the language of `NSPredicate`.
    ///
    /// The language is CloudKit's subset with these additions: `OR`, `NOT`, `NONE`, `nil` and
    /// options such as `==[cd]`. `%@`, `%d`, `%f` and the other numeric placeholders take the next
    /// argument as a value; `%K` takes it as a key. Surplus arguments are ignored.
    ///
    /// Throws `invalidArguments` with the place, the expected token and the remedy, also for
    /// constructs that CloudKit does not have, such as `LIKE`. O(bytes).
    public init(format: String, _ arguments: [Query.Operand] = []) throws(SyncError) {
        do throws(FormatRefusal) {
            self = try Self.reading(format, arguments)
        } catch {
            throw error.error
        }
    }

    /// Parses a text that ``description`` wrote, of any length: it contains lists that were
    /// arguments.
    package init(written text: String) throws(SyncError) {
        let text = Array(text.utf8)
        do throws(PredicateError) {
            var parser = try PredicateParser(text, [], depthLimit: Self.writtenDepthLimit)
            self = try parser.wholePredicate()
        } catch {
            throw .invalidPredicate(error, in: text)
        }
    }

    /// Parses like ``init(format:_:)``, and reports for a refused text if it is a predicate.
    package static func reading(
        _ format: String,
        _ arguments: [Query.Operand] = []
    ) throws(FormatRefusal) -> Query.Predicate {
        let text = Array(format.utf8)
        do throws(PredicateError) {
            guard text.count <= textByteCountLimit else {
                throw PredicateError(
                    "It has \(text.count) bytes; at most \(textByteCountLimit) are allowed. "
                        + "Give long lists as arguments.",
                    at: 0
                )
            }
            var parser = try PredicateParser(text, arguments)
            return try parser.wholePredicate()
        } catch {
            throw FormatRefusal(
                error: .invalidPredicate(error, in: text),
                isSyntax: error.isSyntax
            )
        }
    }

    /// The error of a refused text.
    package struct FormatRefusal: Error {
        /// The error of a query with the text.
        package let error: SyncError
        /// True if the text is not a predicate at all, false if it uses an unsupported construct.
        package let isSyntax: Bool
    }
}

extension Query.SortDescriptor {
    /// Parses a text that ``description`` wrote.
    ///
    /// It is a key, or `distanceToLocation:fromLocation:(key, place)`, optionally followed by `ASC`
    /// or `DESC`. Throws `invalidArguments` with the place and the expected token.
    public init(text: String) throws(SyncError) {
        let bytes = Array(text.utf8)
        do throws(PredicateError) {
            var parser = try PredicateParser(bytes, [])
            self = try parser.wholeSortDescriptor()
        } catch {
            throw .invalidPredicate(error, in: bytes)
        }
    }
}

/// Reads predicates by recursive descent.
struct PredicateParser {
    private var lexer: PredicateLexer
    private var arguments: ArraySlice<Query.Operand>
    private var depth = 0
    private let depthLimit: Int
    private(set) var token = PredicateLexer.Token.end
    private(set) var tokenStart = 0

    init(
        _ text: [UInt8],
        _ arguments: [Query.Operand],
        depthLimit: Int = Query.Predicate.depthLimit
    ) throws(PredicateError) {
        lexer = PredicateLexer(text)
        self.depthLimit = depthLimit
        self.arguments = arguments[...]
        try advance()
    }

    mutating func wholePredicate() throws(PredicateError) -> Query.Predicate {
        let predicate = try disjunction()
        guard token == .end else { throw unexpected("AND, OR or the end") }
        return predicate
    }

    private mutating func disjunction() throws(PredicateError) -> Query.Predicate {
        let first = try conjunction()
        guard isWord(.or) else { return first }
        // A chain of one operator is one flat compound, so that its length does not count as depth.
        var parts = [first]
        while try skip(.or) { parts.append(try conjunction()) }
        return .or(parts)
    }

    private mutating func conjunction() throws(PredicateError) -> Query.Predicate {
        let first = try negation()
        guard isWord(.and) else { return first }
        var parts = [first]
        while try skip(.and) { parts.append(try negation()) }
        return .and(parts)
    }

    private mutating func negation() throws(PredicateError) -> Query.Predicate {
        if isWord(.not) {
            return try nested { parser throws(PredicateError) in
                try parser.advance()
                return .not(try parser.negation())
            }
        }
        if token == .symbol("(") { return try bracketed() }
        if try skip(.truePredicate) { return .always }
        if try skip(.falsePredicate) { return .never }
        return try comparison()
    }

    /// Reads a predicate in brackets, or a comparison whose left side is in brackets.
    private mutating func bracketed() throws(PredicateError) -> Query.Predicate {
        let start = self
        do throws(PredicateError) {
            return try nested { parser throws(PredicateError) in
                try parser.advance()
                let inner = try parser.disjunction()
                try parser.expect(")")
                return inner
            }
        } catch {
            let refusal = error
            // A side has no predicates in it, so this second attempt makes no further ones.
            self = start
            do throws(PredicateError) {
                return try comparison()
            } catch {
                // The attempt that read further is the one that was meant.
                throw error.offset > refusal.offset ? error : refusal
            }
        }
    }

    /// Reads a nested part: every recursion goes through this function.
    mutating func nested<Part>(
        _ read: (inout PredicateParser) throws(PredicateError) -> Part
    ) throws(PredicateError) -> Part {
        // Each level takes several calls. Without the limit, a text of brackets could exhaust the
        // stack and crash the process.
        guard depth < depthLimit else {
            throw PredicateError(
                "More than \(depthLimit) brackets and NOTs are open here.",
                at: tokenStart
            )
        }
        depth += 1
        defer { depth -= 1 }
        return try read(&self)
    }
}

// MARK: Tokens

extension PredicateParser {
    mutating func advance() throws(PredicateError) {
        tokenStart = lexer.skipSpace()
        token = try lexer.next()
    }

    var word: PredicateWord? {
        switch token {
        case .word(let text): PredicateWord(text)
        case .symbol("AND"): .and
        case .symbol("OR"): .or
        case .symbol("NOT"): .not
        default: nil
        }
    }

    func isWord(_ word: PredicateWord) -> Bool { self.word == word }

    mutating func skip(_ word: PredicateWord) throws(PredicateError) -> Bool {
        guard isWord(word) else { return false }
        try advance()
        return true
    }

    mutating func skip(_ symbol: String) throws(PredicateError) -> Bool {
        guard token == .symbol(symbol) else { return false }
        try advance()
        return true
    }

    mutating func expect(_ symbol: String) throws(PredicateError) {
        guard try skip(symbol) else { throw unexpected("'\(symbol)'") }
    }

    /// Returns the error for a token that was found in place of the expected one.
    func unexpected(_ expected: String) -> PredicateError {
        let found =
            switch token {
            case .word(let text): "'\(text)'"
            case .escapedName(let name): "the field '\(name)'"
            case .string: "a text"
            case .number: "a number"
            case .symbol(let symbol): "'\(symbol)'"
            case .placeholder(let letters): "'%\(letters)'"
            case .end: "the end"
            }
        return PredicateError(
            "Expected \(expected); found \(found).",
            at: tokenStart,
            isSyntax: !mayBeNSPredicate
        )
    }

    /// True if a predicate of Foundation's may have the token in this place.
    ///
    /// It is part of an index, of arithmetic or of the algebra of sets.
    private var mayBeNSPredicate: Bool {
        switch token {
        case .symbol("["), .number: true
        case .word(let text): ["UNION", "INTERSECT", "MINUS"].contains(text.uppercased())
        default: false
        }
    }

    /// Returns the argument of a placeholder.
    mutating func nextArgument(_ letters: String) throws(PredicateError) -> Query.Operand {
        guard let argument = arguments.popFirst() else {
            throw PredicateError(
                "%\(letters) stands for an argument, and there is none left.",
                at: tokenStart,
                isSyntax: true
            )
        }
        return argument
    }
}
