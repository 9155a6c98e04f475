// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension CKReference {
    /// Links to a record.
    public convenience init(record: CKRecord, action: CKReferenceAction) {
        self.init(recordID: record.recordID, action: action)
    }
}
