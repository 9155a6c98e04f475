// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension Query {
    /// One filter of CloudKit Web Services (`filterBy`), its value decoded.
    public struct WebFilter: Hashable, Sendable {
        /// The relation between a field and a value.
        ///
        /// Raw values are CloudKit's names.
        public enum Comparator: String, Hashable, CaseIterable, Sendable {
            /// The field is the value.
            case equals = "EQUALS"
            /// The field is not the value.
            case notEquals = "NOT_EQUALS"
            /// The field is less than the value.
            case lessThan = "LESS_THAN"
            /// The field is less than or equal to the value.
            case lessThanOrEquals = "LESS_THAN_OR_EQUALS"
            /// The field is greater than the value.
            case greaterThan = "GREATER_THAN"
            /// The field is greater than or equal to the value.
            case greaterThanOrEquals = "GREATER_THAN_OR_EQUALS"
            /// The location is within a distance of the value.
            case near = "NEAR"
            /// The field contains all words of the value.
            case containsAllTokens = "CONTAINS_ALL_TOKENS"
            /// The field contains one of the words of the value.
            case containsAnyTokens = "CONTAINS_ANY_TOKENS"
            /// The field is one of the values.
            case `in` = "IN"
            /// The field equals none of the values.
            case notIn = "NOT_IN"
            /// The list contains the value.
            case listContains = "LIST_CONTAINS"
            /// The list does not contain the value.
            case notListContains = "NOT_LIST_CONTAINS"
            /// The list contains all of the values.
            case listContainsAll = "LIST_CONTAINS_ALL"
            /// The list lacks one of the values.
            case notListContainsAll = "NOT_LIST_CONTAINS_ALL"
            /// The list contains one of the values.
            case listContainsAny = "LIST_CONTAINS_ANY"
            /// The list contains none of the values.
            case notListContainsAny = "NOT_LIST_CONTAINS_ANY"
            /// The text begins with the value.
            case beginsWith = "BEGINS_WITH"
            /// The text does not begin with the value.
            case notBeginsWith = "NOT_BEGINS_WITH"
            /// A text of the list begins with the value.
            case listMemberBeginsWith = "LIST_MEMBER_BEGINS_WITH"
            /// No text of the list begins with the value.
            case notListMemberBeginsWith = "NOT_LIST_MEMBER_BEGINS_WITH"
        }

        /// The field; `nil` for a system field, or for a search in all words.
        public var fieldName: String?
        /// A system field, in CloudKit JS's spelling or another.
        public var systemFieldName: String?
        /// The name of the comparator, as it was sent.
        public var comparator: String
        /// The value that the field is compared with.
        public var value: FieldValue
        /// The distance in metres, for `NEAR`.
        public var distance: Double?

        /// Creates a filter.
        public init(
            fieldName: String? = nil,
            systemFieldName: String? = nil,
            comparator: String,
            value: FieldValue,
            distance: Double? = nil
        ) {
            self.fieldName = fieldName
            self.systemFieldName = systemFieldName
            self.comparator = comparator
            self.value = value
            self.distance = distance
        }
    }

    /// One criterion of CloudKit Web Services' order (`sortBy`).
    public struct WebSort: Hashable, Sendable {
        /// The field; `nil` for a system field.
        public var fieldName: String?
        /// A system field, in CloudKit JS's spelling or another.
        public var systemFieldName: String?
        /// True if small values come first.
        public var ascending: Bool
        /// The place from which distances are measured.
        public var relativeLocation: Location?

        /// Creates a criterion.
        public init(
            fieldName: String? = nil,
            systemFieldName: String? = nil,
            ascending: Bool = true,
            relativeLocation: Location? = nil
        ) {
            self.fieldName = fieldName
            self.systemFieldName = systemFieldName
            self.ascending = ascending
            self.relativeLocation = relativeLocation
        }
    }
}

extension Query.Predicate {
    /// Creates the predicate that is fulfilled if all filters are.
    ///
    /// Throws `invalidArguments`, with the name of the filter, for a filter that CloudKit does not
    /// have.
    public init(filters: [Query.WebFilter]) throws(SyncError) {
        var parts: [Query.Predicate] = []
        for (index, filter) in filters.enumerated() {
            do throws(WebFilterError) {
                parts.append(try filter.predicate())
            } catch {
                throw SyncError(.invalidArguments, "filterBy[\(index)]: \(error.message)")
            }
        }
        // A single filter is not wrapped, because the text of a compound of one part is read back
        // as that part.
        switch parts.count {
        case 0: self = .always
        case 1: self = parts[0]
        default: self = .and(parts)
        }
    }
}

extension Query.SortDescriptor {
    /// Returns the criteria of an order.
    ///
    /// Throws `invalidArguments`, naming the criterion, if it names no field or two fields.
    public static func descriptors(
        of criteria: [Query.WebSort]
    ) throws(SyncError) -> [Query.SortDescriptor] {
        var descriptors: [Query.SortDescriptor] = []
        for (index, criterion) in criteria.enumerated() {
            do throws(WebFilterError) {
                let key = try Query.Key(criterion.fieldName, criterion.systemFieldName)
                if let place = criterion.relativeLocation {
                    let ascending = criterion.ascending
                    descriptors.append(.init(key, distanceFrom: place, ascending: ascending))
                } else {
                    descriptors.append(.init(key, ascending: criterion.ascending))
                }
            } catch {
                throw SyncError(.invalidArguments, "sortBy[\(index)]: \(error.message)")
            }
        }
        return descriptors
    }
}

private struct WebFilterError: Error {
    let message: String

    init(_ message: String) {
        self.message = message
    }
}

extension Query.Key {
    fileprivate init(_ fieldName: String?, _ systemFieldName: String?) throws(WebFilterError) {
        switch (fieldName, systemFieldName) {
        case (let name?, nil):
            guard !name.isEmpty else { throw WebFilterError("The fieldName is empty.") }
            self.init(name)
        case (nil, let name?):
            guard let field = Query.SystemField(webName: name) else {
                let known = Query.SystemField.allCases.map(\.webName).joined(separator: ", ")
                throw WebFilterError(
                    "There is no system field \"\(name)\"; the system fields are \(known)."
                )
            }
            self = .system(field)
        case (nil, nil): throw WebFilterError("Expected a fieldName or a systemFieldName.")
        case (_?, _?):
            throw WebFilterError("Expected a fieldName or a systemFieldName; found both.")
        }
    }
}

extension Query.WebFilter {
    fileprivate func predicate() throws(WebFilterError) -> Query.Predicate {
        guard let comparator = Comparator(rawValue: comparator) else {
            let known = Comparator.allCases.map(\.rawValue).joined(separator: ", ")
            throw WebFilterError(
                "There is no comparator \"\(comparator)\"; the comparators are \(known)."
            )
        }
        let predicate: Query.Predicate
        switch comparator {
        case .containsAllTokens, .containsAnyTokens:
            predicate = try words(requiresAll: comparator == .containsAllTokens)
        case .near: predicate = try near()
        default:
            let (relation, isNegated) = comparator.relation
            let key = try Query.Key(fieldName, systemFieldName)
            let comparison = Query.Predicate.compare(key, relation, .value(value))
            predicate = isNegated ? .not(comparison) : comparison
        }
        guard distance == nil || comparator == .near else {
            throw WebFilterError("A distance belongs to NEAR; found \(comparator.rawValue).")
        }
        if let problem = predicate.problem { throw WebFilterError(problem) }
        return predicate
    }

    private func words(requiresAll: Bool) throws(WebFilterError) -> Query.Predicate {
        guard case .string(let text) = value else {
            throw WebFilterError("\(comparator) needs a STRING; found \(value.type.webName).")
        }
        guard fieldName != nil || systemFieldName != nil else {
            return .words(Query.WordSearch(text, requiresAll: requiresAll))
        }
        let key = try Query.Key(fieldName, systemFieldName)
        return .words(Query.WordSearch(text, in: key, requiresAll: requiresAll))
    }

    private func near() throws(WebFilterError) -> Query.Predicate {
        let key = try Query.Key(fieldName, systemFieldName)
        guard case .location(let place) = value else {
            throw WebFilterError("NEAR needs a LOCATION; found \(value.type.webName).")
        }
        guard let distance else { throw WebFilterError("NEAR needs a distance in metres.") }
        // NEAR includes its radius (Docs/queries.md, "What it means").
        return .distance(Query.DistanceTest(key, from: place, .lessThanOrEqual, distance))
    }
}

extension Query.WebFilter.Comparator {
    /// The relation, and true if it must not hold.
    fileprivate var relation: (Query.Relation, isNegated: Bool) {
        switch self {
        // Only the first is looked up here; `predicate()` handles the other three itself.
        case .equals, .near, .containsAllTokens, .containsAnyTokens: (.equal, false)
        // Negation is the exact complement, so records without the field fulfil NOT_IN.
        case .notEquals: (.notEqual, false)
        case .lessThan: (.lessThan, false)
        case .lessThanOrEquals: (.lessThanOrEqual, false)
        case .greaterThan: (.greaterThan, false)
        case .greaterThanOrEquals: (.greaterThanOrEqual, false)
        case .in: (.in, false)
        case .notIn: (.in, true)
        case .listContains: (.contains, false)
        case .notListContains: (.contains, true)
        case .listContainsAll: (.containsAll, false)
        case .notListContainsAll: (.containsAll, true)
        case .listContainsAny: (.containsAny, false)
        case .notListContainsAny: (.containsAny, true)
        case .beginsWith: (.beginsWith, false)
        case .notBeginsWith: (.beginsWith, true)
        case .listMemberBeginsWith: (.memberBeginsWith, false)
        case .notListMemberBeginsWith: (.memberBeginsWith, true)
        }
    }
}
