// Tidemark
// SPDX-License-Identifier: Apache-2.0

// Public properties of an error live where records do: errors know nothing of records.

extension CKError {
    /// The record that the client's one was made from.
    public var ancestorRecord: CKRecord? {
        userInfo[CKRecordChangedErrorAncestorRecordKey] as? CKRecord
    }

    /// The record as the service has it: put merged values onto this one and save it.
    public var serverRecord: CKRecord? {
        userInfo[CKRecordChangedErrorServerRecordKey] as? CKRecord
    }

    /// The record that was to be saved.
    public var clientRecord: CKRecord? {
        userInfo[CKRecordChangedErrorClientRecordKey] as? CKRecord
    }
}
