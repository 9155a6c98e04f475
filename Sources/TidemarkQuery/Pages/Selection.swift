// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel

/// A query's SQL, and the checks that remain if the SQL is not exact.
struct Selection: Sendable {
    /// The number of records below which a set is used first.
    static let fewCount = 2_000

    /// The table of the query's type.
    let table: String
    /// True if rows can be of several zones.
    let hasZones: Bool
    /// The conditions, which must all hold.
    let conditions: [String]
    /// The terms of the order.
    let order: [String]
    /// The maximum number of rows.
    let limit: String
    /// Selections of sequence numbers, each of which has those of all results.
    let sets: [String]
    /// True if all selected records fulfil the predicate and need no further check.
    let isExact: Bool
    /// The SQL for a plan that reads rows in the query's order, until a page is full.
    ///
    /// If SQLite sorted the rows, it would read the bodies of all rows that fulfil the conditions.
    let inOrder: String
    /// The SQL that reads the values by which a row is sorted; the row's number takes the place of
    /// the limit among the parameters.
    let place: String

    /// Creates a selection; `values` are those by which rows are sorted, as SQL.
    init(
        table: String,
        values: [String],
        hasZones: Bool,
        conditions: [String],
        order: [String],
        limit: String,
        sets: [String],
        isExact: Bool
    ) {
        self.table = table
        self.hasZones = hasZones
        self.conditions = conditions
        self.order = order
        self.limit = limit
        self.sets = sets
        self.isExact = isExact
        inOrder = """
            SELECT \(Self.columns(hasZones)) FROM \(table) \
            LEFT JOIN bodies ON record = sequence \
            WHERE \(conditions.joined(separator: " AND ")) \
            ORDER BY \(order.joined(separator: ", ")) LIMIT \(limit)
            """
        place =
            "SELECT \(values.joined(separator: ", ")) FROM \(table) WHERE sequence = \(limit)"
    }

    /// Returns the check of each selected record; `nil` if none is needed.
    func shows(
        _ query: Query,
        _ now: Int64,
        _ searchedFields: [String]?,
        and shows: ((IndexedRecord) throws -> Bool)?
    ) throws(SyncError) -> ((IndexedRecord) throws -> Bool)? {
        if isExact { return shows }
        let matcher = try Query.Matcher(query.predicate, now: now, searchedFields: searchedFields)
        return { record in try matcher.matches(record.body) && shows?(record) ?? true }
    }

    /// The columns of a page, the last of which is NULL if a body is missing.
    private static func columns(_ hasZones: Bool) -> String { hasZones ? "zone, body" : "body" }

    /// The SQL for any other plan: it joins the bodies last, of the page's rows only.
    var sorted: String { sorted(by: order, prefix: "") }

    /// The SQL that reads the smallest set and sorts the result; `nil` if there is no set.
    ///
    /// SQLite cannot know the frequency of a word, and would read a whole zone for a rare one.
    var byFewest: String? {
        // A plus before a term prevents SQLite from using an index for it.
        sets.isEmpty ? nil : sorted(by: order.map { "+" + $0 }, prefix: "+")
    }

    private func sorted(by order: [String], prefix: String) -> String {
        """
        SELECT \(Self.columns(hasZones)) FROM (\
        SELECT sequence AS id\(hasZones ? ", zone" : "") FROM \(table) \
        WHERE \(prefix)\(conditions.joined(separator: " AND ")) \
        ORDER BY \(order.joined(separator: ", ")) LIMIT \(limit)\
        ) LEFT JOIN bodies ON record = id
        """
    }

    /// Statements that count the records of the sets, up to ``fewCount``.
    var probes: [String] {
        sets.map { "SELECT count(*) FROM (\($0) LIMIT \(Self.fewCount))" }
    }
}
