// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
package import TidemarkLog
package import TidemarkModel

/// What is to become of one item of a request.
package enum Verdict: Sendable {
    /// The record is saved; over its last version if that lives.
    case save
    /// The record is deleted.
    case delete
    /// Nothing has to change.
    case nothingToDo
    /// Refused, whatever the records say beside.
    case refused(SyncError)
    /// Refused, because of the version that the record has now.
    case conflict
}

/// The rules about one record: pure, over what was looked up.
package struct RecordRules: Sendable {
    /// How much of everything is allowed.
    package var limits: Limits
    /// The store's incarnations, which tags are compared by.
    package var line: IncarnationLine
    /// The kind of database.
    package var scope: DatabaseScope
    /// The name of the caller's own user record; `nil` where nobody is signed in.
    package var userName: Name?
    /// Whether an operator's import is decided: it may give a record another type, and refer to
    /// records of other zones.
    package var isImport = false
    /// Whether saving a record gives new tags to those that it refers to, as CloudKit does.
    package var touchesTargets = false

    package init(
        limits: Limits,
        line: IncarnationLine,
        scope: DatabaseScope,
        userName: Name? = nil,
        isImport: Bool = false
    ) {
        self.limits = limits
        self.line = line
        self.scope = scope
        self.userName = userName
        self.isImport = isImport
    }

    /// What is to become of a save.
    ///
    /// `ancestor` finds the version of the record that a tag names; `nil` if it is none, or the store
    /// does not have it any more.
    package func verdict(
        on save: RecordSave,
        _ item: ConsultedItem,
        ancestor: (TagContent) throws(SyncError) -> StoredRecord?
    ) throws(SyncError) -> Verdict {
        do throws(SyncError) {
            try check(save)
        } catch {
            return .refused(error)
        }
        guard let live = item.live else { return absentVerdict(on: save) }
        let body = try live.readBody()
        if !isImport, !Name(save.recordType).hasBytes(body.recordTypeBytes.span.bytes) {
            return .refused(
                .recordTypeDiffers(save.recordID, found: body.recordType, asked: save.recordType)
            )
        }
        if save.policy.comparesTags {
            guard let tag = save.changeTag else { return .conflict }
            guard let held = TagContent(tag) else {
                return .refused(.tagInvalid(tag, save.recordID))
            }
            if !held.matches(live.sequence, in: line) {
                guard save.policy == .merge, let old = try ancestor(held),
                    try canMerge(save, into: body, of: live.sequence, since: old)
                else { return .conflict }
            }
        }
        return try sizeVerdict(on: save, over: body)
    }

    /// Whether nothing that a client sets or removes was set or removed on the server since the
    /// version that the client held.
    private func canMerge(
        _ save: RecordSave,
        into server: RecordBody,
        of sequence: SequenceNumber,
        since ancestor: StoredRecord
    ) throws(SyncError) -> Bool {
        let old = try ancestor.readBody()
        // A record that was deleted and created again since is another one.
        guard old.created == server.created else { return false }
        // Neither has a stamp, so what counts is whether it is what the client held.
        if save.parent != .unchanged,
            old.parentName.map({ Name($0) }) != server.parentName.map({ Name($0) })
        {
            return false
        }
        if save.boxedShare.hasContent, Share(old.fields) != Share(server.fields) { return false }
        let held = ancestor.sequence
        func stamp(_ field: Fields.Element) -> SequenceNumber {
            field.stamp == 0 ? sequence : SequenceNumber(rawValue: field.stamp)
        }
        let removals = server.fields.filter(\.isRemoved)
        // A full list of removals may have lost some, all before the earliest that it holds.
        let mayHaveLostRemovals =
            removals.count >= Fields.keptRemovalCount
            && held < (removals.map(stamp).min() ?? 0)
        for field in save.fields {
            if let index = server.fields.index(ofBytes: field.nameBytes) {
                if stamp(server.fields[index]) > held { return false }
            } else if mayHaveLostRemovals {
                return false
            }
        }
        return true
    }

    /// What is to become of a save where no record is.
    private func absentVerdict(on save: RecordSave) -> Verdict {
        if let tag = save.changeTag {
            switch save.policy {
            case .ifServerRecordUnchanged, .changedKeys, .allKeys, .merge, .replaceIfUnchanged:
                let isTag = TagContent(tag) != nil
                return .refused(
                    isTag ? .recordNotFound(save.recordID) : .tagInvalid(tag, save.recordID)
                )
            case .replace:
                break
            }
        }
        return .save
    }

    /// What is to become of a deletion.
    package func verdict(on deletion: RecordDeletion, _ item: ConsultedItem) -> Verdict {
        do throws(SyncError) {
            try limits.check(recordName: item.name)
            try checkUsers(deletion, item)
        } catch {
            return .refused(error)
        }
        guard let live = item.live else { return .nothingToDo }
        if let tag = deletion.changeTag {
            guard let held = TagContent(tag) else {
                return .refused(.tagInvalid(tag, deletion.recordID))
            }
            guard held.matches(live.sequence, in: line) else { return .conflict }
        }
        return .delete
    }
}

// MARK: - Names and sizes

extension RecordRules {
    /// Refuses names, fields and sizes that no record may have.
    private func check(_ save: RecordSave) throws(SyncError) {
        // The names in system zones are the store's own.
        if !(isImport && save.recordID.zone.isSystem) {
            try limits.check(recordName: save.recordID.name)
        }
        try limits.check(recordType: Name(save.recordType))
        if !isImport { try checkUsers(save) }
        if case .set(let parent) = save.parent { try limits.check(recordName: parent) }
        try limits.check(save.isShare ? save.fields.withoutShare() : save.fields)
        try save.checkEncrypted(in: scope)
        if !isImport { try checkZones(of: save) }
        try checkSize(of: save.fields, save.recordID)
    }

    /// Refuses references to records of other zones.
    private func checkZones(of save: RecordSave) throws(SyncError) {
        guard save.fields.namesZones else { return }
        for field in save.fields where field.namesZone {
            guard let zone = field.firstZone else { continue }
            throw .referenceLeavesZone(save.recordID, field: field.name, zone)
        }
    }

    /// Refuses fields that are too many or too large.
    private func checkSize(of fields: Fields, _ record: RecordID) throws(SyncError) {
        guard fields.count <= limits.fieldsPerRecord else {
            throw .tooManyFields(fields.count, limit: limits.fieldsPerRecord)
        }
        guard fields.bytes.count > limits.bytesPerRecord else { return }
        let byteCount = fields.contentByteCount
        guard byteCount <= limits.bytesPerRecord else {
            throw .recordTooLarge(record, byteCount: byteCount, limit: limits.bytesPerRecord)
        }
    }

    /// What the size of a merged record means for a save; merged only if it could be too large.
    private func sizeVerdict(
        on save: RecordSave,
        over old: RecordBody
    ) throws(SyncError) -> Verdict {
        let byteCount = save.fields.bytes.count + old.bytes.count
        let count = save.fields.count + old.fields.count
        if byteCount <= limits.bytesPerRecord, count <= limits.fieldsPerRecord { return .save }
        let nobody = Authorship(time: 0, user: nil)
        let header = RecordHeader(
            recordName: Name(save.recordID.recordName),
            recordType: Name(save.recordType),
            created: nobody,
            modified: nobody
        )
        let merged = RecordBody(
            header,
            setting: save.fields,
            extent: save.policy.extent,
            over: old,
            of: 1
        )
        do throws(SyncError) {
            try checkSize(of: merged.fields, save.recordID)
        } catch {
            return .refused(error)
        }
        return .save
    }
}

extension SavePolicy {
    /// What a save under this policy means for fields that it does not name.
    package var extent: SaveExtent {
        switch self {
        case .replace, .replaceIfUnchanged: .wholeRecord
        case .ifServerRecordUnchanged, .changedKeys, .allKeys, .merge: .changedFields
        }
    }

    /// Whether the version that the client held counts.
    package var comparesTags: Bool {
        switch self {
        case .ifServerRecordUnchanged, .merge, .replaceIfUnchanged: true
        case .changedKeys, .allKeys, .replace: false
        }
    }
}

extension Fields {
    /// Bytes of the fields' names and values, without what the encoding adds.
    package var contentByteCount: Int {
        reduce(0) { $0 + $1.nameBytes.count + $1.valueBytes.count }
    }
}

extension StoredRecord {
    /// The record's body, as a caller outside of the log's room meets it.
    package func readBody() throws(SyncError) -> RecordBody {
        try SyncError.wrapping { () throws(EventFormatError) in
            try body()
        }
    }
}
