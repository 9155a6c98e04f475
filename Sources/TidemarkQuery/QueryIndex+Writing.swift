// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel

extension QueryIndex {
    /// Returns the SQL of a query: that of an earlier one which differs only in its constants, or a
    /// newly written one.
    ///
    /// Returns `nil` if the cursor does not match, and throws, as
    /// ``QueryStatement/select(_:after:limit:)`` does.
    func write(
        _ query: Query,
        _ type: TypeTable,
        zones: [UInt64],
        after cursor: QueryCursor?,
        limit: Int,
        now: Int64,
        searchedFields: [String]?
    ) throws(SyncError) -> WrittenQuery? {
        // A cursor adds conditions, which depend on whether its values are null.
        let simple = cursor == nil ? SimpleQuery(query, now: now) : nil
        let form = simple.map { KnownForms.Form($0, of: type, zoneCount: zones.count) }
        if let simple, let form, let known = forms.withLock({ $0[form] }) {
            return WrittenQuery(
                selection: known.selection,
                arguments: zones.map { .int(Int64(bitPattern: $0)) } + simple.constants
                    + [.int(Int64(limit))],
                neededIndexes: known.neededIndexes,
                searchedWordCount: 0
            )
        }
        var statement = QueryStatement(type, zones: zones, now: now, searchedFields: searchedFields)
        guard let selection = try statement.select(query, after: cursor, limit: limit) else {
            return nil
        }
        let written = WrittenQuery(
            selection: selection,
            arguments: statement.arguments,
            neededIndexes: statement.neededIndexes,
            searchedWordCount: statement.searchedWordCount
        )
        // A comparison with a field that has no column is false, and its constant has no parameter.
        if let simple, let form, selection.isExact,
            written.arguments.count == zones.count + simple.constants.count + 1
        {
            forms.withLock { $0.add(written, as: form) }
        }
        return written
    }
}
