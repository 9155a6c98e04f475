// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkLog
public import TidemarkModel

/// Reads of ``DatabaseService`` as of an event: their results when that event was the last one.
///
/// Permissions are checked as of now. To read the past of a shared database, read its owner's
/// private one. All throw `invalidArguments` for a position beyond the store's last event, and for
/// one below the history horizon: *history pruned*. See also ``Store/query(_:as:asOf:)``.
extension Store {
    /// Fetches records by identity as they were after an event.
    ///
    /// One lookup for each record, plus a read for each later version.
    public func fetchRecords(
        _ request: FetchRecordsRequest,
        as caller: Caller,
        asOf position: SequenceNumber
    ) async throws(SyncError) -> [Result<Record, SyncError>] {
        let parts = try parts
        // A fold of the log may take long, so all reads of the past run on other threads than
        // tasks.
        return try await parts.reader.blockingWork.run { () throws(SyncError) in
            try parts.reader.fetchRecords(request, as: caller, asOf: position)
        }
    }

    /// Returns one page of the changes in a zone after a token, up to an event.
    ///
    /// The result is the one that a device with that token would have received then; without a
    /// token, all records of that time. O(records of the zone), and O(its events before the position
    /// or after it, whichever are nearer). The next page of the same position costs only its changes.
    ///
    /// Throws `zoneNotFound`, `changeTokenExpired`, and `invalidArguments` for a token that was
    /// issued after the event.
    public func zoneChanges(
        _ request: ZoneChangesRequest,
        as caller: Caller,
        asOf position: SequenceNumber
    ) async throws(SyncError) -> ZoneChanges {
        let parts = try parts
        return try await parts.reader.blockingWork.run { () throws(SyncError) in
            try parts.reader.zoneChanges(request, as: caller, asOf: position)
        }
    }

    /// The zones of the caller's database as they were after an event, in the order of their names' bytes.
    ///
    /// O(zones that the database has or had).
    public func zones(
        as caller: Caller,
        asOf position: SequenceNumber
    ) async throws(SyncError) -> [Zone] {
        let parts = try parts
        return try await parts.reader.blockingWork.run { () throws(SyncError) in
            try parts.reader.zones(as: caller, asOf: position)
        }
    }

    /// Returns one page of the zones of the caller's database that changed after a token, up to an
    /// event.
    ///
    /// O(events up to the position). Throws `changeTokenExpired`, and `invalidArguments` for a
    /// token that was issued after the event.
    public func databaseChanges(
        _ request: DatabaseChangesRequest,
        as caller: Caller,
        asOf position: SequenceNumber
    ) async throws(SyncError) -> DatabaseChanges {
        let parts = try parts
        return try await parts.reader.blockingWork.run { () throws(SyncError) in
            try parts.reader.databaseChanges(request, as: caller, asOf: position)
        }
    }

    /// The caller's subscriptions in the caller's database as they were after an event, in the order of
    /// their ids' bytes.
    ///
    /// O(changes to the store's subscriptions before the position or after it).
    public func subscriptions(
        as caller: Caller,
        asOf position: SequenceNumber
    ) async throws(SyncError) -> [Subscription] {
        let parts = try parts
        return try await parts.reader.blockingWork.run { () throws(SyncError) in
            try parts.reader.subscriptions(as: caller, asOf: position)
        }
    }

    /// Subscriptions by their ids as they were after an event: for each, in order, the subscription or why
    /// there was none.
    ///
    /// O(changes to the store's subscriptions before the position or after it).
    public func fetchSubscriptions(
        _ ids: [String],
        as caller: Caller,
        asOf position: SequenceNumber
    ) async throws(SyncError) -> [Result<Subscription, SyncError>] {
        let parts = try parts
        return try await parts.reader.blockingWork.run { () throws(SyncError) in
            try parts.reader.fetchSubscriptions(ids, as: caller, asOf: position)
        }
    }

    /// Returns the bytes of an asset that a record named after an event, or some of them.
    ///
    /// Bytes that no record needs any more may have been removed: `assetNotAvailable`. It costs as
    /// much as fetching the record as of the event.
    public func downloadAsset(
        _ request: DownloadAssetRequest,
        as caller: Caller,
        asOf position: SequenceNumber
    ) async throws(SyncError) -> AssetDownload {
        let parts = try parts
        return try await parts.reader.blockingWork.run { () throws(SyncError) in
            try parts.reader.downloadAsset(request, as: caller, asOf: position)
        }
    }

    /// Looks up users as of an event, in the order of the lookups; `nil` where no user was found.
    ///
    /// The cost is that of fetching two records for each user as of the event.
    public func lookUpUsers(
        _ lookups: [UserLookup],
        as caller: Caller,
        asOf position: SequenceNumber
    ) async throws(SyncError) -> [UserIdentity?] {
        let parts = try parts
        return try await parts.reader.blockingWork.run { () throws(SyncError) in
            try parts.reader.lookUpUsers(lookups, as: caller, asOf: position)
        }
    }

    /// Returns those of the caller's contacts after an event that were discoverable then.
    public func contacts(
        as caller: Caller,
        asOf position: SequenceNumber
    ) async throws(SyncError) -> [UserIdentity] {
        let parts = try parts
        return try await parts.reader.blockingWork.run { () throws(SyncError) in
            try parts.reader.contacts(as: caller, asOf: position)
        }
    }
}
