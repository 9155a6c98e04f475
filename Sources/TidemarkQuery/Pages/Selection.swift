// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel

/// A query's SQL, and the checks that remain if the SQL is not exact.
struct Selection: Sendable {
    /// The number of records below which a set is used first.
    static let fewCount = 2_000

    /// The SQL as SQLite usually runs it: in the query's order, until a page is full.
    let text: String
    /// The SQL that reads the smallest set and sorts the result.
    ///
    /// SQLite cannot know the frequency of a word, and would read a whole zone for a rare one.
    let textByFewest: String?
    /// Statements that count the records of sets, up to ``fewCount``.
    let probes: [String]
    /// True if all selected records fulfil the predicate and need no further check.
    let isExact: Bool

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
}
