// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CloudKit
import Tidemark
import TidemarkTesting

/// The examples of documentation comments, compiled: each is here to the letter.
private enum DocumentedExamples {
    struct NoteStore {
        func upload() async throws {}
    }

    static func ofOneDevice() {
        TidemarkDevice(TidemarkCloud(storeAt: "notes.tide"), user: "anna").makeDefault()
        let container = CKContainer.default()
        _ = container
    }

    static func ofSaving() async throws {
        let database = CKContainer.default().privateCloudDatabase
        let note = CKRecord(recordType: "Note")
        note["title"] = "Milk"
        try await database.save(note)
    }

    static func ofSeveralDevices() async throws {
        let cloud = TidemarkCloud.temporary()
        let phone = TidemarkDevice(cloud, user: "anna", name: "phone")
        let laptop = TidemarkDevice(cloud, user: "anna", name: "laptop")
        try await phone.run { try await NoteStore().upload() }
        _ = laptop
    }

    static func ofFaultyService() {
        let faulty = FaultyService(.temporary())
        let phone = TidemarkDevice(TidemarkCloud(faulty), user: "anna")
        faulty.failNext(.save, with: .zoneBusy, retryAfter: 0.1)
        _ = phone
    }

    static func ofFaults(in store: any DatabaseService) {
        let faulty = FaultyService(store)
        let busy = SyncError(.zoneBusy, "Another device writes.")
        faulty.failNext(.save, with: busy)
        faulty.loseNextAnswer(to: .save)
    }
}
