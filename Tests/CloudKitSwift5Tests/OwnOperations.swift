// Tidemark
// SPDX-License-Identifier: Apache-2.0

// Operations that programs derive from CloudKit's, and databases that they compare. This file is compiled
// in both language modes.
import CloudKit
import Testing

/// Says what it saves when its turn has come, from what an operation before it has fetched.
private final class SaveTitles: CKModifyRecordsOperation, @unchecked Sendable {
    private let titles: [String]
    private(set) var saved: [String] = []
    private(set) var wasCancelled = false

    override init() {
        titles = []
        super.init()
    }

    init(titles: [String]) {
        self.titles = titles
        super.init()
        name = "SaveTitles"
        savePolicy = .changedKeys
    }

    override func main() {
        perRecordSaveBlock = { [unowned self] id, result in
            if case .success = result { saved.append(id.recordName) }
        }
        recordsToSave = titles.map { title in
            CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: title))
        }
        super.main()
    }

    override func cancel() {
        wasCancelled = true
        super.cancel()
    }
}

private final class FetchEverything: CKFetchRecordZoneChangesOperation, @unchecked Sendable {
    private(set) var records: [CKRecord] = []

    override func main() {
        recordWasChangedBlock = { [weak self] _, result in
            if case .success(let record) = result { self?.records.append(record) }
        }
        super.main()
    }
}

@Suite struct OwnOperations {
    private let device = TidemarkDevice(.temporary(), user: "anna")

    private func run(_ operations: [CKDatabaseOperation], in database: CKDatabase) async {
        await withCheckedContinuation { continuation in
            operations.last?.completionBlock = { continuation.resume() }
            for operation in operations { database.add(operation) }
        }
    }

    @Test func sayWhatToDoInMain() async throws {
        let database = device.container().privateCloudDatabase
        let save = SaveTitles(titles: ["a", "b"])
        await run([save], in: database)
        #expect(save.saved == ["a", "b"])
        #expect(save.recordsToSave?.count == 2)
        let nothing = SaveTitles()
        await run([nothing], in: database)
        #expect(nothing.saved.isEmpty)
        #expect(nothing.isFinished)
    }

    @Test func runInQueuesOfTheProgram() async throws {
        let database = device.container().privateCloudDatabase
        let zoneID = CKRecordZone.ID(zoneName: "Notes")
        let zone = CKModifyRecordZonesOperation(recordZonesToSave: [CKRecordZone(zoneID: zoneID)])
        zone.database = database
        let fetch = FetchEverything(recordZoneIDs: [zoneID])
        fetch.database = database
        fetch.addDependency(zone)
        let queue = OperationQueue()
        await withCheckedContinuation { continuation in
            fetch.completionBlock = { continuation.resume() }
            queue.addOperation(fetch)
            queue.addOperation(zone)
        }
        #expect(zone.isFinished)
        #expect(fetch.isFinished)
        #expect(fetch.records.isEmpty)
    }

    @Test func areCancelledBeforeTheyBegin() async throws {
        let database = device.container().privateCloudDatabase
        let save = SaveTitles(titles: ["never"])
        save.cancel()
        var code: CKError.Code?
        save.modifyRecordsResultBlock = { result in
            if case .failure(let error) = result { code = (error as? CKError)?.code }
        }
        await run([save], in: database)
        #expect(save.wasCancelled)
        #expect(code == .operationCancelled)
        // Its turn never came.
        #expect(save.recordsToSave == nil)
    }

    @Test func databasesAreCompared() {
        device.run {
            let container = CKContainer.default()
            #expect(container == CKContainer.default())
            #expect(container != CKContainer(identifier: "iCloud.other"))
            #expect(container.privateCloudDatabase == CKContainer.default().privateCloudDatabase)
            #expect(container.privateCloudDatabase != container.sharedCloudDatabase)
            #expect(container.privateCloudDatabase === container.privateCloudDatabase)
            let tokens = [container.privateCloudDatabase: 1, container.sharedCloudDatabase: 2]
            #expect(tokens[CKContainer.default().sharedCloudDatabase] == 2)
        }
        let other = TidemarkDevice(.temporary(), user: "anna").container()
        #expect(device.container() != other)
    }

    @Test func callsLeaveOutWhatTheyDoNotDo() async throws {
        let database = device.container().privateCloudDatabase
        let zone = CKRecordZone(zoneName: "Notes")
        _ = try await database.modifyRecordZones(saving: [zone])
        let own = try await database.allRecordZones()
            .filter { $0.zoneID != CKRecordZone.default().zoneID }
        #expect(own == [zone])
        let subscription = CKRecordZoneSubscription(zoneID: zone.zoneID, subscriptionID: "notes")
        _ = try await database.modifySubscriptions(saving: [subscription])
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(zoneID: zone.zoneID))
        _ = try await database.modifyRecords(saving: [record])
        // What is not used need not be named.
        record["text"] = "Hello"
        try await database.save(record)
        try await database.deleteRecord(withID: record.recordID)
    }

    @Test func errorsOfItemsAreLookedUpAsObjects() async throws {
        let database = device.container().privateCloudDatabase
        let id = CKRecord.ID(recordName: "missing")
        let operation = CKFetchRecordsOperation(recordIDs: [id])
        var found: Error?
        operation.fetchRecordsCompletionBlock = { _, error in found = error }
        await run([operation], in: database)
        let error = try #require(found) as NSError
        #expect(error.code == CKError.partialFailure.rawValue)
        let byID = error.userInfo[CKPartialErrorsByItemIDKey] as? [CKRecord.ID: NSError]
        #expect(byID?[id]?.code == CKError.unknownItem.rawValue)
        let errors = error.userInfo[CKPartialErrorsByItemIDKey] as? [AnyHashable: CKError]
        #expect(errors?[id]?.code == .unknownItem)
        #expect((error.userInfo[CKPartialErrorsByItemIDKey] as? NSDictionary)?.count == 1)
    }
}
