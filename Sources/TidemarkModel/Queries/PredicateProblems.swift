// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension Query {
    /// Levels of *and*, *or* and *not* that a predicate may have; one that was read from text cannot
    /// have as many.
    private static let levelCountLimit = 256

    /// Refuses a predicate that is so deep that recursion would crash the process.
    ///
    /// Call it before any other access to the predicate.
    package func checkLevels() throws(SyncError) {
        guard predicate.hasMoreLevels(than: Self.levelCountLimit) else { return }
        throw SyncError(
            .limitExceeded,
            "The predicate has more than \(Self.levelCountLimit) levels of AND, OR and NOT. "
                + "Combine the parts of one AND or OR in a single list."
        )
    }
}

extension Query.Predicate {
    fileprivate func hasMoreLevels(than count: Int) -> Bool {
        // The count bounds this recursion too: it does not go deeper than the limit.
        switch self {
        case .always, .never, .comparison, .words, .distance: false
        case .and(let parts), .or(let parts):
            count == 0 || parts.contains { $0.hasMoreLevels(than: count - 1) }
        case .not(let part): count == 0 || part.hasMoreLevels(than: count - 1)
        }
    }

    /// The first error in the predicate that does not depend on any fields; `nil` if there is none.
    ///
    /// A whole sentence, with the remedy.
    package var problem: String? {
        switch self {
        case .always, .never: nil
        case .comparison(let comparison): comparison.problem
        case .words(let search): search.problem
        case .distance(let test): test.problem
        case .and(let parts), .or(let parts): parts.lazy.compactMap(\.problem).first
        case .not(let part): part.problem
        }
    }
}

extension Query.Comparison {
    fileprivate var problem: String? {
        switch operand {
        case .null, .now:
            guard options.isEmpty else { return optionsProblem("nil and now()") }
        case .value(let value):
            guard options.isEmpty || (value.type.element ?? value.type) == .string else {
                return optionsProblem(value.type.webName)
            }
        }
        switch operand {
        case .null:
            return relation == .equal || relation == .notEqual
                ? nil : "nil can be compared with == and != alone."
        case .now:
            switch relation {
            case .in, .between, .contains, .containsAll, .containsAny:
                return "now() can be compared with ==, !=, <, <=, > and >= alone."
            default: return problem(scalar: .timestamp)
            }
        case .value(let value):
            if let invalidity = value.invalidity { return "The value for \(key) \(invalidity)." }
            return problem(of: value)
        }
    }

    private func optionsProblem(_ found: String) -> String {
        "Options such as [cd] need a text; \(key) is compared with \(found)."
    }

    private func problem(of value: FieldValue) -> String? {
        switch relation {
        case .in, .containsAll, .containsAny, .between:
            guard let element = value.type.element else {
                return "\(relation.text) needs a list such as {1, 2}; found \(value.type.webName)."
            }
            if relation == .between, value.elements.count != 2 {
                return "BETWEEN needs a list of two values; found \(value.elements.count)."
            }
            // The type of a list without elements is not a choice of the client.
            return value.elements.isEmpty ? keyProblem(nil) : problem(scalar: element)
        case .equal, .notEqual:
            if let element = value.type.element {
                return typeProblem(element) ?? keyProblem(element)
            }
            return problem(scalar: value.type)
        default:
            guard value.type.element == nil else {
                return relation == .contains
                    ? "CONTAINS looks for one value. Write ALL {…} IN \(key) or ANY {…} IN \(key) "
                        + "for several."
                    : "\(relation.text) compares with one value; found a list."
            }
            return problem(scalar: value.type)
        }
    }

    private func problem(scalar type: FieldType) -> String? {
        if let problem = typeProblem(type) ?? keyProblem(type) { return problem }
        switch relation {
        case .beginsWith, .memberBeginsWith:
            return type == .string ? nil : "BEGINSWITH needs a text; found \(type.webName)."
        case .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual, .between:
            guard type == .location || type == .reference else { return nil }
            return "\(relation.text) compares numbers, dates and texts; found \(type.webName)."
        default: return nil
        }
    }

    private func typeProblem(_ type: FieldType) -> String? {
        // CloudKit's documentation excludes these types from predicates.
        guard type == .bytes || type == .asset else { return nil }
        return "Fields of type \(type.webName) cannot be queried. Compare with nil, or keep a "
            + "checksum in a field of its own."
    }

    private func keyProblem(_ type: FieldType?) -> String? {
        guard case .system(let field) = key else { return nil }
        switch relation {
        case .contains, .containsAll, .containsAny, .memberBeginsWith:
            return "\(key) is not a list."
        // The operand is the beginning of a name, and therefore a text and no reference.
        case .beginsWith where field.type == .reference: return nil
        default: break
        }
        guard let type, type != field.type else { return nil }
        return "\(key) is compared with \(field.type.webName); found \(type.webName)."
    }
}

extension Query.WordSearch {
    /// The maximum number of bytes in the words of a search.
    fileprivate static let byteCountLimit = 10_000

    fileprivate var problem: String? {
        if case .system(let field)? = key { return "\(field.rawValue) holds no words." }
        guard text.utf8.count <= Self.byteCountLimit else {
            return "The words to search for have \(text.utf8.count) bytes; at most "
                + "\(Self.byteCountLimit) are allowed."
        }
        return nil
    }
}

extension Query.DistanceTest {
    fileprivate var problem: String? {
        if case .system(let field) = key { return "\(field.rawValue) is not a location." }
        if let invalidity = origin.invalidity { return "The place to measure from \(invalidity)." }
        guard radius.isFinite else { return "The distance \(radius) is not a finite number." }
        switch relation {
        case .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual: return nil
        default: return "A distance is compared with <, <=, > or >=; found \(relation.text)."
        }
    }
}
