// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension Query {
    /// The error for the first construct that CloudKit would refuse and Tidemark does not.
    ///
    /// It is `invalidArguments` and names the construct. `nil` if there is none. An engine that has
    /// to answer as CloudKit does refuses the query with this error.
    public var cloudKitRefusal: SyncError? {
        if let refusal = predicate.cloudKitRefusal { return refusal }
        for descriptor in sortDescriptors where descriptor.origin != nil && !descriptor.isAscending
        {
            return SyncError(
                .invalidArguments,
                "CloudKit does not sort by distance in descending order (\(descriptor))."
            )
        }
        return nil
    }
}

extension Query.Predicate {
    /// The error for the first construct in the text that only CloudKit would refuse; `nil` if
    /// there is none.
    ///
    /// Filters of CloudKit Web Services count as CloudKit.
    public var cloudKitRefusal: SyncError? {
        guard let (construct, advice) = refusedConstruct else { return nil }
        return SyncError(
            .invalidArguments,
            "CloudKit does not support \(construct) (\(self)). \(advice)"
        )
    }

    private var refusedConstruct: (construct: String, advice: String)? {
        switch self {
        case .always, .never, .words: return nil
        case .comparison(let comparison): return comparison.refusedConstruct
        case .distance(let test):
            // CloudKit finds the places inside a circle only.
            guard test.relation == .greaterThan || test.relation == .greaterThanOrEqual else {
                return nil
            }
            return ("distances beyond a radius", "Query what is within, and leave that out.")
        case .and(let parts):
            return parts.lazy.compactMap(\.refusedConstruct).first
        case .or:
            return ("OR", "Run one query for each part, and put the results together.")
        case .not(let part):
            // The part first: its own construct is the more exact cause.
            if let refused = part.refusedConstruct { return refused }
            switch part {
            // CloudKit documents NOT before one comparison, except BETWEEN.
            case .comparison(let comparison) where comparison.relation != .between: return nil
            case .comparison: return ("NOT before BETWEEN", "Run two queries with < and >.")
            case .and: return ("NOT before AND", "Run one query for the complement of each part.")
            case .words: return ("NOT before a search for words", "Filter the results.")
            case .distance: return ("NOT before a distance", "Filter the results.")
            case .not: return ("NOT before NOT", "Leave both out.")
            default: return ("NOT before a constant", "Write the other constant.")
            }
        }
    }
}

extension Query.Comparison {
    fileprivate var refusedConstruct: (construct: String, advice: String)? {
        if case .null = operand {
            return ("comparisons with nil", "Keep a field that says whether \(key) is set.")
        }
        if !options.isEmpty {
            return (
                "options such as [cd]",
                "Search for words with self CONTAINS, or keep a folded "
                    + "copy of \(key) in a field of its own."
            )
        }
        if comparesLists {
            return ("\(relation.text) with a list", "Use CONTAINS for one of its values.")
        }
        if case .system(let field) = key, field.type == .reference, relation == .beginsWith {
            return ("BEGINSWITH on \(key)", "Keep the name in a field of its own.")
        }
        return nil
    }
}
