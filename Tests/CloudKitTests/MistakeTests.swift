// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CloudKit
import Testing

/// What stops a program, as it does on Apple's systems.
struct MistakeTests {
    @Test func `a text that is no predicate`() async {
        await #expect(processExitsWith: .failure) { _ = NSPredicate(format: "count ==") }
        await #expect(processExitsWith: .failure) { _ = NSPredicate(format: "count == 'x") }
        await #expect(processExitsWith: .failure) { _ = NSPredicate(format: "count == %@") }
    }

    @Test func `a value that no record can hold`() async {
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

    @Test func `an asset that is no file, and a parent with an action`() async {
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
