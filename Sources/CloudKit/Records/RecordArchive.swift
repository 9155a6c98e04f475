// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A record as it is archived.
struct RecordArchive: Codable {
    struct Field: Codable {
        var key: String
        /// `nil` for a field that was cleared.
        var value: RecordValue.Archive?
        var isEncrypted: Bool
        var isChanged: Bool
    }

    var recordType: String
    var recordID: CKRecordID.Archive
    var changeTag: String?
    var created: Double?
    var creator: CKRecordID.Archive?
    var modified: Double?
    var lastModifier: CKRecordID.Archive?
    var parent: CKReference.Archive?
    var share: CKReference.Archive?
    var isParentChanged: Bool
    /// See ``RecordContent/exactDates``; `nil` where there are none.
    var exactDates: [String]?
    /// `nil` where only system fields were archived.
    var fields: [Field]?
    /// What a share says; `nil` for every other record.
    var shareTerms: CKShare.Terms?

    init(_ record: CKRecord, withFields: Bool) {
        let content = record.read { $0 }
        recordType = record.recordType
        recordID = record.recordID.archived
        changeTag = content.changeTag
        created = content.creationDate?.timeIntervalSinceReferenceDate
        creator = content.creator?.archived
        modified = content.modificationDate?.timeIntervalSinceReferenceDate
        lastModifier = content.lastModifier?.archived
        parent = content.parent?.archived
        share = content.share?.archived
        isParentChanged = content.parentChange != nil
        shareTerms = record.archivedTerms
        exactDates = content.exactDates.isEmpty ? nil : content.exactDates.sorted()
        guard withFields else { return }
        fields = content.fields.map { key, field in
            Field(
                key: key,
                value: field.value.archived,
                isEncrypted: field.isEncrypted,
                isChanged: content.changes[key] != nil
            )
        }
        for (key, change) in content.changes where content.fields[key] == nil {
            fields?.append(Field(key: key, isEncrypted: change.isEncrypted, isChanged: true))
        }
    }

    /// The record that was archived.
    var record: CKRecord {
        let id = CKRecordID(recordID)
        return shareTerms.map { CKShare(id, content, $0) } ?? CKRecord(recordType, id, content)
    }

    /// What the archived record held beside its names.
    var content: RecordContent {
        var content = RecordContent()
        for field in fields ?? [] {
            if let value = field.value.flatMap({ RecordValue($0) }) {
                content.fields[field.key] = .init(value: value, isEncrypted: field.isEncrypted)
            }
            if field.isChanged {
                content.changeCount += 1
                content.changes[field.key] = .init(
                    number: content.changeCount,
                    isEncrypted: field.isEncrypted
                )
            }
        }
        content.exactDates = Set(exactDates ?? [])
        content.changeTag = changeTag
        content.creationDate = created.map { Date(timeIntervalSinceReferenceDate: $0) }
        content.creator = creator.map { CKRecordID($0) }
        content.modificationDate = modified.map { Date(timeIntervalSinceReferenceDate: $0) }
        content.lastModifier = lastModifier.map { CKRecordID($0) }
        content.parent = parent.map { CKReference($0) }
        content.share = share.map { CKReference($0) }
        if isParentChanged {
            content.changeCount += 1
            content.parentChange = content.changeCount
        }
        return content
    }
}
