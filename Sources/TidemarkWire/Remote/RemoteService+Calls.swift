// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkModel

extension RemoteService: DatabaseService {
    /// See `DatabaseService`.
    public func modifyRecords(
        _ request: ModifyRecordsRequest,
        as caller: Caller
    ) async throws(SyncError) -> ModifyRecordsResult {
        let result = try await perform(DatabaseMethods.modifyRecords, request, as: caller)
        try Self.check(result.saves.count, for: request.saves.count)
        try Self.check(result.deletions.count, for: request.deletions.count)
        return result
    }

    /// See `DatabaseService`.
    public func fetchRecords(
        _ request: FetchRecordsRequest,
        as caller: Caller
    ) async throws(SyncError) -> [Result<Record, SyncError>] {
        var results: [Result<Record, SyncError>] = []
        var places = Array(request.recordIDs.indices)
        while true {
            var rest = request
            rest.recordIDs = places.map { request.recordIDs[$0] }
            let answers = try await perform(DatabaseMethods.fetchRecords, rest, as: caller)
            try Self.check(answers.count, for: places.count)
            if results.isEmpty {
                results = answers.map(\.result)
            } else {
                for (place, answer) in zip(places, answers) { results[place] = answer.result }
            }
            // An answer has at least one record, however large, so that each one has fewer left.
            let left = places.filter { place in
                if case .failure(let error) = results[place] {
                    error.code == .resultsTruncated
                } else {
                    false
                }
            }
            if left.isEmpty || left.count == places.count { return results }
            places = left
        }
    }

    /// See `DatabaseService`.
    public func zoneChanges(
        _ request: ZoneChangesRequest,
        as caller: Caller
    ) async throws(SyncError) -> ZoneChanges {
        try await perform(DatabaseMethods.zoneChanges, request, as: caller)
    }

    /// See `DatabaseService`.
    public func databaseChanges(
        _ request: DatabaseChangesRequest,
        as caller: Caller
    ) async throws(SyncError) -> DatabaseChanges {
        try await perform(DatabaseMethods.databaseChanges, request, as: caller)
    }

    /// See `DatabaseService`.
    public func modifyZones(
        _ request: ModifyZonesRequest,
        as caller: Caller
    ) async throws(SyncError) -> ModifyZonesResult {
        let result = try await perform(DatabaseMethods.modifyZones, request, as: caller)
        try Self.check(result.saves.count, for: request.saves.count)
        try Self.check(result.deletions.count, for: request.deletions.count)
        return result
    }

    /// See `DatabaseService`.
    public func zones(as caller: Caller) async throws(SyncError) -> [Zone] {
        try await perform(DatabaseMethods.zones, Nothing(), as: caller)
    }

    /// See `DatabaseService`.
    public func query(
        _ request: QueryRequest,
        as caller: Caller
    ) async throws(SyncError) -> QueryPageResult {
        try await perform(DatabaseMethods.query, request, as: caller)
    }

    /// See `DatabaseService`.
    public func heldAssets(
        _ request: HeldAssetsRequest,
        as caller: Caller
    ) async throws(SyncError) -> [Bool] {
        let held = try await perform(DatabaseMethods.heldAssets, request, as: caller)
        try Self.check(held.count, for: request.assets.count)
        return held
    }

    /// See `DatabaseService`.
    public func accountStatus(as caller: Caller) async throws(SyncError) -> AccountStatus {
        try await perform(DatabaseMethods.accountStatus, Nothing(), as: caller)
    }

    /// See `DatabaseService`.
    public func currentUser(as caller: Caller) async throws(SyncError) -> UserID {
        try await perform(DatabaseMethods.currentUser, Nothing(), as: caller)
    }

    /// See `DatabaseService`.
    public func lookUpUsers(
        _ lookups: [UserLookup],
        as caller: Caller
    ) async throws(SyncError) -> [UserIdentity?] {
        let found = try await perform(DatabaseMethods.lookUpUsers, lookups, as: caller)
        try Self.check(found.count, for: lookups.count)
        return found
    }

    /// See `DatabaseService`.
    public func contacts(as caller: Caller) async throws(SyncError) -> [UserIdentity] {
        try await perform(DatabaseMethods.contacts, Nothing(), as: caller)
    }

    /// See `DatabaseService`.
    public func acceptShare(
        _ link: String,
        as caller: Caller
    ) async throws(SyncError) -> Record {
        try await perform(DatabaseMethods.acceptShare, link, as: caller)
    }

    /// See `DatabaseService`.
    public func requestShareAccess(
        _ link: String,
        as caller: Caller
    ) async throws(SyncError) {
        _ = try await perform(DatabaseMethods.requestShareAccess, link, as: caller)
    }

    /// See `DatabaseService`.
    public func modifySubscriptions(
        _ request: ModifySubscriptionsRequest,
        as caller: Caller
    ) async throws(SyncError) -> ModifySubscriptionsResult {
        let result = try await perform(DatabaseMethods.modifySubscriptions, request, as: caller)
        try Self.check(result.saves.count, for: request.saves.count)
        try Self.check(result.deletions.count, for: request.deletions.count)
        return result
    }

    /// See `DatabaseService`.
    public func subscriptions(as caller: Caller) async throws(SyncError) -> [Subscription] {
        try await perform(DatabaseMethods.subscriptions, Nothing(), as: caller)
    }

    /// See `DatabaseService`.
    public func fetchSubscriptions(
        _ ids: [String],
        as caller: Caller
    ) async throws(SyncError) -> [Result<Subscription, SyncError>] {
        let results = try await perform(DatabaseMethods.fetchSubscriptions, ids, as: caller)
        try Self.check(results.count, for: ids.count)
        return results.map(\.result)
    }

    /// See `DatabaseService`.
    public func notificationChanges(
        _ request: NotificationChangesRequest,
        as caller: Caller
    ) async throws(SyncError) -> NotificationChanges {
        try await perform(DatabaseMethods.notificationChanges, request, as: caller)
    }

    /// See `DatabaseService`.
    public func markNotificationsRead(
        _ ids: [String],
        as caller: Caller
    ) async throws(SyncError) -> [Result<String, SyncError>] {
        let results = try await perform(DatabaseMethods.markNotificationsRead, ids, as: caller)
        try Self.check(results.count, for: ids.count)
        return results.map(\.result)
    }

    /// See `DatabaseService`.
    public func notificationToken(as caller: Caller) async throws(SyncError) -> ChangeToken {
        try await perform(DatabaseMethods.notificationToken, Nothing(), as: caller)
    }

    /// See `DatabaseService`.
    public func shareMetadata(
        of link: String,
        withRootRecord: Bool,
        as caller: Caller
    ) async throws(SyncError) -> ShareMetadata {
        let request = DatabaseMethods.ShareMetadataRequest(
            link: link,
            withRootRecord: withRootRecord
        )
        return try await perform(DatabaseMethods.shareMetadata, request, as: caller)
    }

    /// See `DatabaseService`; an upload is not repeated.
    public func uploadAsset<Pieces: AsyncSequence>(
        _ pieces: Pieces,
        _ request: UploadAssetRequest,
        as caller: Caller
    ) async throws(SyncError) -> AssetReference where Pieces.Element == [UInt8] {
        try await transport.uploadAsset(pieces, request, as: caller)
    }

    /// See `DatabaseService`.
    public func downloadAsset(
        _ request: DownloadAssetRequest,
        as caller: Caller
    ) async throws(SyncError) -> AssetDownload {
        let first = try await patience.repeating { () throws(SyncError) in
            try await transport.downloadAsset(request, as: caller)
        }
        let rest = ResumedDownload(first, of: request, over: transport, as: caller, patience)
        return AssetDownload(
            byteCount: first.byteCount,
            range: first.range,
            changeTag: first.changeTag
        ) { () throws(SyncError) in try await rest.next() }
    }

    /// See `DatabaseService`.
    public func notifications(
        since token: ChangeToken,
        as caller: Caller
    ) async throws(SyncError) -> AsyncThrowingStream<Subscription.Push, any Error> {
        let transport = transport
        // The first connection is made before this returns, so that a wrong token or a missing
        // credential is an error of this call, not of the stream.
        let first = try await patience.repeating { () throws(SyncError) in
            try await transport.notifications(since: token, as: caller)
        }
        let stream = ResumedStream(
            first,
            patience,
            isClosed: { transport.isClosed },
            open: { (last: Subscription.Push?) throws(SyncError) in
                try await transport.notifications(since: last?.token ?? token, as: caller)
            }
        )
        return AsyncThrowingStream { try await stream.next() }
    }

    /// See `DatabaseService`.
    public func accountStatuses(
        as caller: Caller
    ) async throws(SyncError) -> AsyncThrowingStream<AccountStatus, any Error> {
        let transport = transport
        let first = try await patience.repeating { () throws(SyncError) in
            try await transport.accountStatuses(as: caller)
        }
        let stream = ResumedStream(
            first,
            patience,
            isClosed: { transport.isClosed },
            open: { (_: AccountStatus?) throws(SyncError) in
                try await transport.accountStatuses(as: caller)
            }
        )
        // A stream begins with the current status, which is often known after a lost connection.
        return AsyncThrowingStream { try await stream.nextOther() }
    }
    /// Throws unless an answer has as many outcomes as the request has items: callers pair them by index.
    private static func check(_ count: Int, for itemCount: Int) throws(SyncError) {
        guard count == itemCount else {
            throw .unreadable("The answer has \(count) outcomes for \(itemCount) items.")
        }
    }
}
