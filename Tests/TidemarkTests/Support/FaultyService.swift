// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog
import TidemarkModel

/// A service behind a network that fails when a test says so.
final class FaultyService: DatabaseService {
    /// What goes wrong with a call.
    enum Fault: Sendable {
        /// The request does not arrive: nothing is done.
        case request(SyncError)
        /// The request is done, and its answer does not arrive.
        case answer(SyncError)
    }

    private let service: any DatabaseService
    private let faults = Lock<[Fault]>([])

    init(_ service: any DatabaseService) {
        self.service = service
    }

    /// Lets the next calls fail, one after another.
    func fail(_ next: Fault...) {
        faults.withLock { $0 += next }
    }

    /// Passes a call on, with what goes wrong with it.
    private func pass<Answer>(
        _ call: @autoclosure () async throws(SyncError) -> Answer
    ) async throws(SyncError) -> Answer {
        let fault = faults.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        if case .request(let error) = fault { throw error }
        let answer = try await call()
        if case .answer(let error) = fault { throw error }
        return answer
    }

    func modifyRecords(
        _ request: ModifyRecordsRequest,
        as caller: Caller
    ) async throws(SyncError) -> ModifyRecordsResult {
        try await pass(try await service.modifyRecords(request, as: caller))
    }

    func fetchRecords(
        _ request: FetchRecordsRequest,
        as caller: Caller
    ) async throws(SyncError) -> [Result<Record, SyncError>] {
        try await pass(try await service.fetchRecords(request, as: caller))
    }

    func zoneChanges(
        _ request: ZoneChangesRequest,
        as caller: Caller
    ) async throws(SyncError) -> ZoneChanges {
        try await pass(try await service.zoneChanges(request, as: caller))
    }

    func databaseChanges(
        _ request: DatabaseChangesRequest,
        as caller: Caller
    ) async throws(SyncError) -> DatabaseChanges {
        try await pass(try await service.databaseChanges(request, as: caller))
    }

    func modifyZones(
        _ request: ModifyZonesRequest,
        as caller: Caller
    ) async throws(SyncError) -> ModifyZonesResult {
        try await pass(try await service.modifyZones(request, as: caller))
    }

    func zones(as caller: Caller) async throws(SyncError) -> [Zone] {
        try await pass(try await service.zones(as: caller))
    }

    func query(
        _ request: QueryRequest,
        as caller: Caller
    ) async throws(SyncError) -> QueryPageResult {
        try await pass(try await service.query(request, as: caller))
    }

    func uploadAsset<Pieces: AsyncSequence>(
        _ pieces: Pieces,
        _ request: UploadAssetRequest,
        as caller: Caller
    ) async throws(SyncError) -> AssetReference where Pieces.Element == [UInt8] {
        try await pass(try await service.uploadAsset(pieces, request, as: caller))
    }

    func heldAssets(
        _ request: HeldAssetsRequest,
        as caller: Caller
    ) async throws(SyncError) -> [Bool] {
        try await pass(try await service.heldAssets(request, as: caller))
    }

    func downloadAsset(
        _ request: DownloadAssetRequest,
        as caller: Caller
    ) async throws(SyncError) -> AssetDownload {
        try await pass(try await service.downloadAsset(request, as: caller))
    }

    func accountStatus(as caller: Caller) async throws(SyncError) -> AccountStatus {
        try await pass(try await service.accountStatus(as: caller))
    }

    func currentUser(as caller: Caller) async throws(SyncError) -> UserID {
        try await pass(try await service.currentUser(as: caller))
    }

    func lookUpUsers(
        _ lookups: [UserLookup],
        as caller: Caller
    ) async throws(SyncError) -> [UserIdentity?] {
        try await pass(try await service.lookUpUsers(lookups, as: caller))
    }

    func contacts(as caller: Caller) async throws(SyncError) -> [UserIdentity] {
        try await pass(try await service.contacts(as: caller))
    }

    func acceptShare(_ link: String, as caller: Caller) async throws(SyncError) -> Record {
        try await pass(try await service.acceptShare(link, as: caller))
    }

    func shareMetadata(
        of link: String,
        withRootRecord: Bool,
        as caller: Caller
    ) async throws(SyncError) -> ShareMetadata {
        try await pass(
            try await service.shareMetadata(
                of: link,
                withRootRecord: withRootRecord,
                as: caller
            )
        )
    }

    func requestShareAccess(_ link: String, as caller: Caller) async throws(SyncError) {
        try await pass(try await service.requestShareAccess(link, as: caller))
    }

    func modifySubscriptions(
        _ request: ModifySubscriptionsRequest,
        as caller: Caller
    ) async throws(SyncError) -> ModifySubscriptionsResult {
        try await pass(try await service.modifySubscriptions(request, as: caller))
    }

    func subscriptions(as caller: Caller) async throws(SyncError) -> [Subscription] {
        try await pass(try await service.subscriptions(as: caller))
    }

    func fetchSubscriptions(
        _ ids: [String],
        as caller: Caller
    ) async throws(SyncError) -> [Result<Subscription, SyncError>] {
        try await pass(try await service.fetchSubscriptions(ids, as: caller))
    }

    func notificationChanges(
        _ request: NotificationChangesRequest,
        as caller: Caller
    ) async throws(SyncError) -> NotificationChanges {
        try await pass(try await service.notificationChanges(request, as: caller))
    }

    func markNotificationsRead(
        _ ids: [String],
        as caller: Caller
    ) async throws(SyncError) -> [Result<String, SyncError>] {
        try await pass(try await service.markNotificationsRead(ids, as: caller))
    }

    func notifications(
        since token: ChangeToken?,
        as caller: Caller
    ) async throws(SyncError) -> AsyncThrowingStream<Subscription.Push, any Error> {
        try await pass(try await service.notifications(since: token, as: caller))
    }

    func accountStatuses(
        as caller: Caller
    ) async throws(SyncError) -> AsyncThrowingStream<AccountStatus, any Error> {
        try await pass(try await service.accountStatuses(as: caller))
    }
}
