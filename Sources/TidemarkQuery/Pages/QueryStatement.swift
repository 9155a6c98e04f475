// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel

/// A query as SQL: the text, the values of its parameters, and the indexes that would speed it up.
struct QueryStatement: Sendable {
    let type: TypeTable
    let now: Int64
    private let zones: [UInt64]
    /// The fields that a full-text search reads; `nil` for all.
    let searchedFields: [String]?
    /// The values of the parameters, starting with `?1`.
    private(set) var arguments: [SQLValue] = []
    private(set) var neededIndexes: [NeededIndex] = []
    /// The number of searched words, counted once for each zone.
    private(set) var searchedWordCount = 0
    /// Selections of sequence numbers that contain all records fulfilling the predicate.
    private var sets: [String] = []
    /// True if the current part of the predicate must hold for every result.
    var isNarrowing = true
    /// The parameters of the zones, separated by commas.
    private var zoneList = ""

    init(_ type: TypeTable, zones: [UInt64], now: Int64, searchedFields: [String]?) {
        self.type = type
        self.zones = zones
        self.now = now
        self.searchedFields = searchedFields
    }

    /// Binds a value, and returns its parameter.
    mutating func parameter(_ value: SQLValue) -> String {
        arguments.append(value)
        return "?\(arguments.count)"
    }

    /// Adds a selection of all records for which the current part of the predicate holds.
    mutating func narrow(to set: String) {
        if isNarrowing { sets.append(set) }
    }

    mutating func need(_ index: NeededIndex) {
        if !neededIndexes.contains(index) { neededIndexes.append(index) }
    }

    /// The condition that a row is in one of the query's zones.
    var isInZones: String { "zone IN (\(zoneList))" }

    /// Returns the full-text search for any of some words in the query's zones.
    mutating func search(forAny words: [[UInt8]]) -> String {
        searchedWordCount += words.count * zones.count
        // If there are too many words to search for, they need not be written.
        guard searchedWordCount <= Self.valueCountLimit else { return "" }
        let terms = words.flatMap { word in
            zones.map { "\"\(WordRow.text(of: word, zone: $0))\"" }
        }
        return Self.balanced(terms[...], " OR ") ?? ""
    }

    /// The maximum number of values in a statement: SQLite's default limit.
    static let valueCountLimit = 32_766

    /// Selects the zones, if there are several, and the stored bodies of a page's records.
    ///
    /// The limit, which applies if the selection is exact, is the last of the arguments.
    ///
    /// Returns `nil` if the cursor does not match, because a field has since received values of
    /// another type. Throws `limitExceeded` for a sort by a field without a column.
    mutating func select(
        _ query: Query,
        after cursor: QueryCursor?,
        limit: Int
    ) throws(SyncError) -> Selection? {
        zoneList = zones.map { parameter(.int(Int64(bitPattern: $0))) }.joined(separator: ", ")
        let (condition, isExact) = self.condition(for: query.predicate)
        let order = try order(by: query.sortDescriptors)
        var conditions = [condition]
        if let cursor {
            // A field with values of several kinds has more sort terms than one with values of one
            // kind. The last value is the zone; cursors of versions before 0.2 end with the name if
            // there was only one zone.
            let valueCount: Int
            switch cursor.values.last {
            case .int: valueCount = order.count
            case .blob where zones.count == 1: valueCount = order.count - 1
            default: return nil
            }
            guard cursor.values.count == valueCount else { return nil }
            conditions.append(place(after: cursor.values, in: order))
        }
        // With an inexact condition, the check of the bodies leaves out rows, and SQLite does not
        // know how many.
        let limit = parameter(.int(isExact ? Int64(limit) : .max))
        return Selection(
            table: type.name,
            values: order.map(\.expression),
            hasZones: zones.count > 1,
            conditions: [isInZones] + conditions,
            // Of one zone, all rows have the same.
            order: (zones.count > 1 ? order[...] : order.dropLast()).map(\.text),
            limit: limit,
            sets: sets,
            isExact: isExact
        )
    }

    /// Returns the condition for a predicate, and true if the condition is exact.
    ///
    /// If the predicate is nested too deeply for SQLite, or the type has fields without a column,
    /// every record is selected.
    private mutating func condition(
        for predicate: Query.Predicate
    ) -> (text: String, isExact: Bool) {
        // A condition that is not used must not count against the limit of values, nor make the
        // query create indexes.
        let written = (arguments, neededIndexes, searchedWordCount)
        let condition = sql(for: predicate)
        if Self.depth(of: condition) <= Self.depthLimit, !type.isFull { return (condition, true) }
        (arguments, neededIndexes, searchedWordCount) = written
        sets = []
        return ("TRUE", false)
    }

    /// The maximum number of open parentheses: SQLite's parser stack has 100 symbols, of which each
    /// parenthesis takes three, and the surrounding and inner parts take some.
    private static let depthLimit = 20

    private static func depth(of condition: String) -> Int {
        var depth = 0
        var deepest = 0
        for byte in condition.utf8 {
            switch byte {
            case UInt8(ascii: "("):
                depth += 1
                deepest = max(deepest, depth)
            case UInt8(ascii: ")"): depth -= 1
            default: break
            }
        }
        return deepest
    }

    // MARK: Order

    private struct Term {
        var expression: String
        var isAscending: Bool
        /// The term as ORDER BY has it.
        var text: String { isAscending ? expression : expression + " DESC" }
    }

    /// Returns the sort terms of the rows; the last ones are the name and the zone, so that the order is
    /// total, and that of one zone is continued when there are several.
    private mutating func order(
        by descriptors: [Query.SortDescriptor]
    ) throws(SyncError) -> [Term] {
        var terms: [Term] = []
        for (index, descriptor) in descriptors.enumerated() {
            if type.isFull, case .field(let name) = descriptor.key, type.columns(of: name).isEmpty {
                throw SyncError(
                    .limitExceeded,
                    "Records of type \(type.typeName) cannot be sorted by \(name): it is not among "
                        + "the type's first \(TypeTable.columnLimit) fields.",
                    remedy: "Sort by one of those fields."
                )
            }
            let expressions = expressions(for: descriptor)
            if index == 0, let column = plainColumn(of: descriptor) {
                need(.column(table: type.name, name: column))
            }
            terms += expressions.map { Term(expression: $0, isAscending: descriptor.isAscending) }
        }
        if terms.isEmpty { need(.column(table: type.name, name: "name")) }
        terms.append(Term(expression: "name", isAscending: true))
        terms.append(Term(expression: "zone", isAscending: true))
        return terms
    }

    /// Returns the column whose index has the rows in this order; `nil` if there is none.
    private func plainColumn(of descriptor: Query.SortDescriptor) -> String? {
        guard descriptor.origin == nil else { return nil }
        switch descriptor.key {
        case .system(let field): return field.columnName
        case .field(let name):
            let columns = type.columns(of: name)
            // With values of several kinds, the order compares the kinds first, which no index of
            // one column has.
            guard columns.count == 1, let column = columns.first, column.kind.hasOrder else {
                return nil
            }
            return column.name
        }
    }

    private mutating func expressions(for descriptor: Query.SortDescriptor) -> [String] {
        if let column = plainColumn(of: descriptor) { return [column] }
        switch descriptor.key {
        case .system: return ["NULL"]
        case .field(let name):
            if let origin = descriptor.origin {
                // The infinity that is last in the direction of the order, for records without a
                // location. Also before the type has a column for it: pages before and after that
                // continue each other.
                let absent = descriptor.isAscending ? "9e999" : "-9e999"
                guard let column = type.column(of: name, .location) else { return [absent] }
                let latitude = parameter(.real(origin.latitude))
                let longitude = parameter(.real(origin.longitude))
                let distance = "tidemark_distance(\(column.name), \(latitude), \(longitude))"
                return ["coalesce(\(distance), \(absent))"]
            }
            let columns = type.columns(of: name)
            guard !columns.isEmpty else { return ["NULL"] }
            // Values of different kinds are sorted by kind, and absent values come first.
            let ranks = columns.map { column in
                // 5 is after all kinds that have an order, so values without one come last.
                let rank = column.kind.hasOrder ? column.kind.rawValue : 5
                return "WHEN \(column.name) IS NOT NULL THEN \(rank)"
            }
            return ["CASE \(ranks.joined(separator: " ")) ELSE 0 END"]
                + columns.filter(\.kind.hasOrder).map(\.name)
        }
    }

    /// Returns the condition that a row follows some values in an order: it follows the first
    /// value, or equals it and follows the second, and so on.
    private mutating func place(after values: [SQLValue], in order: [Term]) -> String {
        var ways: [String] = []
        var level: [String] = []
        for (term, value) in zip(order, values) {
            let expression = term.expression
            guard value != .null else {
                // An absent value is the least: all others follow it in an ascending order.
                if term.isAscending {
                    ways.append((level + ["\(expression) IS NOT NULL"]).joined(separator: " AND "))
                }
                level.append("\(expression) IS NULL")
                continue
            }
            let bound = parameter(value)
            let behind =
                term.isAscending
                ? "\(expression) > \(bound)" : "(\(expression) < \(bound) OR \(expression) IS NULL)"
            ways.append((level + [behind]).joined(separator: " AND "))
            level.append("\(expression) = \(bound)")
        }
        let condition = ways.isEmpty ? "FALSE" : "(\(ways.joined(separator: " OR ")))"
        // Written separately, because an index can only be used by a condition without OR.
        guard let first = order.first, let value = values.first, value != .null, first.isAscending
        else { return condition }
        return "\(first.expression) >= \(parameter(value)) AND \(condition)"
    }
}

extension ColumnKind {
    /// True if records can be sorted by the values.
    fileprivate var hasOrder: Bool { rawValue <= ColumnKind.reference.rawValue }
}

extension Query.SystemField {
    /// The column for the system field in every type's table.
    var columnName: String {
        switch self {
        case .recordID: "name"
        case .creationDate: "created"
        case .modificationDate: "modified"
        case .creatorUserRecordID: "creator"
        case .lastModifiedUserRecordID: "modifier"
        case .parent: "parent"
        case .share: "share"
        }
    }
}
