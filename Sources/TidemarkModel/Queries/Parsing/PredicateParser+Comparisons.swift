// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension PredicateParser {
    /// An operator, its options and its offset.
    private struct Operator {
        var relation: Query.Relation
        var options: Query.TextOptions = []
        /// True for `TOKENMATCHES`, which searches for words.
        var isWordSearch = false
        var start: Int
    }

    /// Reads `side operator side`, with `ANY`, `ALL` or `NONE` before it.
    mutating func comparison() throws(PredicateError) -> Query.Predicate {
        let start = tokenStart
        let modifier = word
        switch modifier {
        case .any, .someOf, .all, .noneOf:
            try advance()
        default:
            let left = try side()
            let sign = try operation()
            let rightStart = tokenStart
            let right = try side()
            let predicate = try Self.compare(left, sign, right, at: start, rightStart)
            return try predicate.checked(at: start)
        }
        let left = try side()
        let sign = try operation()
        let right = try side()
        let predicate = try Self.compareMembers(left, sign, right, all: modifier == .all, at: start)
        return try (modifier == .noneOf ? .not(predicate) : predicate).checked(at: start)
    }

    private mutating func operation() throws(PredicateError) -> Operator {
        var sign = Operator(relation: .equal, start: tokenStart)
        switch token {
        case .symbol("=="): break
        case .symbol("!="): sign.relation = .notEqual
        case .symbol("<"): sign.relation = .lessThan
        case .symbol("<="): sign.relation = .lessThanOrEqual
        case .symbol(">"): sign.relation = .greaterThan
        case .symbol(">="): sign.relation = .greaterThanOrEqual
        default:
            switch word {
            case .in: sign.relation = .in
            case .between: sign.relation = .between
            case .contains: sign.relation = .contains
            case .beginsWith: sign.relation = .beginsWith
            case .tokenMatches: sign.isWordSearch = true
            case .like, .matches, .endsWith: throw unsupportedOperator()
            case .not:
                throw PredicateError(
                    "Write NOT before the whole comparison: NOT (field IN {…}).",
                    at: tokenStart
                )
            default: throw unexpected("an operator such as == or IN")
            }
        }
        try advance()
        sign.options = try options()
        return sign
    }

    private func unsupportedOperator() -> PredicateError {
        let name = word?.rawValue ?? ""
        return PredicateError(
            "\(name) is not supported, as it is not in CloudKit. Use BEGINSWITH for how a text "
                + "begins, or self CONTAINS for words in it.",
            at: tokenStart
        )
    }

    /// `[cd]` and the like; `l`, the user's locale, and `n`, exact bytes, change nothing.
    private mutating func options() throws(PredicateError) -> Query.TextOptions {
        guard try skip("[") else { return [] }
        guard case .word(let letters) = token else { throw unexpected("options such as cd") }
        var options: Query.TextOptions = []
        for letter in letters {
            switch letter {
            case "c", "C": options.insert(.caseInsensitive)
            case "d", "D": options.insert(.diacriticInsensitive)
            case "l", "L", "n", "N": break
            default: throw unexpected("options such as cd")
            }
        }
        try advance()
        try expect("]")
        return options
    }

    private static func compare(
        _ left: Side,
        _ sign: Operator,
        _ right: Side,
        at start: Int,
        _ rightStart: Int
    ) throws(PredicateError) -> Query.Predicate {
        switch (left, right) {
        case (.distance(let key, let place), .operand(.value(let value))):
            return try distance(key, place, sign, sign.relation, value)
        // `DistanceTest` has the field on its left side, so the relation is mirrored.
        case (.operand(.value(let value)), .distance(let key, let place)):
            return try distance(key, place, sign, sign.relation.mirrored, value)
        case (.key(let key), .operand(.value(.string(let text)))) where sign.isWordSearch:
            return .words(Query.WordSearch(text, in: key))
        case (.allTokens, .operand(.value(.string(let text)))) where sign.isWordSearch:
            return .words(Query.WordSearch(text))
        case (.itself, .operand(.value(.string(let text)))) where sign.relation == .contains:
            return .words(Query.WordSearch(text))
        case (.itself, _), (_, .itself):
            throw PredicateError(
                "SELF is supported in one form alone: self CONTAINS 'some words'.",
                at: start
            )
        case (.allTokens, _), (_, .allTokens), (.words, _), (_, .words),
            _ where sign.isWordSearch:
            throw PredicateError(
                "Words are searched for in these forms: self CONTAINS 'some words', field "
                    + "TOKENMATCHES[cdl] 'some words', ALL tokenize('some words', 'Cdl') IN "
                    + "allTokens.",
                at: start
            )
        case (.key(let key), .operand(let operand)):
            return .compare(key, sign.relation, operand, options: sign.options)
        case (.operand(let operand), .key(let key)):
            // The field is on the right, so the relation is read from the other side.
            guard let relation = sign.relation.reversed else {
                throw PredicateError("Expected a field before \(sign.relation.text).", at: start)
            }
            return .compare(key, relation, operand, options: sign.options)
        case (.key, .key):
            throw PredicateError(
                "Two fields cannot be compared. If this is a text, put it into quotation marks.",
                at: rightStart
            )
        default:
            throw PredicateError(
                "Expected a field on one side of \(sign.relation.text). Write %K for a key that "
                    + "is an argument.",
                at: start
            )
        }
    }

    private static func distance(
        _ key: Query.Key,
        _ place: Location,
        _ sign: Operator,
        _ relation: Query.Relation,
        _ value: FieldValue
    ) throws(PredicateError) -> Query.Predicate {
        guard let radius = value.number else {
            throw PredicateError("Expected a distance in metres.", at: sign.start)
        }
        return .distance(Query.DistanceTest(key, from: place, relation, radius))
    }

    /// Returns the comparison of a list's elements for `ANY` or `ALL`.
    private static func compareMembers(
        _ left: Side,
        _ sign: Operator,
        _ right: Side,
        all: Bool,
        at start: Int
    ) throws(PredicateError) -> Query.Predicate {
        switch (left, sign.relation, right) {
        case (.words(let text), .in, .allTokens):
            return .words(Query.WordSearch(text, requiresAll: all))
        case (.words(let text), .in, .key(let key)):
            return .words(Query.WordSearch(text, in: key, requiresAll: all))
        case (.operand(let list), .in, .key(let key)):
            let relation = all ? Query.Relation.containsAll : .containsAny
            return .compare(key, relation, list, options: sign.options)
        // TOKENMATCHES leaves the relation at `.equal`, so this case must exclude it.
        case (.key(let key), .equal, .operand(let operand)) where !all && !sign.isWordSearch,
            (.key(let key), .contains, .operand(let operand)) where !all:
            return .compare(key, .contains, operand, options: sign.options)
        case (.key(let key), .in, .operand(let operand)) where !all:
            return .compare(key, .containsAny, operand, options: sign.options)
        case (.key(let key), .beginsWith, .operand(let operand)) where !all:
            return .compare(key, .memberBeginsWith, operand, options: sign.options)
        default:
            throw PredicateError(
                "ANY stands before field == value, field IN {…}, field BEGINSWITH text, {…} IN "
                    + "field and tokenize(…) IN allTokens; ALL before the last two.",
                at: start
            )
        }
    }
}

extension Query.Predicate {
    /// Returns the predicate itself if it makes sense; throws otherwise.
    fileprivate func checked(at offset: Int) throws(PredicateError) -> Query.Predicate {
        if let problem { throw PredicateError(problem, at: offset) }
        return self
    }
}

extension Query.Relation {
    /// The relation with both sides exchanged; `nil` if there is none.
    ///
    /// `value IN field` tests if a list contains a value.
    fileprivate var reversed: Query.Relation? {
        switch self {
        case .equal, .notEqual, .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual:
            mirrored
        case .in: .contains
        case .contains: .in
        default: nil
        }
    }

    fileprivate var mirrored: Query.Relation {
        switch self {
        case .lessThan: .greaterThan
        case .lessThanOrEqual: .greaterThanOrEqual
        case .greaterThan: .lessThan
        case .greaterThanOrEqual: .lessThanOrEqual
        default: self
        }
    }
}
