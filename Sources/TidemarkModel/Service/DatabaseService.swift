// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The interface of a store, for apps, the CloudKit module and servers.
///
/// A `Store` implements it, and so does a client of a store that another process has open. Every
/// call has a caller. A call throws if the request as a whole failed. If only an item failed, its
/// error is in the result.
///
/// **Repeating a call.** A connection can be lost before or after a call was performed. A call that
/// only reads may be repeated as it is. A call that *writes*, as its comment says, may be repeated
/// under the same ``Caller/requestID``: its changes are not made again, and the first answer is
/// returned again. Without a request id it may not be repeated, because changes by others in
/// between would be treated as seen by the caller. An upload may be repeated with the same bytes.
/// The two streams are resumed by a new request, ``notifications(since:as:)`` with the token of the
/// last notification.
public protocol DatabaseService: Sendable {
    /// Saves and deletes records; writes.
    ///
    /// Every item that the result reports as done is durable.
    func modifyRecords(
        _ request: ModifyRecordsRequest,
        as caller: Caller
    ) async throws(SyncError) -> ModifyRecordsResult

    /// Fetches records by identity: for each, in order, the record or its error.
    func fetchRecords(
        _ request: FetchRecordsRequest,
        as caller: Caller
    ) async throws(SyncError) -> [Result<Record, SyncError>]

    /// Returns one page of the changes in a zone after a token.
    func zoneChanges(
        _ request: ZoneChangesRequest,
        as caller: Caller
    ) async throws(SyncError) -> ZoneChanges

    /// Returns one page of the zones in the caller's database that changed after a token.
    func databaseChanges(
        _ request: DatabaseChangesRequest,
        as caller: Caller
    ) async throws(SyncError) -> DatabaseChanges

    /// Creates and deletes zones; writes.
    ///
    /// Every item that the result reports as done is durable.
    func modifyZones(
        _ request: ModifyZonesRequest,
        as caller: Caller
    ) async throws(SyncError) -> ModifyZonesResult

    /// Returns the zones of the caller's database, in the order of their names' bytes.
    func zones(as caller: Caller) async throws(SyncError) -> [Zone]

    // MARK: Queries

    /// Finds records, one page of them, in the query's order.
    func query(
        _ request: QueryRequest,
        as caller: Caller
    ) async throws(SyncError) -> QueryPageResult

    // MARK: Assets

    /// Uploads the bytes of an asset, piece by piece, and returns the reference for a save.
    ///
    /// The bytes are durable when it returns.
    func uploadAsset<Pieces: AsyncSequence>(
        _ pieces: Pieces,
        _ request: UploadAssetRequest,
        as caller: Caller
    ) async throws(SyncError) -> AssetReference where Pieces.Element == [UInt8]

    /// Returns, for each asset in order, true if the database holds its bytes, so that they need
    /// not be sent.
    func heldAssets(
        _ request: HeldAssetsRequest,
        as caller: Caller
    ) async throws(SyncError) -> [Bool]

    /// Returns the bytes, or a range, of an asset that a record names.
    func downloadAsset(
        _ request: DownloadAssetRequest,
        as caller: Caller
    ) async throws(SyncError) -> AssetDownload

    // MARK: Users

    /// Returns the status of the caller's account.
    func accountStatus(as caller: Caller) async throws(SyncError) -> AccountStatus

    /// Returns the user of the caller.
    func currentUser(as caller: Caller) async throws(SyncError) -> UserID

    /// Returns the identities of users, in the order of the lookups; `nil` for a user that was not
    /// found.
    func lookUpUsers(
        _ lookups: [UserLookup],
        as caller: Caller
    ) async throws(SyncError) -> [UserIdentity?]

    /// Returns those of the caller's contacts who are discoverable.
    func contacts(as caller: Caller) async throws(SyncError) -> [UserIdentity]

    // MARK: Sharing

    /// Accepts the share that a link leads to, and returns the share's record; writes.
    func acceptShare(_ link: String, as caller: Caller) async throws(SyncError) -> Record

    /// Returns the metadata of the share that a link leads to.
    func shareMetadata(
        of link: String,
        withRootRecord: Bool,
        as caller: Caller
    ) async throws(SyncError) -> ShareMetadata

    /// Requests access to a share; writes.
    func requestShareAccess(_ link: String, as caller: Caller) async throws(SyncError)

    // MARK: Subscriptions

    /// Saves and deletes subscriptions of the caller; writes.
    ///
    /// Every item that the result reports as done is durable.
    func modifySubscriptions(
        _ request: ModifySubscriptionsRequest,
        as caller: Caller
    ) async throws(SyncError) -> ModifySubscriptionsResult

    /// Returns the caller's subscriptions in the caller's database, in the order of their ids'
    /// bytes.
    func subscriptions(as caller: Caller) async throws(SyncError) -> [Subscription]

    /// Fetches subscriptions by their ids: for each, in order, the subscription or its error.
    func fetchSubscriptions(
        _ ids: [String],
        as caller: Caller
    ) async throws(SyncError) -> [Result<Subscription, SyncError>]

    /// Returns the caller's notifications after a token, one page of them, whichever database they
    /// are from.
    func notificationChanges(
        _ request: NotificationChangesRequest,
        as caller: Caller
    ) async throws(SyncError) -> NotificationChanges

    /// Marks notifications as read: for each, in order, its id or its error.
    ///
    /// The user's other clients are notified. Writes, and may be repeated without a request id.
    func markNotificationsRead(
        _ ids: [String],
        as caller: Caller
    ) async throws(SyncError) -> [Result<String, SyncError>]

    /// Returns the token after all current notifications of the caller, without reading them.
    func notificationToken(as caller: Caller) async throws(SyncError) -> ChangeToken

    /// Returns the caller's notifications after a token, then future ones, pruned to the size of a
    /// push.
    ///
    /// Ends when the service is closed.
    func notifications(
        since token: ChangeToken,
        as caller: Caller
    ) async throws(SyncError) -> AsyncThrowingStream<Subscription.Push, any Error>

    // MARK: Account changes

    /// Returns the current status of the caller's account, then its later ones.
    ///
    /// Ends when the service is closed.
    func accountStatuses(
        as caller: Caller
    ) async throws(SyncError) -> AsyncThrowingStream<AccountStatus, any Error>
}

extension DatabaseService {
    /// Returns the caller's notifications from now on; as ``notifications(since:as:)`` otherwise.
    public func notifications(
        as caller: Caller
    ) async throws(SyncError) -> AsyncThrowingStream<Subscription.Push, any Error> {
        try await notifications(since: notificationToken(as: caller), as: caller)
    }
}
