// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TidemarkModel
import TidemarkSync

/// One step of a sync engine that needs the server.
struct SyncEngineServerStep: Sendable {
    /// The result of a step for the event that reports it, in addition to the loop's outcome.
    enum Content: Sendable {
        case none
        case zoneList(CKSyncEngine.Event.FetchedDatabaseChanges)
        case records(CKSyncEngine.Event.FetchedRecordZoneChanges)
        case sentZones(CKSyncEngine.Event.SentDatabaseChanges)
        case sentBatch(CKSyncEngine.Event.SentRecordZoneChanges)
    }

    typealias Answer = (outcome: SyncOutcome, content: Content)

    let database: CKDatabase
    let subscriptionID: CKSubscription.ID?
    /// The user whose changes are synced; `nil` before the account was checked.
    var account: CheckedAccount?

    /// Performs a step; returns ``SyncOutcome/failed(_:)`` if it failed as a whole.
    ///
    /// `zones` are the zones to save, as the app added them.
    func answer(
        _ step: SyncStep,
        _ batch: CKSyncEngine.RecordZoneChangeBatch?,
        _ zones: [ZoneID: CKRecordZone]
    ) async -> Answer {
        do {
            switch step {
            case .checkAccount: return (try await checkAccount(), .none)
            case .subscribe:
                try await subscribe()
                return (.done, .none)
            case .fetchZoneList(let token): return try await zoneList(since: token)
            case .fetchZoneChanges(let zone, let token):
                return try await changes(of: zone, since: token)
            case .sendZones(let changes): return await send(changes, zones)
            case .sendBatch: return await send(batch ?? CKSyncEngine.RecordZoneChangeBatch())
            // The other steps need the delegate or the clock, not the server. The driver performs
            // them itself.
            default: return (.done, .none)
            }
        } catch {
            return (.failed(SyncError(asking: error)), .none)
        }
    }

    private func checkAccount() async throws -> SyncOutcome {
        let device = database.device
        // One account for all databases of the container, also for the engine of the shared one.
        let user = (account ?? CheckedAccount(user: device.userID)).user
        let caller = try await device.caller(of: database.container, .private, user)
        let service = try await device.cloud.service()
        let status = try await service.accountStatus(as: caller)
        switch status {
        case .available: return .account(try await service.currentUser(as: caller))
        // A restricted account counts as none: its private data is closed until its status changes
        // (Docs/semantics.md, "Users").
        case .noAccount, .restricted: return .account(nil)
        // The account may become usable by itself, so this is an error that the loop retries. As a
        // sign-out, it would drop the pending changes.
        case .couldNotDetermine, .temporarilyUnavailable:
            throw SyncError(.accountTemporarilyUnavailable, "The account is not ready: \(status).")
        }
    }

    /// Creates a subscription for the database, unless there is one.
    private func subscribe() async throws {
        let saved = try await database.allSubscriptions()
        // Any subscription of the app to all types of the whole database serves the engine too: its
        // notifications are the same.
        let isThere = saved.contains { saved in
            if let subscriptionID { return saved.subscriptionID == subscriptionID }
            return (saved as? CKDatabaseSubscription).map { $0.recordType == nil } ?? false
        }
        if isThere { return }
        // The name is fixed. If two devices of one user subscribe at the same time, the second save
        // replaces an identical subscription, and each change causes one notification.
        let name = "CKSyncEngine-\(database.databaseScope.model.name)"
        let subscription = CKDatabaseSubscription(subscriptionID: subscriptionID ?? name)
        subscription.notificationInfo = CKSubscription.NotificationInfo()
        subscription.notificationInfo?.shouldSendContentAvailable = true
        _ = try await database.save(subscription)
    }
}

// MARK: - Fetching

extension SyncEngineServerStep {
    private func zoneList(since token: ChangeToken?) async throws -> Answer {
        let page = try await database.databaseChanges(since: token.map { CKServerChangeToken($0) })
        let outcome = SyncOutcome.zoneList(
            changed: page.modifications.map(\.zoneID.model),
            deleted: page.deletions.map(\.zoneID.model),
            token: try page.changeToken.model,
            moreComing: page.moreComing
        )
        let event = CKSyncEngine.Event.FetchedDatabaseChanges(
            modifications: page.modifications,
            deletions: page.deletions
        )
        return (outcome, .zoneList(event))
    }

    /// In the order of the changes, unlike the call of the database that answers with a dictionary.
    private func changes(of zone: ZoneID, since token: ChangeToken?) async throws -> Answer {
        let id = CKRecordZone.ID(zone)
        let operation = CKFetchRecordZoneChangesOperation(
            recordZoneIDs: [id],
            configurationsByRecordZoneID: [
                id: .init(previousServerChangeToken: token.map { CKServerChangeToken($0) })
            ]
        )
        // One page for each step: the loop moves the zone's token after the app has handled a page.
        operation.fetchAllChanges = false
        let changed = Collected<[CKDatabase.RecordZoneChange.Modification]>([])
        let deleted = Collected<[CKDatabase.RecordZoneChange.Deletion]>([])
        let failure = Collected<(any Error)?>(nil)
        let page = Collected<Result<(CKServerChangeToken, Bool), any Error>?>(nil)
        operation.recordWasChangedBlock = { _, result in
            switch result {
            case .success(let record): changed.add { $0.append(.init(record: record)) }
            case .failure(let error): failure.add { $0 = $0 ?? error }
            }
        }
        operation.recordWithIDWasDeletedBlock = { id, type in
            deleted.add { $0.append(.init(recordID: id, recordType: type)) }
        }
        operation.recordZoneFetchResultBlock = { _, result in
            page.add { $0 = result.map { ($0.serverChangeToken, $0.moreComing) } }
        }
        let end = try await TidemarkCloudKit.answer { handler in
            operation.fetchRecordZoneChangesResultBlock = { result in
                let missing = CKError(
                    .internalError,
                    "The service returned no result for the zone \(zone)."
                )
                // The zone's own block has the zone's error. The error of the operation wraps it in
                // `partialFailure`.
                handler(page.items ?? .failure(result.error ?? missing))
            }
            return database.begin(operation)
        }
        // To continue would skip the record permanently.
        if let failure = failure.items { throw failure }
        let event = CKSyncEngine.Event.FetchedRecordZoneChanges(
            modifications: changed.items,
            deletions: deleted.items
        )
        let outcome = SyncOutcome.zoneChanges(
            isEmpty: event.modifications.isEmpty && event.deletions.isEmpty,
            token: try end.0.model,
            moreComing: end.1
        )
        return (outcome, .records(event))
    }
}

// MARK: - Sending

extension SyncEngineServerStep {
    private func send(
        _ changes: [OutgoingZone],
        _ zones: [ZoneID: CKRecordZone]
    ) async -> Answer {
        var saves: [CKRecordZone] = []
        var deletions: [CKRecordZone.ID] = []
        for change in changes {
            switch CKSyncEngine.PendingDatabaseChange(change, zones) {
            case .saveZone(let zone): saves.append(zone)
            case .deleteZone(let id): deletions.append(id)
            }
        }
        let result: Result<CKDatabase.ModifiedZones, any Error>
        do {
            result = .success(
                try await database.modifyRecordZones(saving: saves, deleting: deletions)
            )
        } catch {
            result = .failure(error)
        }
        // The loop decides about each change. If the whole request failed, each change gets its
        // error.
        var sent = SentZones()
        for zone in saves {
            let id = zone.zoneID
            sent.note(zone, id.model, result.flatMap { $0.saveResults[id] ?? .failure(unsaid) })
        }
        for id in deletions {
            let outcome = result.flatMap { $0.deleteResults[id] ?? .failure(unsaid) }
            sent.note(deleting: id, id.model, outcome)
        }
        return (.sentZones(sent.errors), .sentZones(.init(sent)))
    }

    /// Sends a batch; splits it in halves if it exceeds the limit of a request, unless it is
    /// atomic.
    private func send(_ batch: CKSyncEngine.RecordZoneChangeBatch) async -> Answer {
        var sent = SentRecords()
        await send(batch, &sent)
        return (.sentBatch(sent.errors), .sentBatch(.init(sent)))
    }

    private func send(
        _ batch: CKSyncEngine.RecordZoneChangeBatch,
        _ sent: inout SentRecords
    ) async {
        let result: Result<CKDatabase.ModifiedRecords, any Error>
        do {
            result = .success(
                try await database.outcomes(
                    saving: batch.recordsToSave,
                    deleting: batch.recordIDsToDelete,
                    atomically: batch.atomicByZone
                )
            )
        } catch {
            // The service may have refused the whole request because of one record.
            if (error as? CKError).map({ Self.refusingCodes.contains($0.code) }) ?? false,
                let halves = batch.halves
            {
                await send(halves.0, &sent)
                await send(halves.1, &sent)
                return
            }
            result = .failure(error)
        }
        for record in batch.recordsToSave {
            let id = record.recordID
            sent.note(record, id.model, result.flatMap { $0.saveResults[id] ?? .failure(unsaid) })
        }
        for id in batch.recordIDsToDelete {
            let outcome = result.flatMap { $0.deleteResults[id] ?? .failure(unsaid) }
            sent.note(deleting: id, id.model, outcome)
        }
    }

    /// The codes with which the service refuses a whole request.
    ///
    /// The cause is one of its records, or their number.
    private static let refusingCodes: Set<CKError.Code> = [
        .limitExceeded, .invalidArguments, .quotaExceeded, .assetFileNotFound,
        .assetFileModified, .assetNotAvailable,
    ]

    private var unsaid: CKError {
        CKError(
            .internalError,
            "The service returned no result for this item."
        )
    }
}

extension CKSyncEngine.RecordZoneChangeBatch {
    fileprivate var halves: (Self, Self)? {
        // The halves are two requests: one may succeed and the other fail. An atomic batch
        // therefore has no halves.
        guard !atomicByZone, recordsToSave.count + recordIDsToDelete.count > 1 else { return nil }
        // Saves are rounded up and deletions down, so neither half is empty, and the recursion
        // ends.
        let saves = (recordsToSave.count + 1) / 2
        let deletions = recordIDsToDelete.count / 2
        return (
            Self(
                recordsToSave: Array(recordsToSave.prefix(saves)),
                recordIDsToDelete: Array(recordIDsToDelete.prefix(deletions))
            ),
            Self(
                recordsToSave: Array(recordsToSave.dropFirst(saves)),
                recordIDsToDelete: Array(recordIDsToDelete.dropFirst(deletions))
            )
        )
    }
}

/// The results of sending zones or records; `Name` is their identity in the loop.
private struct Sent<Item, ID: Hashable, Name: Hashable> {
    private(set) var saved: [Item] = []
    private(set) var failedSaves: [(item: Item, error: CKError)] = []
    private(set) var deleted: [ID] = []
    private(set) var failedDeletes: [ID: CKError] = [:]
    private(set) var errors: [Name: SyncError] = [:]

    mutating func note(_ item: Item, _ name: Name, _ result: Result<Item, any Error>) {
        switch result {
        case .success(let item): saved.append(item)
        case .failure(let error):
            errors[name] = SyncError(asking: error)
            failedSaves.append((item, CKError(asking: error)))
        }
    }

    mutating func note(deleting id: ID, _ name: Name, _ result: Result<Void, any Error>) {
        switch result {
        case .success: deleted.append(id)
        case .failure(let error):
            errors[name] = SyncError(asking: error)
            failedDeletes[id] = CKError(asking: error)
        }
    }
}

private typealias SentZones = Sent<CKRecordZone, CKRecordZone.ID, ZoneID>
private typealias SentRecords = Sent<CKRecord, CKRecord.ID, RecordID>

extension CKSyncEngine.Event.SentDatabaseChanges {
    fileprivate init(_ sent: SentZones) {
        self.init(
            savedZones: sent.saved,
            failedZoneSaves: sent.failedSaves.map { .init(zone: $0.item, error: $0.error) },
            deletedZoneIDs: sent.deleted,
            failedZoneDeletes: sent.failedDeletes
        )
    }
}

extension CKSyncEngine.Event.SentRecordZoneChanges {
    fileprivate init(_ sent: SentRecords) {
        self.init(
            savedRecords: sent.saved,
            failedRecordSaves: sent.failedSaves.map { .init(record: $0.item, error: $0.error) },
            deletedRecordIDs: sent.deleted,
            failedRecordDeletes: sent.failedDeletes
        )
    }
}

// MARK: - Errors

extension SyncError {
    /// Creates the error that the loop needs from the error of a step.
    ///
    /// If a request for one item failed in part, this is the error of the item.
    init(asking error: any Error) {
        if let error = error as? SyncError {
            self = error
            return
        }
        let error = CKError(asking: error)
        if let part = error.partialErrorsByItemID, part.count == 1, let only = part.first?.value {
            self.init(asking: only)
            return
        }
        self.init(
            // Both enumerations have Apple's numbers. The loop uses the code and the delay; the
            // rest of `userInfo` reaches the app in the event.
            SyncError.Code(rawValue: error.code.rawValue) ?? .internalError,
            error.localizedDescription,
            retryAfter: error.retryAfterSeconds.map { Duration(clampingSeconds: $0) }
        )
    }
}
