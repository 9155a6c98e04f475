// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation

// System fields in archives that Apple's framework wrote. Docs/formats/archives.md has the sources
// of the keys.

extension RecordArchive {
    /// Reads the system fields that `encodeSystemFields(with:)` wrote.
    ///
    /// `nil` for a whole record, whose fields cannot be read: without them, saving it could clear
    /// fields. `nil` for a share too, whose participants cannot be read.
    init?(_ apple: KeyedObject?) {
        guard let apple, !["CKRecord", "CKShare"].contains(apple.className),
            let type = apple.string("RecordType"), type != CKRecord.SystemType.share,
            let id = CKRecordID.Archive(apple.object("RecordID", "CKRecordID"))
        else { return nil }
        self.init(
            recordType: type,
            recordID: id,
            changeTag: apple.string("ETag"),
            created: apple.date("RecordCtime")?.timeIntervalSinceReferenceDate,
            creator: CKRecordID.Archive(apple.object("CreatorUserRecordID", "CKRecordID")),
            modified: apple.date("RecordMtime")?.timeIntervalSinceReferenceDate,
            lastModifier: CKRecordID.Archive(
                apple.object("LastModifiedUserRecordID", "CKRecordID")
            ),
            parent: CKReference.Archive(apple.object("ParentReference", "CKReference")),
            share: CKReference.Archive(apple.object("ShareReference", "CKReference"))
        )
    }
}
