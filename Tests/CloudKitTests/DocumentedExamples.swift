// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CloudKit

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

    static func ofSeveralDevices() async throws {
        let cloud = TidemarkCloud.temporary()
        let phone = TidemarkDevice(cloud, user: "anna", name: "phone")
        let laptop = TidemarkDevice(cloud, user: "anna", name: "laptop")
        try await phone.run { try await NoteStore().upload() }
        _ = laptop
    }

    static func ofRiggedService() {
        let rigged = RiggedService(.temporary())
        let phone = TidemarkDevice(TidemarkCloud(rigged), user: "anna")
        rigged.failNext(.save, with: .zoneBusy, retryAfter: 0.1)
        _ = phone
    }
}
