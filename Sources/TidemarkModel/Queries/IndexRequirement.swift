// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension Query {
    /// The kinds of index that the schema language has.
    public enum IndexKind: String, Hashable, CaseIterable, Sendable {
        /// Equality and membership.
        case queryable = "QUERYABLE"
        /// Ranges and order.
        case sortable = "SORTABLE"
        /// An index for words.
        case searchable = "SEARCHABLE"
    }

    /// An index that a query needs.
    public struct IndexRequirement: Hashable, Sendable {
        /// The indexed key; `nil` for any field with an index for words.
        public let key: Key?
        /// The kind of index.
        public let kind: IndexKind

        /// Creates a requirement.
        public init(_ key: Key?, _ kind: IndexKind) {
            self.key = key
            self.kind = kind
        }
    }

    /// The indexes that the query needs, each once, in the order in which the predicate and then
    /// the order name them.
    ///
    /// O(size of the query).
    public var requirements: [IndexRequirement] {
        var requirements: [IndexRequirement] = []
        predicate.collect(&requirements)
        for descriptor in sortDescriptors {
            // An order by distance needs the index of a distance test (Docs/queries.md, "Indexes").
            let kind: IndexKind = descriptor.origin == nil ? .sortable : .queryable
            requirements.append(IndexRequirement(descriptor.key, kind))
        }
        return requirements.eachOnce
    }
}

extension Query.Predicate {
    /// The indexes that the predicate needs, each once.
    ///
    /// A predicate that could be fulfilled by any record of the type needs one on the record's
    /// name.
    public var requirements: [Query.IndexRequirement] {
        var found: [Query.IndexRequirement] = []
        collect(&found)
        return found.eachOnce
    }

    fileprivate func collect(_ found: inout [Query.IndexRequirement]) {
        switch self {
        // Every record matches, and every record has a name, so the index of names lists all of
        // them.
        case .always: found.append(.init(.system(.recordID), .queryable))
        case .never: break
        case .comparison(let comparison):
            found.append(.init(comparison.key, comparison.relation.indexKind))
        case .words(let search): found.append(.init(search.key, .searchable))
        case .distance(let test): found.append(.init(test.key, .queryable))
        case .and(let parts) where parts.isEmpty: Query.Predicate.always.collect(&found)
        case .and(let parts):
            // A part that is always true needs no index if there are other parts.
            let others = parts.filter { $0 != .always }
            for part in others.isEmpty ? parts : others { part.collect(&found) }
        case .or(let parts):
            for part in parts { part.collect(&found) }
        case .not(.never): Query.Predicate.always.collect(&found)
        case .not(.always): break
        case .not(let part): part.collect(&found)
        }
    }
}

extension Query.Relation {
    /// The kind of index that finds values in this relation.
    public var indexKind: Query.IndexKind {
        switch self {
        case .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual, .between: .sortable
        default: .queryable
        }
    }
}
