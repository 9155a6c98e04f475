// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel

/// A query as SQL, with the values of its parameters.
struct WrittenQuery: Sendable {
    let selection: Selection
    /// The values of the parameters, starting with `?1`.
    let arguments: [SQLValue]
    /// The indexes that would speed it up.
    let neededIndexes: [NeededIndex]
    /// The number of searched words, counted once for each zone.
    let searchedWordCount: Int
}

/// A query whose SQL is the same for all constants: comparisons of single values, all of which must
/// hold, in an order of values.
struct SimpleQuery {
    /// A comparison without its constant.
    struct Comparison: Hashable, Sendable {
        let key: Query.Key
        let relation: Query.Relation
        /// The type of the constant; `nil` for the current time.
        let type: FieldType?
        let options: Query.TextOptions
    }

    private(set) var comparisons: [Comparison] = []
    /// The constants of the comparisons, in their order, which is that of the parameters.
    private(set) var constants: [SQLValue] = []
    let order: [Query.SortDescriptor]

    /// Takes a query apart; `nil` if it is not simple.
    init?(_ query: Query, now: Int64) {
        order = query.sortDescriptors
        // A place from which distances are measured is a constant too.
        guard order.allSatisfy({ $0.origin == nil }), take(query.predicate, now) else { return nil }
    }

    private mutating func take(_ predicate: Query.Predicate, _ now: Int64) -> Bool {
        switch predicate {
        case .always: return true
        case .and(let parts):
            for part in parts where !take(part, now) { return false }
            return true
        case .comparison(let comparison): return take(comparison, now)
        case .never, .words, .distance, .or, .not: return false
        }
    }

    private mutating func take(_ comparison: Query.Comparison, _ now: Int64) -> Bool {
        switch comparison.relation {
        case .equal, .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual: break
        default: return false
        }
        var type: FieldType?
        if case .value(let value) = comparison.operand { type = value.type }
        switch type {
        case .int64, .double, .timestamp, .string, .reference: break
        case nil where comparison.operand == .now: break
        default: return false
        }
        comparisons.append(
            Comparison(
                key: comparison.key,
                relation: comparison.relation,
                type: type,
                options: comparison.options
            )
        )
        constants += comparison.constants(now: now)
        return true
    }
}

/// The SQL of earlier simple queries.
///
/// Writing the text takes as long as SQLite needs for ten records.
struct KnownForms {
    /// A simple query without its constants, for some number of zones.
    struct Form: Hashable {
        private let table: Int64
        /// Columns are only added, and an added one may make another text.
        private let columnCount: Int
        private let zoneCount: Int
        private let comparisons: [SimpleQuery.Comparison]
        private let order: [Query.SortDescriptor]

        init(_ query: SimpleQuery, of type: TypeTable, zoneCount: Int) {
            table = type.id
            columnCount = type.columns.count
            self.zoneCount = zoneCount
            comparisons = query.comparisons
            order = query.order
        }
    }

    private var known: [Form: WrittenQuery] = [:]
    private static let countLimit = 200

    var count: Int { known.count }

    /// Returns the SQL of a form; its arguments are those of another query.
    subscript(form: Form) -> WrittenQuery? { known[form] }

    mutating func add(_ written: WrittenQuery, as form: Form) {
        if known.count >= Self.countLimit { known = [:] }
        known[form] = written
    }
}
