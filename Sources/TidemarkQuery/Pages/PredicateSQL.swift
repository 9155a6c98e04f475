// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel

/// The translation of predicates to SQL conditions.
///
/// A condition may be NULL if a value is absent. AND, OR and the surrounding WHERE treat NULL as
/// false, and NOT is written so that it does too. The three-valued logic of SQL therefore has no
/// visible effect.
extension QueryStatement {
    mutating func sql(for predicate: Query.Predicate) -> String {
        switch predicate {
        case .always: return "TRUE"
        case .never: return "FALSE"
        case .and(let parts): return join(parts, " AND ", orElse: "TRUE")
        case .or(let parts):
            return aside { $0.join(parts, " OR ", orElse: "FALSE") }
        case .not(let part):
            return aside { "((\($0.sql(for: part))) IS NOT TRUE)" }
        case .comparison(let comparison): return sql(for: comparison)
        case .words(let search): return sql(for: search)
        case .distance(let test): return sql(for: test)
        }
    }

    /// Writes a part of the predicate that need not hold for every result.
    private mutating func aside(_ write: (inout QueryStatement) -> String) -> String {
        let wasNarrowing = isNarrowing
        isNarrowing = false
        defer { isNarrowing = wasNarrowing }
        return write(&self)
    }

    private mutating func join(
        _ parts: [Query.Predicate],
        _ separator: String,
        orElse empty: String
    ) -> String {
        var conditions: [String] = []
        for part in parts { conditions.append(sql(for: part)) }
        return Self.balanced(conditions[...], separator) ?? empty
    }

    /// Joins conditions as a balanced tree, because SQLite limits the depth of expressions.
    static func balanced(
        _ conditions: ArraySlice<String>,
        _ separator: String
    ) -> String? {
        guard conditions.count > 2 else {
            return conditions.isEmpty ? nil : "(\(conditions.joined(separator: separator)))"
        }
        let middle = conditions.startIndex + conditions.count / 2
        let halves = [conditions[..<middle], conditions[middle...]]
        return "(\(halves.compactMap { balanced($0, separator) }.joined(separator: separator)))"
    }
}

// MARK: Comparisons

extension QueryStatement {
    /// Returns the names of the columns whose values a comparison compares.
    private func columnNames(for comparison: Query.Comparison) -> [String] {
        switch comparison.key {
        case .system(let field): return [field.columnName]
        case .field(let name):
            return scalarColumns(name, comparison).map(\.name)
        }
    }

    /// Returns the columns of a field that hold values of the operand's kind.
    private func scalarColumns(_ field: Name, _ comparison: Query.Comparison) -> [Column] {
        guard let kind = comparison.operandKind else { return [] }
        var kinds = [kind]
        // A reference counts as the name of its record (`Docs/queries.md`, "What it means"), which
        // can begin with a text.
        if comparison.relation == .beginsWith { kinds.append(.reference) }
        return kinds.compactMap { type.column(of: field, $0) }
    }

    fileprivate mutating func sql(for comparison: Query.Comparison) -> String {
        if comparison.relation == .notEqual {
            // An absent value satisfies `!=` (`Docs/queries.md`), so this is the negation of `=`
            // and not SQL's `<>`.
            let equal = Query.Comparison(
                comparison.key,
                .equal,
                comparison.operand,
                options: comparison.options
            )
            return aside { "((\($0.sql(for: equal))) IS NOT TRUE)" }
        }
        if comparison.operand == .null { return absence(of: comparison.key) }
        switch comparison.relation {
        case .contains, .containsAll, .containsAny, .memberBeginsWith:
            return membership(comparison)
        case .equal where comparison.comparesLists: return listEquality(comparison)
        default: break
        }
        let names = columnNames(for: comparison)
        // A comparison of folded texts cannot use an index. An inequality or a search for absent
        // values, which are written above, usually selects most records, which an index would not
        // narrow.
        if isNarrowing, comparison.options.isEmpty {
            for name in names { need(.column(table: type.name, name: name)) }
        }
        let conditions = names.map { condition($0, comparison) }
        return conditions.isEmpty ? "FALSE" : "(\(conditions.joined(separator: " OR ")))"
    }

    private func absence(of key: Query.Key) -> String {
        switch key {
        case .system(let field): return "\(field.columnName) IS NULL"
        case .field(let name):
            let columns = type.columns(of: name)
            // No record ever had a value in the field.
            guard !columns.isEmpty else { return "TRUE" }
            return "(\(columns.map { "\($0.name) IS NULL" }.joined(separator: " AND ")))"
        }
    }

    /// Returns the condition that compares a value, or a list's element, with the constants.
    private mutating func condition(_ column: String, _ comparison: Query.Comparison) -> String {
        let constants = comparison.constants(now: now)
        let value = folded(column, comparison.options)
        func operation(_ sign: String, _ index: Int) -> String {
            "\(value) \(sign) \(parameter(constants[index]))"
        }
        switch comparison.relation {
        case .equal, .notEqual, .contains: return operation("=", 0)
        case .lessThan: return operation("<", 0)
        case .lessThanOrEqual: return operation("<=", 0)
        case .greaterThan: return operation(">", 0)
        case .greaterThanOrEqual: return operation(">=", 0)
        case .between: return "(\(operation(">=", 0)) AND \(operation("<=", 1)))"
        case .in, .containsAny, .containsAll:
            return "\(value) IN (\(constants.map { parameter($0) }.joined(separator: ", ")))"
        case .beginsWith, .memberBeginsWith: return prefix(value, constants[0])
        }
    }

    private mutating func folded(_ column: String, _ options: Query.TextOptions) -> String {
        guard !options.isEmpty else { return column }
        return "tidemark_fold(\(column), \(options.rawValue))"
    }

    /// Returns the condition for a prefix: a range from the prefix up to the prefix with its last
    /// byte incremented.
    private mutating func prefix(_ value: String, _ constant: SQLValue) -> String {
        guard case .blob(let bytes) = constant, var last = bytes.last else {
            return "\(value) IS NOT NULL"
        }
        // No byte of UTF-8 is 255.
        last += 1
        let end = SQLValue.blob(bytes.dropLast() + [last])
        return "(\(value) >= \(parameter(constant)) AND \(value) < \(parameter(end)))"
    }

    // MARK: Lists

    private mutating func membership(_ comparison: Query.Comparison) -> String {
        guard case .field(let name) = comparison.key else { return "FALSE" }
        let constants = comparison.constants(now: now)
        let isSet = comparison.relation == .containsAll || comparison.relation == .containsAny
        guard !isSet || !constants.isEmpty else {
            // Every list contains all elements of an empty list, and no list contains any.
            let lists = type.columns(of: name).filter(\.kind.isList)
            guard comparison.relation == .containsAll, !lists.isEmpty else { return "FALSE" }
            return "(\(lists.map { "\($0.name) IS NOT NULL" }.joined(separator: " OR ")))"
        }
        var kinds: [ColumnKind] = []
        if let kind = comparison.operandKind { kinds.append(kind.list) }
        if comparison.relation == .memberBeginsWith { kinds.append(.referenceList) }
        var conditions: [String] = []
        for kind in kinds {
            guard let column = type.column(of: name, kind) else { continue }
            // An index of the elements has unfolded values, so a folded comparison cannot use it.
            if comparison.options.isEmpty { need(.elements(column.id)) }
            if comparison.relation == .containsAll {
                var all: [String] = []
                for constant in constants.eachOnce {
                    let value = folded("value", comparison.options)
                    let condition = "\(value) = \(parameter(constant))"
                    all.append(holders(column, condition, isNarrow: kinds.count == 1))
                }
                conditions.append(Self.balanced(all[...], " AND ") ?? "TRUE")
            } else {
                let condition = condition("value", comparison)
                conditions.append(holders(column, condition, isNarrow: kinds.count == 1))
            }
        }
        return conditions.isEmpty ? "FALSE" : "(\(conditions.joined(separator: " OR ")))"
    }

    /// Selects the records whose list has an element that fulfils a condition.
    private mutating func holders(
        _ column: Column,
        _ condition: String,
        isNarrow: Bool
    ) -> String {
        let set = "SELECT record FROM \(column.listTable) WHERE \(isInZones) AND \(condition)"
        // With two kinds of values, each set has only some of the results, and neither narrows the
        // search.
        if isNarrow { narrow(to: set) }
        return "sequence IN (\(set))"
    }

    private mutating func listEquality(_ comparison: Query.Comparison) -> String {
        guard case .field(let name) = comparison.key, let kind = comparison.operandKind,
            let column = type.column(of: name, kind.list)
        else { return "FALSE" }
        let constants = comparison.constants(now: now)
        var conditions = ["\(column.name) = \(constants.count)"]
        for (position, constant) in constants.enumerated() {
            let value = folded("value", comparison.options)
            conditions.append(
                """
                EXISTS (SELECT 1 FROM \(column.listTable) WHERE record = sequence AND \
                position = \(position) AND \(value) = \(parameter(constant)))
                """
            )
        }
        return Self.balanced(conditions[...], " AND ") ?? "FALSE"
    }
}

extension Query.Comparison {
    /// The kind of the compared value, or of the compared list's elements.
    fileprivate var operandKind: ColumnKind? {
        switch operand {
        case .null: nil
        case .now: .time
        case .value(let value): ColumnKind(value.type.element ?? value.type)
        }
    }

    fileprivate var comparesLists: Bool {
        guard case .value(let value) = operand else { return false }
        return relation == .equal && value.type.element != nil
    }

    /// Returns the constants of the comparison in the form of the columns, folded if requested.
    func constants(now: Int64) -> [SQLValue] {
        switch operand {
        case .null: return []
        case .now: return [.int(now)]
        case .value(let value):
            let values = value.type.element == nil ? [value] : value.elements
            return values.map { value in
                switch value {
                case .string(let text): .blob(FoldedText.bytes(of: text, options))
                case .int64(let number), .timestamp(let number): .int(number)
                case .double(let number): .real(number)
                case .reference(let link): .text(link.recordName)
                case .location(let place): .blob(place.stored)
                default: .null
                }
            }
        }
    }
}

// MARK: Words and places

extension QueryStatement {
    fileprivate mutating func sql(for search: Query.WordSearch) -> String {
        let words = search.foldedWords
        let columns: [Column]
        switch search.key {
        case nil:
            let searched = searchedFields.map { Set($0.map { Name($0) }) }
            columns = type.columns.filter { column in
                column.kind.holdsWords && searched?.contains(column.fieldName) ?? true
            }
        case .field(let name)?: columns = type.columns(of: name).filter(\.kind.holdsWords)
        case .system?: columns = []
        }
        guard !words.isEmpty, !columns.isEmpty else { return "FALSE" }
        for column in columns { need(.words(type: type.id, column.id)) }
        // A search for all words requires all of them in one record, in any fields.
        let groups = search.requiresAll ? words.map { [$0] } : [words]
        var conditions: [String] = []
        for group in groups {
            let match = parameter(.text(self.search(forAny: group)))
            let set = Self.union(
                columns.map { column in
                    """
                    SELECT rowid AS id FROM \(column.wordTable) WHERE \(column.wordTable) \
                    MATCH CAST(\(match) AS TEXT)
                    """
                }
            )
            narrow(to: set)
            conditions.append("sequence IN (\(set))")
        }
        return Self.balanced(conditions[...], " AND ") ?? "FALSE"
    }

    /// Returns the union of some selections, of which SQLite joins at most 500 in one statement.
    private static func union(_ selections: [String]) -> String {
        let parts = stride(from: 0, to: selections.count, by: 250).map { start in
            selections[start...].prefix(250).joined(separator: " UNION ALL ")
        }
        if parts.count == 1 { return parts[0] }
        return parts.map { "SELECT id FROM (\($0))" }.joined(separator: " UNION ALL ")
    }

    fileprivate mutating func sql(for test: Query.DistanceTest) -> String {
        guard case .field(let name) = test.key, let column = type.column(of: name, .location) else {
            return "FALSE"
        }
        let latitude = parameter(.real(test.origin.latitude))
        let longitude = parameter(.real(test.origin.longitude))
        let radius = parameter(.real(test.radius))
        let exact =
            "tidemark_distance(\(column.name), \(latitude), \(longitude)) "
            + "\(test.relation.text) \(radius)"
        // For "farther than", no box contains all results.
        guard test.relation == .lessThan || test.relation == .lessThanOrEqual,
            let boxes = Box.boxes(around: test.origin, radius: test.radius)
        else { return exact }
        need(.places(type: type.id, column.id))
        let near = boxes.map { box in
            """
            latitudeTo >= \(parameter(.real(box.south))) AND \
            latitudeFrom <= \(parameter(.real(box.north))) AND \
            longitudeTo >= \(parameter(.real(box.west))) AND \
            longitudeFrom <= \(parameter(.real(box.east)))
            """
        }
        let set = near.map { "SELECT id FROM \(column.placeTable) WHERE \($0)" }
            .joined(separator: " UNION ALL ")
        narrow(to: set)
        return "(sequence IN (\(set)) AND \(exact))"
    }
}
