// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CloudKit
import Foundation
import Testing

/// Code of 2016: blocks that fill variables, semaphores, names of Swift 3.
@Suite struct OldVerbs {
    private let cloud = TidemarkCloud.temporary()

    private var database: CKDatabase {
        TidemarkDevice(cloud, user: "anna").container().privateCloudDatabase
    }

    /// Runs what blocks its thread on one of its own: Swift's threads must not wait.
    private func onThread(_ body: @escaping () -> Void) async {
        await withCheckedContinuation { continuation in
            Thread {
                body()
                continuation.resume()
            }.start()
        }
    }

    @available(*, deprecated)
    @Test func notesAsTutorialsWroteThem() async {
        await onThread { self.syncNotes() }
    }

    @available(*, deprecated)
    @Test func queriesAsTutorialsWroteThem() async {
        await onThread { self.findItems() }
    }

    @available(*, deprecated)
    private func syncNotes() {
        let database = self.database
        let zoneID = CKRecordZoneID(zoneName: "Notes", ownerName: CKCurrentUserDefaultName)
        let done = DispatchSemaphore(value: 0)

        let zoneOperation = CKModifyRecordZonesOperation(
            recordZonesToSave: [CKRecordZone(zoneID: zoneID)],
            recordZoneIDsToDelete: nil
        )
        zoneOperation.modifyRecordZonesCompletionBlock = { saved, _, error in
            #expect(saved?.count == 1)
            #expect(error == nil)
            done.signal()
        }
        database.add(zoneOperation)
        done.wait()

        let record = CKRecord(
            recordType: "Note",
            recordID: CKRecordID(recordName: "n1", zoneID: zoneID)
        )
        record["text"] = "Hello" as CKRecordValue
        database.save(record) { saved, error in
            #expect(saved?.recordID.recordName == "n1")
            #expect(error == nil)
            done.signal()
        }
        done.wait()

        var changed: [CKRecord] = []
        var deleted: [CKRecordID] = []
        var token: CKServerChangeToken?
        let options = CKFetchRecordZoneChangesOptions()
        options.previousServerChangeToken = nil
        let fetch = CKFetchRecordZoneChangesOperation(
            recordZoneIDs: [zoneID],
            optionsByRecordZoneID: [zoneID: options]
        )
        fetch.recordChangedBlock = { changed.append($0) }
        fetch.recordWithIDWasDeletedBlock = { id, _ in deleted.append(id) }
        fetch.recordZoneFetchCompletionBlock = { _, newToken, _, more, error in
            token = newToken
            #expect(!more)
            #expect(error == nil)
        }
        fetch.fetchRecordZoneChangesCompletionBlock = { error in
            #expect(error == nil)
            done.signal()
        }
        database.add(fetch)
        done.wait()
        #expect(changed.map { $0["text"] as? String } == ["Hello"])
        #expect(deleted.isEmpty)
        #expect(token != nil)

        let older = CKFetchRecordChangesOperation(
            recordZoneID: zoneID,
            previousServerChangeToken: nil
        )
        var count = 0
        older.recordChangedBlock = { _ in count += 1 }
        older.fetchRecordChangesCompletionBlock = { newToken, _, error in
            #expect(newToken != nil)
            #expect(error == nil)
            done.signal()
        }
        database.add(older)
        done.wait()
        #expect(count == 1)
        #expect(!older.moreComing)
    }

    @available(*, deprecated)
    private func findItems() {
        let database = self.database
        let done = DispatchSemaphore(value: 0)
        let records = (0..<3).map { number -> CKRecord in
            let record = CKRecord(recordType: "Item")
            record.setValue(number, forKey: "number")
            return record
        }
        let modify = CKModifyRecordsOperation(recordsToSave: records, recordIDsToDelete: nil)
        modify.savePolicy = .allKeys
        var completed = 0
        modify.perRecordCompletionBlock = { record, error in
            #expect(record.recordType == "Item")
            #expect(error == nil)
            completed += 1
        }
        modify.modifyRecordsCompletionBlock = { saved, deleted, error in
            #expect(saved?.count == 3)
            #expect(deleted?.isEmpty == true)
            #expect(error == nil)
            done.signal()
        }
        database.add(modify)
        done.wait()
        #expect(completed == 3)

        let query = CKQuery(recordType: "Item", predicate: NSPredicate(format: "number > 0"))
        query.sortDescriptors = [NSSortDescriptor(key: "number", ascending: false)]
        database.perform(query, inZoneWith: nil) { results, error in
            #expect(results?.compactMap { $0["number"] as? Int } == [2, 1])
            #expect(error == nil)
            done.signal()
        }
        done.wait()

        var fetched: [CKRecord] = []
        let operation = CKQueryOperation(query: query)
        operation.resultsLimit = 1
        operation.recordFetchedBlock = { fetched.append($0) }
        operation.queryCompletionBlock = { (cursor: CKQueryCursor?, error: Error?) in
            #expect(cursor != nil)
            #expect(error == nil)
            done.signal()
        }
        database.add(operation)
        done.wait()
        #expect(fetched.count == 1)

        let fetch = CKFetchRecordsOperation(recordIDs: records.map { $0.recordID })
        fetch.perRecordCompletionBlock = { record, id, error in
            #expect(record?.recordID == id)
            #expect(error == nil)
        }
        fetch.fetchRecordsCompletionBlock = { found, error in
            #expect(found?.count == 3)
            #expect(error == nil)
            done.signal()
        }
        database.add(fetch)
        done.wait()

        let missing = CKFetchRecordsOperation(recordIDs: [CKRecordID(recordName: "missing")])
        missing.fetchRecordsCompletionBlock = { found, error in
            #expect(found?.isEmpty == true)
            let error = error as? CKError
            #expect(error?.code == .partialFailure)
            #expect((error as NSError?)?.domain == CKErrorDomain)
            done.signal()
        }
        database.add(missing)
        done.wait()
    }
}
