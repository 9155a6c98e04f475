// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkLog
public import TidemarkModel

extension Store {
    /// Finds records, one page of them, in the query's order.
    ///
    /// The answer shows everything that was durable when the query came. Where the schema has no
    /// index that the query needs, development adds it.
    ///
    /// The query index is brought forward as far as that, which takes time in proportion to what
    /// happened since the last query. In a store whose records were asked for before, opening
    /// begins with it in the background; ``queryIndexProgress`` says how far it has come. Until it
    /// is there, a query for up to 10,000 records of which one page is found looks at each of them,
    /// and waits for nothing. A store that is open for reading writes no index, and looks at every
    /// record of the zones.
    ///
    /// Throws `zoneNotFound`; `unknownItem` for a record type that does not exist;
    /// `invalidArguments` for what the query cannot mean, for a missing index in production, and for a
    /// cursor of something else; `limitExceeded` for comparisons with too many values;
    /// `permissionFailure` or `notAuthenticated` where roles let the caller read no record of the type.
    public func query(
        _ request: QueryRequest,
        as caller: Caller
    ) async throws(SyncError) -> QueryPageResult {
        let parts = try parts
        return try await parts.reader.answer(.query, caller) { () throws(SyncError) in
            try await parts.queries.query(request, as: caller, asOf: nil)
        }
    }

    /// The progress of building or updating the query index; `nil` if neither is running.
    public var queryIndexProgress: QueryIndexProgress? {
        (try? parts)?.queries.indexes?.progress
    }

    /// Finds records as they were after an event: what the query would have found then.
    ///
    /// Fields and types are those of the schema of then, and `now()` is the time of the event; who may
    /// read is a question of now. Needs no index, and costs a fold of the log up to there and a look
    /// at every record of the zones, once for all pages that follow each other.
    ///
    /// Throws what ``query(_:as:)`` throws, but for missing indexes; `invalidArguments` for a position
    /// beyond the store's last event.
    public func query(
        _ request: QueryRequest,
        as caller: Caller,
        asOf position: SequenceNumber
    ) async throws(SyncError) -> QueryPageResult {
        let parts = try parts
        return try await parts.queries.query(request, as: caller, asOf: position)
    }
}
