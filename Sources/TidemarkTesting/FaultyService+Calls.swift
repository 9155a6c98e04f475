// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkModel

/// Every call goes to the underlying service, unless it is set to fail.
extension FaultyService: DatabaseService {
    /// See `DatabaseService`.
    public func modifyRecords(
        _ request: ModifyRecordsRequest,
        as caller: Caller
    ) async throws(SyncError) -> ModifyRecordsResult {
        // After the fault of the call: a request that fails anyway neither uses up the fault of a
        // record nor runs the closures.
        try await pass(.save) { (service) throws(SyncError) in
            try await modify(request) { (rest) throws(SyncError) in
                try await service.modifyRecords(rest, as: caller)
            }
        }
    }

    /// See `DatabaseService`.
    public func fetchRecords(
        _ request: FetchRecordsRequest,
        as caller: Caller
    ) async throws(SyncError) -> [Result<Record, SyncError>] {
        try await pass(.fetch) { (service) throws(SyncError) in
            try await service.fetchRecords(request, as: caller)
        }
    }

    /// See `DatabaseService`.
    public func zoneChanges(
        _ request: ZoneChangesRequest,
        as caller: Caller
    ) async throws(SyncError) -> ZoneChanges {
        try await pass(.fetch) { (service) throws(SyncError) in
            try await service.zoneChanges(request, as: caller)
        }
    }

    /// See `DatabaseService`.
    public func databaseChanges(
        _ request: DatabaseChangesRequest,
        as caller: Caller
    ) async throws(SyncError) -> DatabaseChanges {
        try await pass(.fetch) { (service) throws(SyncError) in
            try await service.databaseChanges(request, as: caller)
        }
    }

    /// See `DatabaseService`.
    public func modifyZones(
        _ request: ModifyZonesRequest,
        as caller: Caller
    ) async throws(SyncError) -> ModifyZonesResult {
        try await pass(.save) { (service) throws(SyncError) in
            try await service.modifyZones(request, as: caller)
        }
    }

    /// See `DatabaseService`.
    public func zones(as caller: Caller) async throws(SyncError) -> [Zone] {
        try await pass(.fetch) { (service) throws(SyncError) in
            try await service.zones(as: caller)
        }
    }

    /// See `DatabaseService`.
    public func query(
        _ request: QueryRequest,
        as caller: Caller
    ) async throws(SyncError) -> QueryPageResult {
        try await pass(.fetch) { (service) throws(SyncError) in
            try await service.query(request, as: caller)
        }
    }

    /// See `DatabaseService`.
    public func uploadAsset<Pieces: AsyncSequence>(
        _ pieces: Pieces,
        _ request: UploadAssetRequest,
        as caller: Caller
    ) async throws(SyncError) -> AssetReference where Pieces.Element == [UInt8] {
        // A fault of a save must not hit the uploads that precede it, so uploads are another kind.
        try await pass(.other) { (service) throws(SyncError) in
            try await service.uploadAsset(pieces, request, as: caller)
        }
    }

    /// See `DatabaseService`.
    public func heldAssets(
        _ request: HeldAssetsRequest,
        as caller: Caller
    ) async throws(SyncError) -> [Bool] {
        try await pass(.other) { (service) throws(SyncError) in
            try await service.heldAssets(request, as: caller)
        }
    }

    /// See `DatabaseService`.
    public func downloadAsset(
        _ request: DownloadAssetRequest,
        as caller: Caller
    ) async throws(SyncError) -> AssetDownload {
        try await pass(.download) { (service) throws(SyncError) in
            try await service.downloadAsset(request, as: caller)
        }
    }

    /// See `DatabaseService`.
    public func accountStatus(as caller: Caller) async throws(SyncError) -> AccountStatus {
        try await pass(.other) { (service) throws(SyncError) in
            try await service.accountStatus(as: caller)
        }
    }

    /// See `DatabaseService`.
    public func currentUser(as caller: Caller) async throws(SyncError) -> UserID {
        try await pass(.other) { (service) throws(SyncError) in
            try await service.currentUser(as: caller)
        }
    }

    /// See `DatabaseService`.
    public func lookUpUsers(
        _ lookups: [UserLookup],
        as caller: Caller
    ) async throws(SyncError) -> [UserIdentity?] {
        try await pass(.other) { (service) throws(SyncError) in
            try await service.lookUpUsers(lookups, as: caller)
        }
    }

    /// See `DatabaseService`.
    public func contacts(as caller: Caller) async throws(SyncError) -> [UserIdentity] {
        try await pass(.other) { (service) throws(SyncError) in
            try await service.contacts(as: caller)
        }
    }

    /// See `DatabaseService`.
    public func acceptShare(_ link: String, as caller: Caller) async throws(SyncError) -> Record {
        try await pass(.other) { (service) throws(SyncError) in
            try await service.acceptShare(link, as: caller)
        }
    }

    /// See `DatabaseService`.
    public func shareMetadata(
        of link: String,
        withRootRecord: Bool,
        as caller: Caller
    ) async throws(SyncError) -> ShareMetadata {
        try await pass(.other) { (service) throws(SyncError) in
            try await service.shareMetadata(
                of: link,
                withRootRecord: withRootRecord,
                as: caller
            )
        }
    }

    /// See `DatabaseService`.
    public func requestShareAccess(_ link: String, as caller: Caller) async throws(SyncError) {
        try await pass(.other) { (service) throws(SyncError) in
            try await service.requestShareAccess(link, as: caller)
        }
    }

    /// See `DatabaseService`.
    public func modifySubscriptions(
        _ request: ModifySubscriptionsRequest,
        as caller: Caller
    ) async throws(SyncError) -> ModifySubscriptionsResult {
        try await pass(.save) { (service) throws(SyncError) in
            try await service.modifySubscriptions(request, as: caller)
        }
    }

    /// See `DatabaseService`.
    public func subscriptions(as caller: Caller) async throws(SyncError) -> [Subscription] {
        try await pass(.fetch) { (service) throws(SyncError) in
            try await service.subscriptions(as: caller)
        }
    }

    /// See `DatabaseService`.
    public func fetchSubscriptions(
        _ ids: [String],
        as caller: Caller
    ) async throws(SyncError) -> [Result<Subscription, SyncError>] {
        try await pass(.fetch) { (service) throws(SyncError) in
            try await service.fetchSubscriptions(ids, as: caller)
        }
    }

    /// Never delayed and never fails: a device receives notifications whatever a test does.
    public func notificationChanges(
        _ request: NotificationChangesRequest,
        as caller: Caller
    ) async throws(SyncError) -> NotificationChanges {
        try await service().notificationChanges(request, as: caller)
    }

    /// See `DatabaseService`.
    public func markNotificationsRead(
        _ ids: [String],
        as caller: Caller
    ) async throws(SyncError) -> [Result<String, SyncError>] {
        try await pass(.other) { (service) throws(SyncError) in
            try await service.markNotificationsRead(ids, as: caller)
        }
    }

    /// Never delayed and never fails: a device receives notifications whatever a test does.
    public func notificationToken(as caller: Caller) async throws(SyncError) -> ChangeToken {
        try await service().notificationToken(as: caller)
    }

    /// Never delayed and never fails: a device receives notifications whatever a test does.
    public func notifications(
        since token: ChangeToken,
        as caller: Caller
    ) async throws(SyncError) -> AsyncThrowingStream<Subscription.Push, any Error> {
        try await service().notifications(since: token, as: caller)
    }

    /// Never delayed and never fails: a device receives notifications whatever a test does.
    public func accountStatuses(
        as caller: Caller
    ) async throws(SyncError) -> AsyncThrowingStream<AccountStatus, any Error> {
        try await service().accountStatuses(as: caller)
    }
}
