// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkLog
public import TidemarkModel

extension Store {
    /// Returns one page of the records that match a query, in the query's order.
    ///
    /// The result includes everything that was durable when the query began. If the query needs an
    /// index that the schema lacks, development adds the index.
    ///
    /// The query first updates the query index, which takes time proportional to the changes since
    /// the last query. If the store was queried before, opening it starts the update in the
    /// background; ``queryIndexProgress`` reports the progress. Until the index is ready, a query
    /// over up to 10,000 records with one page of results reads each of them instead of waiting. A
    /// store that is open for reading writes no index, and reads every record of the zones.
    ///
    /// Throws `zoneNotFound`; `unknownItem` for a record type that does not exist;
    /// `invalidArguments` for a malformed query, for a missing index in production, and for a
    /// cursor of another query; `limitExceeded` for comparisons with too many values;
    /// `permissionFailure` or `notAuthenticated` if roles let the caller read no record of the
    /// type.
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

    /// Returns the records that a query would have found after an event.
    ///
    /// Fields and types are those of the schema of then, and `now()` is the time of the event;
    /// permissions are checked as of now. It needs no index. It costs the events of the
    /// zones before the event or after it, whichever are nearer, and a read of every record of the
    /// zones, once for all successive pages.
    ///
    /// Throws the errors of ``query(_:as:)``, except for missing indexes; `invalidArguments` for a
    /// position beyond the store's last event.
    public func query(
        _ request: QueryRequest,
        as caller: Caller,
        asOf position: SequenceNumber
    ) async throws(SyncError) -> QueryPageResult {
        let parts = try parts
        return try await parts.queries.query(request, as: caller, asOf: position)
    }
}
