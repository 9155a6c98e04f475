// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Tidemark
import TidemarkTesting

@testable import CloudKit
@testable import TidemarkCloudKit

/// A process that ends when the service has answered, and before its program has heard.
@Suite struct `The answer to a long-lived operation` {
    private let scratch: ScratchFolder
    private var folder: String { scratch.path("device") }
    private let zoneID = CKRecordZone.ID(zoneName: "Notes")

    init() throws {
        scratch = try ScratchFolder()
    }

    private func phone(
        _ cloud: TidemarkCloud,
        now: @escaping @Sendable () -> Date = { Date() }
    ) -> TidemarkDevice {
        TidemarkDevice(cloud, user: "anna", name: "phone", folder: folder, now: now)
    }

    private func note(_ name: String, _ number: Int) -> CKRecord {
        let record = CKRecord("Note", name, in: zoneID)
        record["number"] = number
        return record
    }

    /// Runs an operation in a process whose program hears nothing, until the answer is kept, and
    /// afterwards the one that another process finds, which cannot ask any service.
    private func restart<Operation: CKDatabaseOperation>(
        _ operation: Operation,
        in database: CKDatabase,
        _ hear: (Operation) -> Void
    ) async throws {
        let goOn = DispatchSemaphore(value: 0)
        operation.configuration.isLongLived = true
        // Callbacks come one after another: those after this one do not come.
        operation.longLivedOperationWasPersistedBlock = { goOn.wait() }
        database.add(operation)
        defer { goOn.signal() }
        let nowhere = TidemarkCloud(.nowhere(SyncError(.serviceUnavailable, "No service.")))
        let container = phone(nowhere).container()
        var found: Operation?
        for _ in 0..<1000 where found == nil {
            try await Task.sleep(for: .milliseconds(5))
            let kept = try await container.longLivedOperation(for: operation.operationID)
            if kept?.kept?.answer != nil { found = try #require(kept as? Operation) }
        }
        let again = try #require(found, "no answer was kept")
        hear(again)
        await again.run { container.database(with: $0.scope).add($0) }
        #expect(try await container.allLongLivedOperationIDs() == [])
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder + "/operations"))
        #expect(files == [])
        goOn.signal()
        // It may write to the folder until then, which must not be created again.
        try await operation.hasFinished()
    }

    private func world() async throws -> CKDatabase {
        let database = phone(.temporary()).container().privateCloudDatabase
        try await database.save(CKRecordZone(zoneID: zoneID))
        return database
    }

    @Test func `A record fetch is replayed with assets and without the service`() async throws {
        let database = try await world()
        let url = scratch.url.appending(path: "asset")
        try Data("bytes".utf8).write(to: url)
        let record = note("a", 1)
        record["image"] = CKAsset(fileURL: url)
        record["parts"] = [CKAsset(fileURL: url)]
        record.encryptedValues["secret"] = "s"
        let saved = try await database.save(record)
        let missing = CKRecord.ID(recordName: "missing", zoneID: zoneID)
        let operation = CKFetchRecordsOperation(recordIDs: [record.recordID, missing])
        let heard = Heard<(CKRecord.ID, CKRecord?, CKError?)>()
        let ends = Heard<CKError?>()
        try await restart(operation, in: database) { operation in
            #expect(operation.recordIDs == [record.recordID, missing])
            operation.perRecordResultBlock = {
                heard.add(($0, $1.value, $1.error as? CKError))
            }
            operation.fetchRecordsCompletionBlock = { found, error in
                #expect(found?.keys.map(\.recordName) == ["a"])
                ends.add(error as? CKError)
            }
        }
        #expect(heard.items.map(\.0) == [record.recordID, missing])
        let again = try #require(heard.items.first?.1)
        #expect(again["number"] as? Int == 1)
        #expect(again.encryptedValues["secret"] as? String == "s")
        #expect(again.recordChangeTag == saved.recordChangeTag)
        #expect(again.changedKeys().isEmpty)
        let image = try #require(again["image"] as? CKAsset)
        #expect(try Data(contentsOf: image.fileURL) == Data("bytes".utf8))
        let part = try #require((again["parts"] as? [CKAsset])?.first)
        #expect(try Data(contentsOf: part.fileURL) == Data("bytes".utf8))
        #expect(heard.items[1].2?.code == .unknownItem)
        let end = try #require(ends.items.first ?? nil)
        #expect(end.code == .partialFailure)
        #expect((end.partialErrorsByItemID?[missing] as? CKError)?.code == .unknownItem)
    }

    @Test func `Saves and deletes are replayed with their failures`() async throws {
        let database = try await world()
        try await database.save(note("taken", 1))
        try await database.save(note("old", 2))
        let operation = CKModifyRecordsOperation(
            recordsToSave: [note("new", 3), note("taken", 4)],
            recordIDsToDelete: [note("old", 2).recordID]
        )
        operation.isAtomic = false
        let saves = Heard<(String, Result<CKRecord, any Error>)>()
        let old = Heard<(String, Bool)>()
        let deletions = Heard<(String, Bool)>()
        let ends = Heard<(Int?, Int?, CKError?)>()
        try await restart(operation, in: database) { operation in
            operation.perRecordSaveBlock = { saves.add(($0.recordName, $1)) }
            operation.perRecordCompletionBlock = {
                old.add(($0.recordID.recordName, $1 == nil))
            }
            operation.perRecordDeleteBlock = {
                deletions.add(($0.recordName, $1.error == nil))
            }
            operation.modifyRecordsCompletionBlock = {
                ends.add(($0?.count, $1?.count, $2 as? CKError))
            }
        }
        #expect(saves.items.map(\.0) == ["new", "taken"])
        let new = try saves.items[0].1.get()
        #expect(try await database.record(for: new.recordID).recordChangeTag == new.recordChangeTag)
        let conflict = saves.items[1].1.error as? CKError
        #expect(conflict?.code == .serverRecordChanged)
        #expect(conflict?.serverRecord?["number"] == 1)
        #expect(conflict?.clientRecord?["number"] == 4)
        #expect(old.items.map(\.0) == ["new", "taken"])
        #expect(old.items.map(\.1) == [true, false])
        #expect(deletions.items.map(\.0) == ["old"])
        #expect(deletions.items.map(\.1) == [true])
        #expect(ends.items.first?.0 == 1)
        #expect(ends.items.first?.1 == 1)
        #expect(ends.items.first?.2?.code == .partialFailure)
    }

    @Test func `A query is replayed with its cursor`() async throws {
        let database = try await world()
        _ = try await database.modifyRecords(
            saving: (0..<5).map { note("n\($0)", $0) },
            deleting: []
        )
        let query = CKQuery(recordType: "Note", predicate: NSPredicate(format: "number > 0"))
        query.sortDescriptors = [NSSortDescriptor(key: "number", ascending: true)]
        let operation = CKQueryOperation(query: query)
        operation.zoneID = zoneID
        operation.resultsLimit = 3
        let heard = Heard<String>()
        let cursors = Heard<CKQueryOperation.Cursor?>()
        try await restart(operation, in: database) { operation in
            operation.recordMatchedBlock = { id, _ in heard.add(id.recordName) }
            operation.queryResultBlock = { cursors.add(try? $0.get()) }
        }
        #expect(heard.items == ["n1", "n2", "n3"])
        let cursor = try #require(cursors.items.first ?? nil)
        let rest = try await database.records(continuingMatchFrom: cursor)
        #expect(rest.matchResults.map(\.0.recordName) == ["n4"])
    }

    @Test func `A fetch of changes is replayed with its tokens`() async throws {
        let database = try await world()
        let gone = CKRecordZone.ID(zoneName: "Gone")
        try await database.save(CKRecordZone(zoneID: gone))
        try await database.save(note("b", 2))
        let start = try await database.databaseChanges(since: nil).changeToken
        let known = try await database.recordZoneChanges(inZoneWith: zoneID, since: nil)
            .changeToken
        try await database.deleteRecordZone(withID: gone)
        try await database.save(note("a", 1))
        try await database.deleteRecord(withID: note("b", 2).recordID)

        let zones = CKFetchDatabaseChangesOperation(previousServerChangeToken: start)
        let heard = Heard<String>()
        let tokens = Heard<CKServerChangeToken?>()
        try await restart(zones, in: database) { operation in
            operation.recordZoneWithIDChangedBlock = { heard.add("changed \($0.zoneName)") }
            operation.recordZoneWithIDWasDeletedBlock = { heard.add("deleted \($0.zoneName)") }
            operation.fetchDatabaseChangesResultBlock = {
                tokens.add(try? $0.get().serverChangeToken)
            }
        }
        #expect(heard.items.sorted() == ["changed Notes", "deleted Gone"])
        let token = try #require(tokens.items.first ?? nil)
        #expect(try await database.databaseChanges(since: token).modifications.isEmpty)

        let changes = CKFetchRecordZoneChangesOperation(
            recordZoneIDs: [zoneID, gone],
            configurationsByRecordZoneID: [
                zoneID: .init(previousServerChangeToken: known, resultsLimit: 1)
            ]
        )
        let steps = Heard<String>()
        let places = Heard<CKServerChangeToken?>()
        let ends = Heard<CKError.Code?>()
        try await restart(changes, in: database) { operation in
            operation.recordWasChangedBlock = { id, _ in steps.add("changed \(id.recordName)") }
            operation.recordWithIDWasDeletedBlock = { id, type in
                steps.add("deleted \(id.recordName) \(type)")
            }
            operation.recordZoneChangeTokensUpdatedBlock = { _, token, _ in
                steps.add(token == nil ? "no token" : "page")
            }
            operation.recordZoneFetchResultBlock = { id, result in
                if id == zoneID { places.add(try? result.get().serverChangeToken) }
                ends.add((result.error as? CKError)?.code)
            }
            operation.fetchRecordZoneChangesResultBlock = {
                ends.add(($0.error as? CKError)?.code)
            }
        }
        #expect(steps.items == ["changed a", "page", "deleted b Note"])
        #expect(ends.items == [nil, .zoneNotFound, nil])
        let place = try #require(places.items.first ?? nil)
        let rest = try await database.recordZoneChanges(inZoneWith: zoneID, since: place)
        #expect(rest.modificationResultsByID.isEmpty)
    }

    @Test func `Zone operations are replayed`() async throws {
        let database = try await world()
        let other = CKRecordZone.ID(zoneName: "Other")
        let modify = CKModifyRecordZonesOperation(
            recordZonesToSave: [CKRecordZone(zoneID: other)],
            recordZoneIDsToDelete: [CKRecordZone.ID(zoneName: "Nowhere")]
        )
        let heard = Heard<(Int?, Int?, CKError?)>()
        try await restart(modify, in: database) { operation in
            operation.modifyRecordZonesCompletionBlock = {
                heard.add(($0?.count, $1?.count, $2 as? CKError))
            }
        }
        #expect(heard.items.first?.0 == 1)
        #expect(heard.items.first?.1 == 0)
        #expect(heard.items.first?.2?.code == .partialFailure)
        let fetch = CKFetchRecordZonesOperation(recordZoneIDs: [other])
        let zones = Heard<CKRecordZone>()
        try await restart(fetch, in: database) { operation in
            operation.perRecordZoneResultBlock = { _, result in
                if let zone = result.value { zones.add(zone) }
            }
        }
        #expect(zones.items.first?.zoneID == other)
        #expect(zones.items.first?.capabilities.contains(.fetchChanges) == true)
    }

    @Test func `A result is kept for a day, and a request for a week`() async throws {
        let store = TidemarkCloud.temporary()
        let faulty = FaultyService(store)
        let start = Date(timeIntervalSince1970: 1_800_000_000)
        func ids(after seconds: TimeInterval) async throws -> [CKOperation.ID] {
            let device = phone(store, now: { start.addingTimeInterval(seconds) })
            return try await device.container().allLongLivedOperationIDs()
        }
        let day: TimeInterval = 24 * 60 * 60
        let held = phone(TidemarkCloud(faulty), now: { start }).container().privateCloudDatabase

        // Not answered: seven days.
        let asked = CKFetchRecordsOperation(recordIDs: [CKRecord.ID(recordName: "a")])
        asked.isLongLived = true
        let kept = Heard<Bool>()
        asked.longLivedOperationWasPersistedBlock = { kept.add(true) }
        faulty.hold()
        held.add(asked)
        try await kept.wait(for: 1)
        #expect(try await ids(after: 7 * day) == [asked.operationID])
        #expect(try await ids(after: 7 * day + 1) == [])
        asked.cancel()
        faulty.release()
        try await asked.hasFinished()

        // Answered, and nobody has heard: a day.
        let goOn = DispatchSemaphore(value: 0)
        let answered = CKFetchRecordsOperation(recordIDs: [CKRecord.ID(recordName: "a")])
        answered.isLongLived = true
        answered.longLivedOperationWasPersistedBlock = { goOn.wait() }
        held.add(answered)
        let late = phone(store, now: { start.addingTimeInterval(day) }).container()
        var isKept = false
        for _ in 0..<1000 where !isKept {
            try await Task.sleep(for: .milliseconds(5))
            let found = try await late.longLivedOperation(for: answered.operationID)
            isKept = found?.kept?.answer != nil
        }
        #expect(isKept)
        #expect(try await ids(after: day) == [answered.operationID])
        #expect(try await ids(after: day + 1) == [])
        goOn.signal()
        try await answered.hasFinished()
    }

    @Test func `A request without a result is sent again`() async throws {
        let store = TidemarkCloud.temporary()
        let faulty = FaultyService(store)
        faulty.failNext(.fetch, with: .networkUnavailable)
        let goOn = DispatchSemaphore(value: 0)
        let operation = CKFetchRecordZonesOperation.fetchAllRecordZonesOperation()
        operation.isLongLived = true
        operation.longLivedOperationWasPersistedBlock = { goOn.wait() }
        let before = phone(TidemarkCloud(faulty)).container().privateCloudDatabase
        before.add(operation)
        defer { goOn.signal() }
        let after = phone(store).container()
        var found: CKFetchRecordZonesOperation?
        for _ in 0..<1000 where found == nil {
            try await Task.sleep(for: .milliseconds(5))
            found =
                try await after.longLivedOperation(for: operation.operationID)
                as? CKFetchRecordZonesOperation
        }
        let zones = Heard<String>()
        let again = try #require(found)
        again.perRecordZoneResultBlock = { id, _ in zones.add(id.zoneName) }
        await again.run { after.add($0) }
        #expect(zones.items == [CKRecordZone.ID.defaultZoneName])
        goOn.signal()
        try await operation.hasFinished()
    }

    @Test(arguments: [(-1, 0), (1, 1), (7, 2)])
    func `A file with any number of saves makes an operation`(number: Int, saveCount: Int) {
        var request = KeptRequest(
            kind: .modifyRecordZones,
            operationID: "o",
            container: "c",
            kept: Date()
        )
        request.zoneIDs = [zoneID.archived, zoneID.archived]
        request.numbers = ["saves": number]
        let operation = CKModifyRecordZonesOperation()
        operation.restore(from: request)
        #expect(operation.recordZonesToSave?.count == saveCount)
        #expect(operation.recordZoneIDsToDelete?.count == 2 - saveCount)
    }
}
