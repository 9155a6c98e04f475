// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkDatabase
public import TidemarkModel

// Reads of handles as of a point in time: their results at that time. Permissions are checked as of
// now. All need a handle that was made from a store, and throw `invalidArguments` for a point that
// has been dropped (`isHistoryPruned`) or is in the future.

extension ZoneHandle {
    /// Returns the record of a name as of a point.
    ///
    /// One lookup, plus a read for each later version. Throws `unknownItem` if there was no such
    /// record.
    public func fetch(_ record: some RecordNamed, asOf point: PointInTime) async throws -> Record {
        let store = try database.store
        return try await store.fetchRecords(
            FetchRecordsRequest([try recordID(record)]),
            as: caller,
            asOf: try point.position(in: store)
        ).only()
    }

    /// The record of a name as it was, as a typed value.
    public func fetch<Value: RecordCodable>(
        _ type: Value.Type,
        _ record: some RecordNamed,
        asOf point: PointInTime
    ) async throws -> Stored<Value> {
        try Stored(try await fetch(record, asOf: point))
    }

    /// Returns all records of a type that matched a condition then, in order, as typed values.
    ///
    /// Costs the events of the zone before the point or after it, whichever are nearer, and a read of
    /// every record of the zone.
    public func query<Value: RecordCodable>(
        _ type: Value.Type,
        where filter: Query.Filter = .all,
        sortedBy order: Query.SortDescriptor...,
        asOf point: PointInTime
    ) async throws -> [Stored<Value>] {
        let store = try database.store
        let position = try point.position(in: store)
        let query = Query(
            recordType: type.recordType,
            predicate: try filter.predicate(),
            sortDescriptors: order
        )
        var found: [Stored<Value>] = []
        // All pages are as of one point, so the position is found once, before the first page.
        var request = QueryRequest(query, in: id)
        repeat {
            try Task.checkCancellation()
            let page = try await store.query(request, as: caller, asOf: position)
            found += try page.records.map { (record) throws(SyncError) in try Stored(record) }
            request.cursor = page.cursor
        } while request.cursor != nil
        return found
    }
}
