// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel

/// Queries as filters and sort descriptors.
struct WebQuery {
    var recordType: String?
    var filters: [Query.Predicate] = []
    var order: [Query.SortDescriptor] = []

    var query: Query {
        get throws(WebError) {
            guard let recordType else {
                throw .badRequest("The query's member \"recordType\" is missing.")
            }
            return Query(recordType: recordType, predicate: predicate, sortDescriptors: order)
        }
    }

    var predicate: Query.Predicate {
        switch filters.count {
        case 0: .always
        case 1: filters[0]
        default: .and(filters)
        }
    }
}

extension JSONReader {
    mutating func webQuery() throws(JSONError) -> WebQuery {
        var query = WebQuery()
        try members { (it, name) throws(JSONError) in
            switch name {
            case "recordType": query.recordType = try it.string()
            case "filterBy":
                query.filters = try it.valuesOrOne { (it) throws(JSONError) in try it.filter() }
            case "sortBy":
                query.order = try it.valuesOrOne { (it) throws(JSONError) in
                    try it.sortDescriptor()
                }
            default: return false
            }
            return true
        }
        return query
    }

    private mutating func filter() throws(JSONError) -> Query.Predicate {
        let start = offset
        var key: Query.Key?
        var keyCount = 0
        var comparator: String?
        var value: FieldValue?
        var radius: Double?
        try members { (it, name) throws(JSONError) in
            switch name {
            case "fieldName":
                key = Query.Key(try it.string())
                keyCount += 1
            case "systemFieldName":
                key = try it.systemField()
                keyCount += 1
            case "comparator": comparator = try it.string()
            case "fieldValue": value = try it.webFieldValue()
            case "distance": radius = try it.finiteDouble()
            default: return false
            }
            return true
        }
        guard let comparator else {
            throw JSONError("The filter's member \"comparator\" is missing.", at: start)
        }
        guard keyCount < 2 else {
            throw JSONError(
                "A filter has a fieldName or a systemFieldName, and not both.",
                at: start
            )
        }
        guard radius == nil || comparator == "NEAR" else {
            throw JSONError("A distance belongs to NEAR, and not to \(comparator).", at: start)
        }
        if let requiresAll = Self.wordSearches[comparator] {
            guard case .string(let words)? = value else {
                throw JSONError("\(comparator) needs a STRING.", at: start)
            }
            return .words(Query.WordSearch(words, in: key, requiresAll: requiresAll))
        }
        guard let key else {
            throw JSONError("The filter's member \"fieldName\" is missing.", at: start)
        }
        if comparator == "NEAR" {
            guard case .location(let place)? = value, let radius else {
                throw JSONError("NEAR needs a LOCATION and a distance in metres.", at: start)
            }
            return .distance(Query.DistanceTest(key, from: place, .lessThanOrEqual, radius))
        }
        if case .system(let field) = key, field.type == .timestamp { value = value?.time }
        // `NOT_EQUALS` is a relation of its own. Any other `NOT_` negates the relation after it.
        let isNegated = comparator.hasPrefix("NOT_") && comparator != "NOT_EQUALS"
        let name = isNegated ? String(comparator.dropFirst(4)) : comparator
        guard let relation = Self.relations[name] else {
            let known = Query.WebFilter.Comparator.allCases.map(\.rawValue).sorted()
            throw JSONError(
                "There is no comparator \"\(comparator)\"; the comparators are "
                    + "\(known.joined(separator: ", ")).",
                at: start
            )
        }
        if [.in, .containsAll, .containsAny].contains(relation), value?.type.element == nil {
            throw JSONError("Unexpected input: \(comparator) needs a list.", at: start)
        }
        let comparison = Query.Predicate.compare(key, relation, value.map { .value($0) } ?? .null)
        return isNegated ? .not(comparison) : comparison
    }

    private mutating func systemField() throws(JSONError) -> Query.Key {
        let start = offset
        let name = try string()
        guard let field = Query.SystemField(webName: name) else {
            let known = Query.SystemField.allCases.map(\.webName).joined(separator: ", ")
            throw JSONError(
                "There is no system field \"\(name)\"; the system fields are \(known).",
                at: start
            )
        }
        return .system(field)
    }

    private mutating func sortDescriptor() throws(JSONError) -> Query.SortDescriptor {
        let start = offset
        var key: Query.Key?
        var isAscending = true
        var origin: Location?
        try members { (it, name) throws(JSONError) in
            switch name {
            case "fieldName": key = Query.Key(try it.string())
            case "systemFieldName": key = try it.systemField()
            case "ascending": isAscending = try it.truth()
            case "relativeLocation": origin = try it.place()
            default: return false
            }
            return true
        }
        guard let key else {
            throw JSONError("The sort descriptor's member \"fieldName\" is missing.", at: start)
        }
        guard let origin else { return Query.SortDescriptor(key, ascending: isAscending) }
        return Query.SortDescriptor(key, distanceFrom: origin, ascending: isAscending)
    }

    /// Reads a truth value, also as zero or one.
    mutating func truth() throws(JSONError) -> Bool {
        try peek() == .number ? int64() != 0 : boolean()
    }

    /// Reads a location, plain or as the value of a field.
    private mutating func place() throws(JSONError) -> Location? {
        guard case .location(let place)? = try webFieldValue() else { return nil }
        return place
    }

    private static let wordSearches = ["CONTAINS_ALL_TOKENS": true, "CONTAINS_ANY_TOKENS": false]
    private static let relations: [String: Query.Relation] = [
        "EQUALS": .equal, "NOT_EQUALS": .notEqual, "LESS_THAN": .lessThan,
        "LESS_THAN_OR_EQUALS": .lessThanOrEqual, "GREATER_THAN": .greaterThan,
        "GREATER_THAN_OR_EQUALS": .greaterThanOrEqual, "IN": .in, "BEGINS_WITH": .beginsWith,
        "LIST_CONTAINS": .contains, "LIST_CONTAINS_ALL": .containsAll,
        "LIST_CONTAINS_ANY": .containsAny, "LIST_MEMBER_BEGINS_WITH": .memberBeginsWith,
    ]

    fileprivate static func comparator(of relation: Query.Relation) -> String? {
        relations.first { $0.value == relation }?.key
    }
}

extension WebWriter {
    /// Writes a predicate as filters; omits the parts that filters cannot express.
    mutating func filters(_ predicate: Query.Predicate) {
        let parts: [Query.Predicate] =
            switch predicate {
            case .and(let parts): parts
            case .always: []
            default: [predicate]
            }
        list(parts.compactMap { Filter($0) }) { $0.filter($1) }
    }

    /// A filter that means the same as a predicate.
    struct Filter {
        var key: Query.Key?
        var comparator: String
        var value: FieldValue?
        var radius: Double?

        /// Creates a filter; `nil` if no filter means the same.
        init?(_ predicate: Query.Predicate) {
            switch predicate {
            case .comparison(let comparison):
                guard let (name, operand) = Self.parts(of: comparison) else { return nil }
                key = comparison.key
                comparator = name
                value = operand
            case .not(.comparison(let comparison)):
                guard let (name, operand) = Self.parts(of: comparison) else { return nil }
                key = comparison.key
                // `NOT_EQUALS` is read as a relation of its own, which is fulfilled in the same cases.
                comparator = "NOT_" + name
                value = operand
            case .words(let search):
                key = search.key
                comparator = search.requiresAll ? "CONTAINS_ALL_TOKENS" : "CONTAINS_ANY_TOKENS"
                value = .string(search.text)
            case .distance(let test):
                guard [.lessThan, .lessThanOrEqual].contains(test.relation) else { return nil }
                key = test.key
                comparator = "NEAR"
                value = .location(test.origin)
                radius = test.radius
            default: return nil
            }
        }

        /// Returns the comparator and the value of a comparison.
        ///
        /// Filters have neither `now()` nor the options of texts. A filter without a value compares
        /// with `nil`.
        private static func parts(
            of comparison: Query.Comparison
        ) -> (comparator: String, value: FieldValue?)? {
            guard let name = JSONReader.comparator(of: comparison.relation),
                comparison.options.isEmpty
            else { return nil }
            switch comparison.operand {
            case .value(let value): return (name, value)
            case .null: return (name, nil)
            case .now: return nil
            }
        }
    }

    private mutating func filter(_ filter: Filter) {
        literal("{\"comparator\":")
        string(filter.comparator)
        switch filter.key {
        case .field(let name)?: member("fieldName", name.string)
        case .system(let field)?: member("systemFieldName", field.webName)
        case nil: break
        }
        if let value = filter.value {
            literal(",\"fieldValue\":{\"value\":")
            self.value(value)
            member("type", value.type.webName)
            literal("}")
        }
        if let radius = filter.radius {
            literal(",\"distance\":")
            value(.double(radius))
        }
        literal("}")
    }
}

extension FieldValue {
    /// The value as a time: CloudKit JS sends times of system fields without their type.
    fileprivate var time: FieldValue {
        switch self {
        case .int64(let time): .timestamp(time)
        case .int64List(let times): .timestampList(times)
        default: self
        }
    }
}
