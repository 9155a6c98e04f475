// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CloudKit
import Testing

/// What stops a program, as it does on Apple's systems.
struct MistakeTests {
    @Test func `An invalid predicate format traps`() async {
        await #expect(processExitsWith: .failure) { _ = NSPredicate(format: "count ==") }
        await #expect(processExitsWith: .failure) { _ = NSPredicate(format: "count == 'x") }
        await #expect(processExitsWith: .failure) { _ = NSPredicate(format: "count == %@") }
    }

    @Test func `A value that no record can store traps`() async {
        await #expect(processExitsWith: .failure) {
            CKRecord(recordType: "Note").setValue(["a": 1], forKey: "dictionary")
        }
        await #expect(processExitsWith: .failure) {
            CKRecord(recordType: "Note")["mixed"] = NSArray(array: [1, "a"])
        }
        await #expect(processExitsWith: .failure) {
            let id = CKRecord.ID(recordName: "n")
            let record = CKRecord(recordType: "Note", recordID: id)
            record.encryptedValues["link"] = CKRecord.Reference(recordID: id, action: .none)
        }
    }

    @Test func `An asset URL that is not a file, or a parent with an action, traps`() async {
        await #expect(processExitsWith: .failure) {
            if let url = URL(string: "https://example.org/x") { _ = CKAsset(fileURL: url) }
        }
        await #expect(processExitsWith: .failure) {
            let id = CKRecord.ID(recordName: "n")
            CKRecord(recordType: "Note").parent = CKRecord.Reference(
                recordID: id,
                action: .deleteSelf
            )
        }
    }
}
