// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CloudKit
import TestSupport
import Testing
import TidemarkTesting

@Suite struct `A long-lived operation` {
    private let scratch: ScratchFolder
    private var folder: String { scratch.path("device") }

    init() throws {
        scratch = try ScratchFolder()
    }

    /// The phone in one process after another: what it keeps lies in one folder.
    private func phone(_ cloud: TidemarkCloud) -> TidemarkDevice {
        TidemarkDevice(cloud, user: "anna", name: "phone", folder: folder)
    }

    private func upload() -> (CKModifyRecordsOperation, CKRecord.ID) {
        let record = CKRecord(recordType: "Note")
        record["text"] = "long"
        let operation = CKModifyRecordsOperation(recordsToSave: [record])
        operation.configuration.isLongLived = true
        return (operation, record.recordID)
    }

    /// Begins an operation in a process that ends before the service has answered.
    private func begin(_ operation: CKDatabaseOperation, _ faulty: FaultyService) async throws {
        let kept = Heard<Bool>()
        operation.longLivedOperationWasPersistedBlock = { kept.add(true) }
        faulty.hold()
        phone(TidemarkCloud(faulty)).container().privateCloudDatabase.add(operation)
        try await kept.wait(for: 1)
    }

    @Test func `A long-lived operation is found after a restart and runs once`() async throws {
        let store = TidemarkCloud.temporary(userNames: .same)
        let faulty = FaultyService(store)
        let (operation, recordID) = upload()
        try await begin(operation, faulty)

        let after = phone(store).container()
        #expect(try await after.allLongLivedOperationIDs() == [operation.operationID])
        let found = try #require(
            try await after.longLivedOperation(for: operation.operationID)
                as? CKModifyRecordsOperation
        )
        let tags = Heard<String?>()
        found.perRecordSaveBlock = { _, result in
            if case .success(let record) = result { tags.add(record.recordChangeTag) }
        }
        await found.run { after.privateCloudDatabase.add($0) }
        #expect(tags.items.count == 1)
        #expect(try await after.allLongLivedOperationIDs() == [])

        // What the first process had asked is answered as what was done already.
        let late = Heard<String?>()
        operation.perRecordSaveBlock = { _, result in
            if case .success(let record) = result { late.add(record.recordChangeTag) }
        }
        faulty.release()
        try await late.wait(for: 1)
        #expect(late.items == tags.items)
        let record = try await after.privateCloudDatabase.record(for: recordID)
        #expect(record.recordChangeTag == tags.items[0])
        try await operation.hasFinished()
    }

    @Test func `A long-lived operation is found only by its user and until it ends`() async throws {
        let store = TidemarkCloud.temporary(userNames: .same)
        let faulty = FaultyService(store)
        let device = phone(TidemarkCloud(faulty))
        let container = device.container()
        let (operation, _) = upload()
        let kept = Heard<Bool>()
        operation.longLivedOperationWasPersistedBlock = { kept.add(true) }
        faulty.hold()
        container.privateCloudDatabase.add(operation)
        try await kept.wait(for: 1)
        device.signIn("ben")
        #expect(try await container.allLongLivedOperationIDs() == [])
        #expect(try await container.longLivedOperation(for: operation.operationID) == nil)
        device.signIn("anna")
        #expect(try await container.allLongLivedOperationIDs() == [operation.operationID])
        let ended = Heard<CKError.Code?>()
        operation.modifyRecordsResultBlock = { ended.add(($0.error as? CKError)?.code) }
        operation.cancel()
        try await ended.wait(for: 1)
        #expect(ended.items == [.operationCancelled])
        try await operation.hasFinished()
        #expect(try await container.allLongLivedOperationIDs() == [])
        faulty.release()
    }

    @Test func `A found operation keeps its urgency, and is not found after it was cancelled`()
        async throws
    {
        let store = TidemarkCloud.temporary(userNames: .same)
        let faulty = FaultyService(store)
        let (operation, _) = upload()
        operation.configuration.qualityOfService = .utility
        operation.configuration.timeoutIntervalForRequest = 17
        operation.configuration.timeoutIntervalForResource = 1700
        try await begin(operation, faulty)

        let after = phone(store).container()
        let found = try #require(try await after.longLivedOperation(for: operation.operationID))
        #expect(found.qualityOfService == .utility)
        #expect(found.timeoutIntervalForRequest == 17)
        #expect(found.timeoutIntervalForResource == 1700)
        found.cancel()
        #expect(try await after.allLongLivedOperationIDs() == [])
        operation.cancel()
        try await operation.hasFinished()
        faulty.release()
    }

    @Test func `Other kinds of operations are restored with all their parameters`() async throws {
        let store = TidemarkCloud.temporary(userNames: .same)
        let faulty = FaultyService(store)
        let database = phone(TidemarkCloud(faulty)).container().privateCloudDatabase
        let zoneID = CKRecordZone.ID(zoneName: "Notes")
        _ = try await database.save(CKRecordZone(zoneID: zoneID))
        let token = try await database.recordZoneChanges(inZoneWith: zoneID, since: nil)
            .changeToken
        let query = CKQueryOperation(
            query: CKQuery(recordType: "Note", predicate: NSPredicate(format: "text == %@", "a"))
        )
        query.zoneID = zoneID
        query.resultsLimit = 7
        query.desiredKeys = ["text"]
        let changes = CKFetchRecordZoneChangesOperation(
            recordZoneIDs: [zoneID],
            configurationsByRecordZoneID: [
                zoneID: .init(previousServerChangeToken: token, desiredKeys: ["title"])
            ]
        )
        changes.fetchAllChanges = false
        faulty.hold()
        let kept = Heard<Bool>()
        for operation in [query, changes] as [CKDatabaseOperation] {
            operation.isLongLived = true
            operation.longLivedOperationWasPersistedBlock = { kept.add(true) }
            database.add(operation)
        }
        try await kept.wait(for: 2)

        let after = phone(store).container()
        let foundQuery = try #require(
            try await after.longLivedOperation(for: query.operationID) as? CKQueryOperation
        )
        #expect(foundQuery.query?.recordType == "Note")
        #expect(foundQuery.zoneID == zoneID)
        #expect(foundQuery.resultsLimit == 7)
        #expect(foundQuery.desiredKeys == ["text"])
        let foundChanges = try #require(
            try await after.longLivedOperation(for: changes.operationID)
                as? CKFetchRecordZoneChangesOperation
        )
        let configuration = foundChanges.configurationsByRecordZoneID?[zoneID]
        #expect(configuration?.previousServerChangeToken == token)
        #expect(configuration?.desiredKeys == ["title"])
        #expect(foundChanges.fetchAllChanges == false)
        faulty.release()
        try await query.hasFinished()
        try await changes.hasFinished()
    }
}
