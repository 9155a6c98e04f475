// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A record as it is archived: its ``bytes``, and the property list that earlier versions wrote.
struct RecordArchive: Decodable {
    struct Field {
        var key: String
        /// `nil` for a field that was cleared.
        var value: RecordValue?
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
    var isParentChanged = false
    /// See ``RecordContent/exactDates``; `nil` if there are none.
    var exactDates: [String]?
    /// The fields; `nil` if only system fields were archived.
    var fields: [Field]?
    /// The content of a share; `nil` for every other record.
    var shareTerms: CKShare.Terms?
}

extension RecordArchive {
    init(_ record: CKRecord, withFields: Bool) {
        // One copy under the lock: another thread may change the record during the archiving.
        let content = record.read { $0 }
        self.init(recordType: record.recordType, recordID: record.recordID.archived)
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
                value: field.value,
                isEncrypted: field.isEncrypted,
                isChanged: content.changes[key] != nil
            )
        }
        // A cleared field has no value, but a later save has to send that it was cleared.
        for (key, change) in content.changes where content.fields[key] == nil {
            fields?.append(Field(key: key, isEncrypted: change.isEncrypted, isChanged: true))
        }
    }

    /// The record that was archived.
    var record: CKRecord {
        let id = CKRecordID(recordID)
        return shareTerms.map { CKShare(id, content, $0) } ?? CKRecord(recordType, id, content)
    }

    /// The content of the archived record except its names.
    var content: RecordContent {
        var content = RecordContent()
        for field in fields ?? [] {
            if let value = field.value {
                content.fields[field.key] = .init(value: value, isEncrypted: field.isEncrypted)
            }
            if field.isChanged {
                // The numbers of changes are not archived. They only order changes against a save
                // that is in progress, and a record that was just read has none.
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

extension RecordArchive.Field: Decodable {
    private enum Key: CodingKey {
        case key, value, isEncrypted, isChanged
    }

    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: Key.self)
        key = try values.decode(String.self, forKey: .key)
        value = try values.decodeIfPresent(RecordValue.Archive.self, forKey: .value)
            .flatMap { RecordValue($0) }
        isEncrypted = try values.decode(Bool.self, forKey: .isEncrypted)
        isChanged = try values.decode(Bool.self, forKey: .isChanged)
    }
}

/// A record inside another archive: its bytes, or the property list of earlier versions.
struct PackedRecord: Codable {
    let archive: RecordArchive

    init(_ record: CKRecord) {
        archive = RecordArchive(record, withFields: true)
    }

    init(from decoder: any Decoder) throws {
        guard let data = try? decoder.singleValueContainer().decode(Data.self) else {
            archive = try RecordArchive(from: decoder)
            return
        }
        guard let archive = RecordArchive(bytes: Array(data)) else { throw ArchiveReader.Damage() }
        self.archive = archive
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(Data(archive.bytes))
    }
}
