// Tidemark
// SPDX-License-Identifier: Apache-2.0

// The suite of an app, as it is written for Apple's systems. `ExecTests` runs it under `tidemark exec`. It
// is the only one with XCTest, and the project's own runs leave it out.
import CloudKit
import XCTest

final class NotesAppTests: XCTestCase {
    private let database = CKContainer.default().privateCloudDatabase
    private let zoneID = CKRecordZone.ID(zoneName: "Notes", ownerName: CKCurrentUserDefaultName)

    override func setUp() async throws {
        try await super.setUp()
        _ = try await database.save(CKRecordZone(zoneID: zoneID))
    }

    private func note(_ name: String, _ text: String) -> CKRecord {
        let id = CKRecord.ID(recordName: name, zoneID: zoneID)
        let record = CKRecord(recordType: "Note", recordID: id)
        record["text"] = text
        return record
    }

    func testAccountIsAvailable() async throws {
        let status = try await CKContainer.default().accountStatus()
        XCTAssertEqual(status, .available)
    }

    func testSavedNoteIsFetched() async throws {
        let saved = try await database.save(note("milk", "Oat milk"))
        XCTAssertNotNil(saved.recordChangeTag)
        let fetched = try await database.record(for: saved.recordID)
        XCTAssertEqual(fetched["text"] as? String, "Oat milk")
        XCTAssertEqual(fetched.recordChangeTag, saved.recordChangeTag)
    }

    func testStaleNoteConflicts() async throws {
        let first = try await database.save(note("bread", "Bread"))
        let stale = try await database.record(for: first.recordID)
        first["text"] = "Rye bread"
        _ = try await database.save(first)
        stale["text"] = "White bread"
        do {
            _ = try await database.save(stale)
            XCTFail("The stale note was saved.")
        } catch let error as CKError where error.code == .serverRecordChanged {
            XCTAssertEqual(error.serverRecord?["text"] as? String, "Rye bread")
        }
    }

    func testDeletedNoteIsInTheDelta() async throws {
        let saved = try await database.save(note("eggs", "Eggs"))
        let before = try await database.recordZoneChanges(inZoneWith: zoneID, since: nil)
        _ = try await database.deleteRecord(withID: saved.recordID)
        let after = try await database.recordZoneChanges(
            inZoneWith: zoneID,
            since: before.changeToken
        )
        XCTAssertEqual(after.deletions.map(\.recordID.recordName), ["eggs"])
    }

    func testOperationSavesBatch() {
        let saved = expectation(description: "saved")
        let notes = (0..<50).map { note("batch\($0)", "Note \($0)") }
        let operation = CKModifyRecordsOperation(recordsToSave: notes, recordIDsToDelete: nil)
        operation.modifyRecordsResultBlock = { result in
            if case .failure(let error) = result { XCTFail("\(error)") }
            saved.fulfill()
        }
        database.add(operation)
        wait(for: [saved], timeout: 30)
    }
}
