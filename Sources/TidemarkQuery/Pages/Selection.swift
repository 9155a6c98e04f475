// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel

/// A query's SQL, and what is left to do where that does not say everything.
struct Selection: Sendable {
    /// Sets with fewer records are gone through before anything else.
    static let fewCount = 2_000

    /// As SQLite likes to run it: mostly in the query's order, until a page is full.
    let text: String
    /// The same, going through the smallest set and sorting what is found.
    ///
    /// SQLite cannot know how often a word occurs, and would go through a zone for one that hardly
    /// does.
    let textByFewest: String?
    /// Count the records of sets, up to ``fewCount``.
    let probes: [String]
    /// Whether what is selected fulfils the predicate, and need not be looked at.
    let isExact: Bool

    /// What has to be asked of each record that is selected; `nil` for nothing.
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
