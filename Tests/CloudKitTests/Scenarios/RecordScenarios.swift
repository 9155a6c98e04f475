// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing

#if TidemarkName
@testable import TidemarkCloudKit
#else
@testable import CloudKit
@testable import TidemarkCloudKit
#endif

@Suite(.needsCloud) struct `Saving in a database` {
    private let zoneID = CKRecordZone.ID(zoneName: "Notes")

    private func note(_ name: String, _ text: String) -> CKRecord {
        let record = CKRecord("Note", name, in: zoneID)
        record["text"] = text
        return record
    }

    @Test func `A conflict is resolved by modification date`() async throws {
        let fixture = CloudFixture()
        let phone = try await fixture.database(zone: zoneID)
        let laptop = fixture.container(on: "laptop").privateCloudDatabase
        let saved = try await phone.save(note("n1", "first"))
        let held = try await laptop.record(for: saved.recordID)

        saved["text"] = "from the phone"
        saved["edited"] = Date(timeIntervalSince1970: 1000)
        _ = try await phone.save(saved)

        held["text"] = "from the laptop"
        held["edited"] = Date(timeIntervalSince1970: 2000)
        do {
            _ = try await laptop.save(held)
            Issue.record("no conflict")
        } catch let error as CKError where error.code == .serverRecordChanged {
            let server = try #require(error.serverRecord)
            let client = try #require(error.clientRecord)
            let ancestor = try #require(error.ancestorRecord)
            #expect(ancestor["text"] == "first")
            #expect(server["text"] == "from the phone")
            let serverDate = try #require(server["edited"] as Date?)
            let clientDate = try #require(client["edited"] as Date?)
            #expect(clientDate > serverDate)
            server["text"] = client["text"] as String?
            server["edited"] = clientDate
            _ = try await laptop.save(server)
        }
        let final = try await phone.record(for: saved.recordID)
        #expect(final["text"] == "from the laptop")
    }

    @Test func `The ancestor of a new record has no fields`() async throws {
        let fixture = CloudFixture()
        let phone = try await fixture.database(zone: zoneID)
        _ = try await phone.save(note("n1", "first"))
        let second = note("n1", "second")
        let error = await #expect(throws: CKError.self) { _ = try await phone.save(second) }
        #expect(error?.code == .serverRecordChanged)
        #expect(error?.clientRecord === second)
        let ancestor = try #require(error?.ancestorRecord)
        #expect(ancestor.recordID == second.recordID)
        #expect(ancestor.recordType == "Note")
        #expect(ancestor.allKeys().isEmpty)
        #expect(ancestor.recordChangeTag == nil)

        let server = try #require(error?.serverRecord)
        for key in second.changedKeys() where ancestor[key] as Any? == nil {
            server[key] = second[key]
        }
        _ = try await phone.save(server)
        #expect(try await phone.record(for: second.recordID)["text"] == "second")
    }

    @Test func `An encrypted date round-trips exactly`() async throws {
        let fixture = CloudFixture()
        let phone = try await fixture.database(zone: zoneID)
        let laptop = fixture.container(on: "laptop").privateCloudDatabase
        let first = Date(timeIntervalSinceReferenceDate: 818_000_000.123_456_7)
        let record = note("n1", "text")
        record.encryptedValues["edited"] = first
        record["seen"] = first
        let saved = try await phone.save(record)
        #expect(saved.encryptedValues["edited"] == first)
        let fetched = try await laptop.record(for: record.recordID)
        #expect(fetched.encryptedValues["edited"] == first)
        #expect(fetched.encryptedValues.allKeys() == ["edited"])
        #expect(fetched.allKeys().sorted() == ["seen", "text"])
        // Others are kept to the millisecond.
        let seen = try #require(fetched["seen"] as Date?)
        #expect(seen != first)
        #expect(abs(seen.timeIntervalSince(first)) <= 0.000_5)

        // A later date takes its place, also one of whole milliseconds, and one of a client that knows
        // of nothing beside it.
        let dates = [
            first.addingTimeInterval(0.000_01), Date(timeIntervalSince1970: 1_800_000_000),
        ]
        for date in dates {
            fetched.encryptedValues["edited"] = date
            try await laptop.save(fetched)
            let again = try await phone.record(for: record.recordID)
            #expect(again.encryptedValues["edited"] == date)
            #expect(again.encryptedValues.allKeys() == ["edited"])
        }
        fetched.encryptedValues["edited"] = nil
        try await laptop.save(fetched)
        let cleared = try await phone.record(for: record.recordID)
        #expect(cleared.encryptedValues.allKeys().isEmpty)

        // Where fields are declared there is nothing beside a date.
        let model = try record.saving(.allKeys, in: .production).model
        #expect(model.fields.map(\.name) == ["edited", "seen", "text"])
    }

    @Test func `An atomic batch with one invalid record saves nothing`() async throws {
        let fixture = CloudFixture()
        let database = try await fixture.database(zone: zoneID)
        _ = try await database.save(note("taken", "there"))
        let operation = CKModifyRecordsOperation(
            recordsToSave: [note("a", "1"), note("taken", "again"), note("b", "2")]
        )
        let items = Heard<(String, CKError.Code?)>()
        operation.perRecordSaveBlock = { id, result in
            items.add((id.recordName, (result.error as? CKError)?.code))
        }
        let ends = Heard<(any Error)?>()
        operation.modifyRecordsCompletionBlock = { _, _, error in ends.add(error) }
        await operation.run { database.add($0) }

        #expect(items.items.map(\.0) == ["a", "taken", "b"])
        #expect(
            items.items.map(\.1)
                == [.batchRequestFailed, .serverRecordChanged, .batchRequestFailed]
        )
        let error = try #require(ends.items.first as? CKError)
        #expect(error.code == .partialFailure)
        #expect(error.partialErrorsByItemID?.count == 3)
        let left = try await database.records(for: [note("a", "").recordID])
        #expect((left.values.first?.error as? CKError)?.code == .unknownItem)
    }

    @Test func `A batch that is not atomic saves its valid records`() async throws {
        let fixture = CloudFixture()
        let database = try await fixture.database(zone: zoneID)
        _ = try await database.save(note("taken", "there"))
        let records = [note("a", "1"), note("taken", "again")]
        let results = try await database.modifyRecords(
            saving: records,
            deleting: [],
            atomically: false
        )
        #expect(try results.saveResults[records[0].recordID]?.get()["text"] == "1")
        let error = results.saveResults[records[1].recordID]?.error as? CKError
        #expect(error?.code == .serverRecordChanged)
        #expect(
            await code {
                _ = try await database.modifyRecords(saving: [records[1]], deleting: [])
            } == .partialFailure
        )
    }

    @Test func `A batch with too many records is split in half`() async throws {
        let fixture = CloudFixture()
        let database = try await fixture.database(zone: zoneID)
        let limits = Heard<String>()

        func save(_ records: [CKRecord]) async throws {
            do {
                _ = try await database.modifyRecords(saving: records, deleting: [])
            } catch let error as CKError where error.code == .limitExceeded {
                limits.add(error.localizedDescription)
                let half = records.count / 2
                try await save(Array(records[..<half]))
                try await save(Array(records[half...]))
            }
        }

        try await save((0..<401).map { note("n\($0)", "text") })
        let text = try #require(limits.items.first)
        #expect(limits.items.count == 1)
        #expect(text.contains("401") && text.contains("400"))
        let changes = CKFetchRecordZoneChangesOperation(recordZoneIDs: [zoneID])
        let names = Heard<String>()
        let pages = Heard<CKServerChangeToken?>()
        changes.recordWasChangedBlock = { id, _ in names.add(id.recordName) }
        changes.recordZoneChangeTokensUpdatedBlock = { _, token, _ in pages.add(token) }
        await changes.run { database.add($0) }
        #expect(Set(names.items).count == 401)
        #expect(!pages.items.isEmpty)
    }

    @Test func `The saved object continues as the saved version`() async throws {
        let fixture = CloudFixture()
        let database = try await fixture.database(zone: zoneID)
        let record = note("n1", "one")
        let saved = try await database.save(record)
        #expect(saved !== record)
        #expect(saved.recordChangeTag != nil)
        #expect(record.recordChangeTag == saved.recordChangeTag)
        #expect(record.changedKeys().isEmpty)
        record["text"] = "two"
        let again = try await database.save(record)
        #expect(again["text"] == "two")
        #expect(again.creatorUserRecordID?.recordName == CKCurrentUserDefaultName)
    }

    @Test func `Missing items fail with the codes that programs expect`() async throws {
        let fixture = CloudFixture()
        let database = try await fixture.database()
        let elsewhere = CKRecordZone.ID(zoneName: "Elsewhere")
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(zoneID: elsewhere))
        #expect(await code { _ = try await database.save(record) } == .zoneNotFound)
        #expect(
            await code { _ = try await database.record(for: CKRecord.ID(recordName: "x")) }
                == .unknownItem
        )
        #expect(await code { _ = try await database.recordZone(for: elsewhere) } == .zoneNotFound)
        // The convenience call succeeds, the operation says that the zone is missing.
        #expect(
            await code { _ = try await database.deleteRecordZone(withID: elsewhere) } == nil
        )
        let results = try await database.modifyRecordZones(saving: [], deleting: [elsewhere])
        #expect((results.deleteResults[elsewhere]?.error as? CKError)?.code == .zoneNotFound)
        let ends = Heard<CKError?>()
        let operation = CKModifyRecordZonesOperation(recordZoneIDsToDelete: [elsewhere])
        operation.modifyRecordZonesResultBlock = { ends.add($0.error as? CKError) }
        await operation.run { database.add($0) }
        #expect(ends.items.first??.code == .partialFailure)
        // Nobody is signed in.
        let nobody = fixture.device("nobody", of: nil).container()
        #expect(try await nobody.accountStatus() == .noAccount)
        #expect(
            await code { _ = try await nobody.privateCloudDatabase.save(note("n", "")) }
                == .notAuthenticated
        )
        #expect(await code { _ = try await nobody.userRecordID() } == .notAuthenticated)
    }

    @Test func `A user's own zone can be fetched by its owner's name`() async throws {
        let fixture = CloudFixture()
        let database = try await fixture.database(zone: CKRecordZone.ID(zoneName: "Mine"))
        let owner = try await fixture.container(on: "phone").userRecordID().recordName
        let named = CKRecordZone.ID(zoneName: "Mine", ownerName: owner)
        #expect(try await database.recordZone(for: named).zoneID == named)
        let stranger = CKRecordZone.ID(zoneName: "Mine", ownerName: "ben")
        #expect(await code { _ = try await database.recordZone(for: stranger) } == .zoneNotFound)
    }

    @Test func `An encrypted date has the value set last`() async throws {
        let database = try await CloudFixture().database()
        let record = CKRecord(recordType: "Note")
        let (whole, between) = (Date(timeIntervalSinceReferenceDate: 1000), 0.000_3)
        for archives in [false, true] {
            record.encryptedValues["date"] = whole.addingTimeInterval(between)
            _ = try await database.save(record)
            var fetched = try await database.record(for: record.recordID)
            #expect(fetched.encryptedValues["date"] == whole.addingTimeInterval(between))
            if archives { fetched = try roundTrip(fetched) }
            fetched.encryptedValues["date"] = whole
            _ = try await database.save(fetched)
            let again = try await database.record(for: record.recordID)
            #expect(again.encryptedValues["date"] == whole)
            // The same object, saved before and not fetched.
            record.encryptedValues["date"] = whole.addingTimeInterval(between)
            let operation = CKModifyRecordsOperation(recordsToSave: [record])
            operation.savePolicy = .changedKeys
            await operation.run { database.add($0) }
            record.encryptedValues["date"] = whole
            _ = try await database.save(record)
            let last = try await database.record(for: record.recordID)
            #expect(last.encryptedValues["date"] == whole)
        }
    }
}
