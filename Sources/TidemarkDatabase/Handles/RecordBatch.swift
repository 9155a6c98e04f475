// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkModel

/// Records to save and to delete by one commit, as ``ZoneHandle/modify(_:)`` collects them.
public struct RecordBatch: Sendable {
    private let zone: ZoneHandle
    private var saves: [RecordSave] = []
    private var deletions: [RecordDeletion] = []
    /// The first item that cannot be sent.
    private var problem: SyncError?

    init(_ zone: ZoneHandle) {
        self.zone = zone
    }

    /// Saves a value as a new record; see ``ZoneHandle/save(_:parent:policy:)``.
    public mutating func save(
        _ value: some RecordCodable,
        parent: ParentChange = .unchanged,
        policy: SavePolicy = .ifServerRecordUnchanged
    ) {
        noting { (batch) throws(SyncError) in
            batch.saves.append(
                try RecordSave(new: value, in: batch.zone.id, parent: parent, policy: policy)
            )
        }
    }

    /// Saves the changes of a record since it was read.
    public mutating func save<Value>(
        _ stored: Stored<Value>,
        parent: ParentChange = .unchanged,
        policy: SavePolicy = .ifServerRecordUnchanged
    ) {
        noting { (batch) throws(SyncError) in
            let save = try RecordSave(
                changed: stored,
                in: batch.zone,
                parent: parent,
                policy: policy
            )
            if !save.fields.isEmpty || parent != .unchanged { batch.saves.append(save) }
        }
    }

    /// Saves fields of a record; see ``ZoneHandle/save(_:type:fields:parent:changeTag:policy:)``.
    public mutating func save(
        _ record: some RecordNamed,
        type recordType: String,
        fields: Fields,
        parent: ParentChange = .unchanged,
        changeTag: RecordChangeTag? = nil,
        policy: SavePolicy = .ifServerRecordUnchanged
    ) {
        noting { (batch) throws(SyncError) in
            let save = RecordSave(
                try batch.zone.recordID(record),
                type: recordType,
                fields: fields,
                parent: parent,
                changeTag: changeTag,
                policy: policy
            )
            batch.saves.append(save)
        }
    }

    /// Deletes a record: given a fetched record, only that version; given a name, any version.
    public mutating func delete(_ record: some RecordNamed) {
        noting { (batch) throws(SyncError) in
            let deletion = RecordDeletion(
                try batch.zone.recordID(record),
                changeTag: record.readVersion
            )
            batch.deletions.append(deletion)
        }
    }

    private mutating func noting(_ body: (inout RecordBatch) throws(SyncError) -> Void) {
        do throws(SyncError) {
            try body(&self)
        } catch {
            // The first problem counts, since later ones may follow from it.
            problem = problem ?? error
        }
    }

    /// Returns the request with the collected records.
    func request() throws(SyncError) -> ModifyRecordsRequest {
        if let problem { throw problem }
        return ModifyRecordsRequest(saves: saves, deletions: deletions)
    }
}
