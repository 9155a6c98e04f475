// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing

#if TidemarkName
import TidemarkCloudKit
#else
import CloudKit
#endif

/// A note store as it is written by hand: operations, a subscription, and deltas by token.
private actor NoteStore {
    private let database: CKDatabase
    private let zoneID = CKRecordZone.ID(zoneName: "Notes", ownerName: CKCurrentUserDefaultName)
    private var databaseToken: CKServerChangeToken?
    private var zoneTokens: [CKRecordZone.ID: CKServerChangeToken] = [:]
    private(set) var notes: [String: String] = [:]
    /// What was fetched in the last pull: names of records.
    private(set) var lastPull: [String] = []

    init(_ container: CKContainer) {
        database = container.privateCloudDatabase
    }

    func setUp() async throws {
        _ = try await database.save(CKRecordZone(zoneID: zoneID))
        let subscription = CKDatabaseSubscription(subscriptionID: "all-changes")
        let info = CKSubscription.NotificationInfo()
        info.shouldSendContentAvailable = true
        subscription.notificationInfo = info
        let operation = CKModifySubscriptionsOperation(
            subscriptionsToSave: [subscription],
            subscriptionIDsToDelete: nil
        )
        operation.qualityOfService = .utility
        try await withCheckedThrowingContinuation { continuation in
            operation.modifySubscriptionsResultBlock = { continuation.resume(with: $0) }
            database.add(operation)
        }
    }

    func save(_ text: String, as name: String) async throws {
        let record = CKRecord(
            recordType: "Note",
            recordID: CKRecord.ID(recordName: name, zoneID: zoneID)
        )
        record["text"] = text
        let operation = CKModifyRecordsOperation(recordsToSave: [record])
        operation.savePolicy = .changedKeys
        try await withCheckedThrowingContinuation { continuation in
            operation.modifyRecordsResultBlock = { continuation.resume(with: $0) }
            database.add(operation)
        }
        notes[name] = text
    }

    func delete(_ name: String) async throws {
        let id = CKRecord.ID(recordName: name, zoneID: zoneID)
        try await database.deleteRecord(withID: id)
        notes[name] = nil
    }

    func pull() async throws {
        lastPull = []
        let changed = try await changedZones()
        guard !changed.isEmpty else { return }
        let operation = CKFetchRecordZoneChangesOperation(
            recordZoneIDs: changed,
            configurationsByRecordZoneID: zoneTokens.mapValues {
                .init(previousServerChangeToken: $0)
            }
        )
        let changes = Heard<(String, String?)>()
        let tokens = Heard<(CKRecordZone.ID, CKServerChangeToken)>()
        operation.recordWasChangedBlock = { id, result in
            guard case .success(let record) = result else { return }
            changes.add((id.recordName, record["text"] as? String))
        }
        operation.recordWithIDWasDeletedBlock = { id, _ in changes.add((id.recordName, nil)) }
        operation.recordZoneFetchResultBlock = { id, result in
            if case .success(let (token, _, _)) = result { tokens.add((id, token)) }
        }
        try await withCheckedThrowingContinuation { continuation in
            operation.fetchRecordZoneChangesResultBlock = { continuation.resume(with: $0) }
            database.add(operation)
        }
        for (name, text) in changes.items {
            notes[name] = text
            lastPull.append(name)
        }
        for (id, token) in tokens.items { zoneTokens[id] = token }
    }

    private func changedZones() async throws -> [CKRecordZone.ID] {
        let operation = CKFetchDatabaseChangesOperation(previousServerChangeToken: databaseToken)
        let changed = Heard<CKRecordZone.ID>()
        operation.recordZoneWithIDChangedBlock = { changed.add($0) }
        databaseToken = try await withCheckedThrowingContinuation { continuation in
            operation.fetchDatabaseChangesResultBlock = { result in
                continuation.resume(with: result.map(\.serverChangeToken))
            }
            database.add(operation)
        }
        return changed.items.filter { $0.zoneName != CKRecordZone.ID.defaultZoneName }
    }
}

@Suite(.needsCloud) struct `A note store` {
    @Test func `Two devices sync with a subscription and deltas`() async throws {
        let fixture = CloudFixture()
        let phone = fixture.device("phone")
        let laptop = fixture.device("laptop")
        let heard = Heard<CKNotification.NotificationType>()
        laptop.onRemoteNotification { dictionary in
            if let notification = CKNotification(fromRemoteNotificationDictionary: dictionary),
                notification.subscriptionID == "all-changes"
            {
                heard.add(notification.notificationType)
            }
        }
        let onPhone = NoteStore(phone.container())
        let onLaptop = NoteStore(laptop.container())
        try await onLaptop.setUp()
        try await onPhone.setUp()

        try await onPhone.save("Buy milk", as: "n1")
        try await onPhone.save("Call Ben", as: "n2")
        try await heard.wait(for: 1)
        #expect(heard.items.allSatisfy { $0 == .database })
        try await onLaptop.pull()
        #expect(await onLaptop.notes == ["n1": "Buy milk", "n2": "Call Ben"])
        try await onPhone.pull()

        try await onLaptop.delete("n1")
        try await onLaptop.save("Call Ben today", as: "n2")
        try await onPhone.pull()
        #expect(await onPhone.notes == ["n2": "Call Ben today"])

        // With its token a device fetches what is new, and no more.
        try await onLaptop.pull()
        try await onPhone.save("New", as: "n3")
        try await onLaptop.pull()
        #expect(await onLaptop.lastPull == ["n3"])
        #expect(await onLaptop.notes == ["n2": "Call Ben today", "n3": "New"])
    }

    @Test func `Fetched changes contain the client change token of the saver`() async throws {
        let fixture = CloudFixture()
        let zoneID = CKRecordZone.ID(zoneName: "Notes")
        let database = try await fixture.database(zone: zoneID)
        let operation = CKModifyRecordsOperation(recordsToSave: [
            CKRecord(recordType: "Note", recordID: CKRecord.ID(zoneID: zoneID))
        ])
        operation.clientChangeTokenData = Data("mine".utf8)
        await operation.run { database.add($0) }

        let fetch = CKFetchRecordZoneChangesOperation(recordZoneIDs: [zoneID])
        let marks = Heard<Data?>()
        fetch.recordZoneFetchResultBlock = { _, result in
            if case .success(let (_, mark, _)) = result { marks.add(mark) }
        }
        await fetch.run { database.add($0) }
        #expect(marks.items == [Data("mine".utf8)])
    }

    @Test func `Deleted zones have a reason, and stale tokens are reported`() async throws {
        let fixture = CloudFixture()
        let zoneID = CKRecordZone.ID(zoneName: "Notes")
        let database = try await fixture.database(zone: zoneID)
        let first = try await database.databaseChanges(since: nil)
        #expect(first.modifications.map(\.zoneID).contains(zoneID))
        let zoneToken = try await database.recordZoneChanges(inZoneWith: zoneID, since: nil)
            .changeToken
        _ = try await database.deleteRecordZone(withID: zoneID)
        let second = try await database.databaseChanges(since: first.changeToken)
        #expect(second.deletions.map(\.zoneID) == [zoneID])
        #expect(second.deletions.map(\.reason) == [.deleted])

        let missing = await code {
            _ = try await database.recordZoneChanges(inZoneWith: zoneID, since: zoneToken)
        }
        #expect(missing == .zoneNotFound)
        _ = try await database.save(CKRecordZone(zoneID: zoneID))
        let operation = CKFetchRecordZoneChangesOperation(
            recordZoneIDs: [zoneID],
            configurationsByRecordZoneID: [zoneID: .init(previousServerChangeToken: zoneToken)]
        )
        let ends = Heard<any Error>()
        operation.fetchRecordZoneChangesCompletionBlock = { $0.map { ends.add($0) } }
        await operation.run { database.add($0) }
        let error = try #require(ends.items.first as? CKError)
        #expect(error.code == .partialFailure)
        let ofZone = error.partialErrorsByItemID?[zoneID] as? CKError
        #expect(ofZone?.code == .changeTokenExpired)
    }
}
