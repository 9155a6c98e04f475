// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
package import TidemarkLog
package import TidemarkModel

/// The rules about one record, as pure functions of the lookups.
package struct RecordRules: Sendable {
    /// The limits of the store.
    package var limits: Limits
    /// The store's incarnations, for comparing tags.
    package var line: IncarnationLine
    /// The kind of database.
    package var scope: DatabaseScope
    /// The name of the caller's own user record; `nil` if no user is signed in.
    package let userName: Name?
    /// True for an operator's import, which may change a record's type and refer to records of
    /// other zones.
    package let isImport: Bool
    /// True if saving a record gives new tags to the targets of its references, as CloudKit does.
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

    /// Returns the verdict on the save with an index, which is read member by member: a copy of a
    /// save retains ten texts.
    ///
    /// The facts are read for a merge only, for the version that the client held. `isAdmitted` is true
    /// if the schema has all of the save's fields.
    package func verdict(
        on saves: [RecordSave],
        _ items: [ConsultedItem],
        at index: Int,
        over facts: any Facts,
        isAdmitted: Bool = false
    ) throws(SyncError) -> Verdict {
        do throws(SyncError) {
            // First what needs no version, so that a malformed save gets the same error in every
            // state.
            try check(saves, at: index, isAdmitted)
        } catch {
            return .refused(error)
        }
        let policy = saves[index].policy
        guard let body = items[index].liveBody else {
            if saves[index].changeTag == nil { return .save }
            return absentVerdict(on: saves[index].recordID, policy)
        }
        let sequence = items[index].previous
        let type = saves[index].typeName
        if !isImport, !body.hasType(type) {
            return .refused(
                .recordTypeDiffers(
                    saves[index].recordID,
                    found: body.recordType,
                    asked: type.string
                )
            )
        }
        if policy.comparesTags {
            // Without a tag, the client takes the record for new (semantics.md, "Saving"). A text
            // that no store made, such as a tag of Apple's service, is the tag of no version here.
            guard let held = saves[index].changeTag.flatMap({ TagContent($0) }) else {
                return .conflict
            }
            if !held.matches(sequence, in: line) {
                guard policy == .merge, let live = items[index].live,
                    let old = try facts.ancestor(held, of: items[index].name, before: live, line),
                    try canMerge(saves[index], into: body, of: sequence, since: old)
                else { return .conflict }
            }
        }
        if fitsSurely(saves[index].fields, over: body) { return .save }
        return sizeVerdict(on: saves[index], over: body)
    }

    /// Returns true if no field that the client sets or removes has changed on the server since the
    /// client's version.
    private func canMerge(
        _ save: RecordSave,
        into server: RecordBody,
        of sequence: SequenceNumber,
        since ancestor: StoredRecord
    ) throws(SyncError) -> Bool {
        let old = try ancestor.readBody()
        // A record that was deleted and created again is another record.
        guard old.created == server.created else { return false }
        // Neither has a stamp, so the value is compared with the client's version.
        if save.parent != .unchanged,
            old.parentName.map({ Name($0) }) != server.parentName.map({ Name($0) })
        {
            return false
        }
        if save.boxedShare.hasContent, Share(old.fields) != Share(server.fields) { return false }
        let held = ancestor.sequence
        func stamp(_ field: Fields.Element) -> SequenceNumber {
            // Stamp 0 stands for the event that has the body, whose position was not known when it
            // was encoded.
            field.stamp == 0 ? sequence : SequenceNumber(rawValue: field.stamp)
        }
        let removals = server.fields.filter(\.isRemoved)
        // A full list of removals may have lost some, all before the earliest one in it.
        let mayHaveLostRemovals =
            removals.count >= Fields.keptRemovalCount
            && held < (removals.map(stamp).min() ?? 0)
        for field in save.fields {
            // Removed fields are among the server's, with the stamp of their removal.
            if let index = server.fields.index(ofBytes: field.nameBytes) {
                if stamp(server.fields[index]) > held { return false }
            } else if mayHaveLostRemovals {
                return false
            }
        }
        return true
    }

    /// Returns the verdict on a save with a tag, of a record that does not exist.
    private func absentVerdict(on record: RecordID, _ policy: SavePolicy) -> Verdict {
        // Also under policies that never compare tags: the client takes the record for existing
        // (semantics.md, "Saving").
        switch policy {
        case .ifServerRecordUnchanged, .changedKeys, .allKeys, .merge, .replaceIfUnchanged:
            .refused(.recordNotFound(record))
        case .replace:
            .save
        }
    }

    /// Returns the verdict on a deletion.
    package func verdict(on deletion: RecordDeletion, _ item: ConsultedItem) -> Verdict {
        do throws(SyncError) {
            try limits.check(recordName: item.name)
            try checkUsers(deletion, item)
        } catch {
            return .refused(error)
        }
        // Deleting a record that does not exist succeeds (semantics.md, "Zones").
        guard item.isLive else { return .nothingToDo }
        // A deletion without a tag deletes any version. One with a tag deletes only that version.
        if let tag = deletion.changeTag {
            guard let held = TagContent(tag), held.matches(item.previous, in: line) else {
                return .conflict
            }
        }
        return .delete
    }
}

// MARK: - Names and sizes

extension RecordRules {
    /// Rejects invalid names, fields and sizes.
    private func check(
        _ saves: [RecordSave],
        at index: Int,
        _ isAdmitted: Bool
    ) throws(SyncError) {
        let type = saves[index].typeName
        let fields = saves[index].fields
        // The names in system zones belong to the store.
        if !(isImport && saves[index].recordID.zone.isSystem) {
            try limits.check(recordName: saves[index].recordID.name)
        }
        if !isAdmitted { try limits.check(recordType: type) }
        if !isImport, scope == .public || type.isUsersType {
            try checkUsers(saves[index])
        }
        if case .set(let parent) = saves[index].parent { try limits.check(recordName: parent) }
        if type.isShareType {
            try limits.check(fields.withoutShare())
        } else if !isAdmitted || !limits.allow(admitted: fields) {
            try limits.check(fields)
        }
        if fields.mayHave(.encrypted), fields.hasEncrypted {
            try saves[index].checkEncrypted(in: scope)
        }
        if !isImport, fields.mayHave(.references), fields.namesZones {
            try checkZones(of: saves[index])
        }
        // The encoded size is an upper bound, so the exact one is computed near the limit only.
        if fields.bytes.count > limits.bytesPerRecord || fields.count > limits.fieldsPerRecord {
            try checkSize(of: fields, saves[index].recordID)
        }
    }

    /// Rejects references to records of other zones.
    private func checkZones(of save: RecordSave) throws(SyncError) {
        for field in save.fields where field.namesZone {
            guard let zone = field.firstZone else { continue }
            throw .referenceLeavesZone(save.recordID, field: field.name, zone)
        }
    }

    /// Rejects too many or too large fields.
    private func checkSize(of fields: Fields, _ record: RecordID) throws(SyncError) {
        guard fields.count <= limits.fieldsPerRecord else {
            throw .tooManyFields(fields.count, limit: limits.fieldsPerRecord)
        }
        let byteCount = fields.contentByteCount
        guard byteCount <= limits.bytesPerRecord else {
            throw .recordTooLarge(record, byteCount: byteCount, limit: limits.bytesPerRecord)
        }
    }

    /// Returns true if a record cannot be too large after fields of it are saved.
    private func fitsSurely(_ fields: Fields, over old: RecordBody) -> Bool {
        fields.bytes.count + old.bytes.count <= limits.bytesPerRecord
            && fields.count + old.fieldCount <= limits.fieldsPerRecord
    }

    /// Returns the verdict on a save by the size of the merged record.
    private func sizeVerdict(on save: RecordSave, over old: RecordBody) -> Verdict {
        do throws(SyncError) {
            try checkSize(of: save.body(over: old).fields, save.recordID)
        } catch {
            return .refused(error)
        }
        return .save
    }
}

extension SavePolicy {
    /// The treatment of fields that a save with this policy does not name.
    package var extent: SaveExtent {
        switch self {
        case .replace, .replaceIfUnchanged: .wholeRecord
        case .ifServerRecordUnchanged, .changedKeys, .allKeys, .merge: .changedFields
        }
    }

    /// True if the policy compares the client's version.
    package var comparesTags: Bool {
        switch self {
        case .ifServerRecordUnchanged, .merge, .replaceIfUnchanged: true
        case .changedKeys, .allKeys, .replace: false
        }
    }
}

extension Fields {
    /// The number of bytes of the fields' names and values, without the overhead of the encoding.
    package var contentByteCount: Int {
        reduce(0) { $0 + $1.nameBytes.count + $1.valueBytes.count }
    }
}

extension StoredRecord {
    /// Returns the record's body; throws a read error as a `SyncError`.
    package func readBody() throws(SyncError) -> RecordBody {
        try SyncError.wrapping { () throws(EventFormatError) in try body() }
    }

    /// Returns the name and type of a tombstone; throws a read error as a `SyncError`.
    package func readTombstone() throws(SyncError) -> (name: String, type: String) {
        try SyncError.wrapping { () throws(EventFormatError) in try tombstone() }
    }
}
