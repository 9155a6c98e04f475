// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TidemarkModel

extension CKRecord {
    /// Creates a record of the service, without changes; a `CKShare` if it is a share.
    ///
    /// If the reader created or changed the record, its user is `CKCurrentUserDefaultName`.
    static func make(_ model: Record, seenBy reader: UserID? = nil) -> CKRecord {
        let (id, content) = (CKRecordID(model.recordID), RecordContent(model, reader))
        if let share = model.share { return CKShare(id, content, CKShare.Terms(share, reader)) }
        return CKRecord(model.recordType, id, content)
    }

    /// A save of this record on its way.
    struct Saving: Sendable {
        /// The save to request from the service.
        let model: RecordSave
        /// The number of the last change that is in it.
        let changeCount: Int
        /// The fields that have a number with the exact date after the save.
        let exactDates: Set<String>
    }

    /// Returns the request to the service that saves this record.
    ///
    /// With the policy `allKeys`, and for a record that was never saved, every field is sent.
    /// Otherwise only the fields that were set or cleared are sent. The bytes of
    /// ``assets(toSaveUnder:)`` must have been sent. Throws `invalidArguments` for values that the
    /// service cannot keep.
    ///
    /// `reader` is the current user, whom shares call `CKCurrentUserDefaultName`. In production the
    /// environment determines the extra fields that can be saved.
    func saving(
        _ policy: SavePolicy,
        as reader: UserID? = nil,
        in environment: TidemarkModel.Environment = .development
    ) throws(CKError) -> Saving {
        // One copy under the lock, so that `changeCount` is the number of the last change in it.
        let content = read { $0 }
        let zone = recordID.zoneID.model
        var builder = FieldsBuilder()
        var exactDates = content.exactDates
        for (key, field) in content.sentFields(policy) {
            let value = try field.flatMap { field throws(CKError) in
                try field.value.isUntypedEmptyList ? nil : field.value.model(in: zone)
            }
            do {
                try builder.set(key, value, isEncrypted: field?.isEncrypted ?? false)
                if environment != .development { continue }
                if let field, field.isEncrypted, case .date(let date) = field.value,
                    let exact = ExactDates.beside(key, date)
                {
                    try builder.set(exact.key, exact.value, isEncrypted: true)
                    exactDates.insert(key)
                } else if exactDates.remove(key) != nil {
                    // Otherwise the number would still hold the old date.
                    try builder.set(ExactDates.key(beside: key), nil)
                }
            } catch {
                throw CKError(error)
            }
        }
        let fields: Fields
        do {
            fields = try builder.finish()
        } catch {
            throw CKError(error)
        }
        let model = RecordSave(
            recordID.model,
            type: recordType,
            fields: fields,
            parent: try content.parentChange(in: zone, policy, seenBy: reader),
            changeTag: content.changeTag.map { RecordChangeTag($0) },
            policy: policy,
            share: shareContent(seenBy: reader)
        )
        return Saving(model: model, changeCount: content.changeCount, exactDates: exactDates)
    }

    /// The record with its local changes, for predicates; `nil` if the service could not store it.
    var unsavedBody: RecordBody? {
        let content = read { $0 }
        let (id, zone) = (recordID.model, recordID.zoneID.model)
        var builder = FieldsBuilder()
        for (key, field) in content.fields {
            // An asset that was not sent has no value yet. No predicate reads assets.
            guard !field.value.isUntypedEmptyList, let value = try? field.value.model(in: zone)
            else { continue }
            guard (try? builder.set(key, value, isEncrypted: field.isEncrypted)) != nil else {
                return nil
            }
        }
        // The header of a body has two bytes for the length of each text.
        guard let fields = try? builder.finish(), id.name.byteCount <= Int(UInt16.max) else {
            return nil
        }
        func authorship(_ date: Date?, _ user: CKRecordID?) -> Authorship {
            Authorship(
                time: (try? date?.milliseconds) ?? 0,
                user: user.map { UserID($0.recordName) }
            )
        }
        let header = RecordHeader(
            recordName: id.name,
            recordType: Name(recordType),
            created: authorship(content.creationDate, content.creator),
            modified: authorship(content.modificationDate, content.lastModifier),
            parentName: content.parent.map { Name($0.recordID.recordName) },
            shareName: content.share.map { Name($0.recordID.recordName) }
        )
        return RecordBody(header, fields: fields)
    }

    /// Returns the assets that saving this record names, with their fields, in the order of those.
    func assets(toSaveUnder policy: SavePolicy) -> [(key: FieldKey, asset: CKAsset)] {
        let sent = read { $0.sentFields(policy) }
        return sent.sorted { $0.key < $1.key }.flatMap { key, field in
            (field?.value.assets ?? []).map { (key, $0) }
        }
    }

    /// All assets of this record, with their fields and their places in a list.
    var assets: [(key: FieldKey, element: Int, asset: CKAsset)] {
        let fields = read { $0.fields }
        return fields.sorted { $0.key < $1.key }.flatMap { key, field in
            field.value.assets.enumerated().map { (key, $0.offset, $0.element) }
        }
    }

    /// Updates the record after a save: its version, and the fields that the service changed.
    ///
    /// Changes that were made in the meantime remain changes.
    func wasSaved(_ saving: Saving, as model: Record, seenBy reader: UserID? = nil) {
        let saved = RecordContent(model, reader)
        change { content in
            // The fields stay. Values that other clients have saved are in the record of the result
            // only (Docs/cloudkit.md, "Containers, databases and operations").
            content.takeSystemFields(of: saved)
            content.exactDates = saving.exactDates
            content.changes = content.changes.filter { $0.value.number > saving.changeCount }
            if let number = content.parentChange, number <= saving.changeCount {
                content.parentChange = nil
                content.parent = saved.parent
            }
        }
        if let share = model.share { take(share, seenBy: reader) }
    }
}

extension RecordContent {
    init(_ model: Record, _ reader: UserID?) {
        for field in model.fields.present {
            // The content of a share is in fields that no client can save.
            guard let value = field.value, !field.name.hasPrefix("___") else { continue }
            fields[field.name] = Field(
                value: RecordValue(value, in: model.zone),
                isEncrypted: field.isEncrypted
            )
        }
        exactDates = ExactDates.take(into: &fields)
        changeTag = model.changeTag?.text
        // A record that no store has seen has no times.
        if model.changeTag != nil {
            creationDate = Date(milliseconds: model.created.time)
            creator = model.created.user.map { CKRecordID($0, seenBy: reader) }
            modificationDate = Date(milliseconds: model.modified.time)
            lastModifier = model.modified.user.map { CKRecordID($0, seenBy: reader) }
        }
        parent = model.parentID.map { CKReference(recordID: CKRecordID($0), action: .none) }
        share = model.shareID.map { CKReference(recordID: CKRecordID($0), action: .none) }
    }

    /// Takes the system fields from another version.
    fileprivate mutating func takeSystemFields(of saved: RecordContent) {
        changeTag = saved.changeTag
        creationDate = saved.creationDate
        creator = saved.creator
        modificationDate = saved.modificationDate
        lastModifier = saved.lastModifier
        share = saved.share
    }

    /// Returns the fields that a save sends; `nil` for those to clear.
    fileprivate func sentFields(_ policy: SavePolicy) -> [String: Field?] {
        var sent: [String: Field?] = [:]
        for key in changes.keys { sent[key] = .some(fields[key]) }
        if policy == .allKeys || changeTag == nil {
            for (key, field) in fields { sent[key] = field }
        }
        return sent
    }

    fileprivate func parentChange(
        in zone: ZoneID,
        _ policy: SavePolicy,
        seenBy reader: UserID?
    ) throws(CKError) -> ParentChange {
        guard parentChange != nil || policy == .allKeys || changeTag == nil else {
            return .unchanged
        }
        // With `allKeys` a record without a parent does not remove the parent that the service has:
        // only a change by the program does.
        guard let parent else { return parentChange == nil ? .unchanged : .removed }
        let target = parent.recordID.model
        // A user's own zone has two spellings.
        func spelled(_ zone: ZoneID) -> ZoneID {
            zone.ownerName == reader?.userRecordName ? ZoneID(zoneName: zone.zoneName) : zone
        }
        guard spelled(target.zone) == spelled(zone) else {
            throw CKError(
                .invalidArguments,
                "The parent \(target) is in another zone than its child. A parent must be in the "
                    + "same zone."
            )
        }
        return .set(Name(target.recordName))
    }
}
