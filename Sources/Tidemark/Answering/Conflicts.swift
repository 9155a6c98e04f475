// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel

extension Engine {
    /// The error of an item that met another version of its record.
    func conflict(
        of request: ModifyRecordsRequest,
        at index: Int,
        against server: StoredRecord?,
        author: Authorship,
        _ sight: VersionAccess
    ) throws(SyncError) -> SyncError {
        let record = request.record(at: index)
        guard let server else { return .recordNotFound(record) }
        let records = try conflictRecords(
            of: request,
            at: index,
            against: server,
            author: author,
            sight
        )
        return records.client.changeTag == nil
            ? .recordExists(record, records) : .recordChanged(record, records)
    }

    /// The three records of a conflict.
    ///
    /// The ancestor is read from the log by the tag that the client held, so that clients which
    /// keep no copies get it too; unless it is none that the caller may see.
    func conflictRecords(
        of request: ModifyRecordsRequest,
        at index: Int,
        against server: StoredRecord,
        author: Authorship,
        _ sight: VersionAccess
    ) throws(SyncError) -> ConflictRecords {
        let id = request.record(at: index)
        let isSave = index < request.saves.count
        let tag =
            isSave
            ? request.saves[index].changeTag
            : request.deletions[index - request.saves.count].changeTag
        let access = sight.access(of: id.zone)
        let serverRecord = try record(server, in: id.zone).shown(to: access)
        var ancestorRecord: Record?
        var ancestorSequence = SequenceNumber.zero
        if let tag, let held = TagContent(tag),
            let stored = try ancestor(held, of: Name(id.recordName), before: server),
            try sight.shows(stored, in: id.zone)
        {
            ancestorRecord = try record(stored, in: id.zone).shown(to: access)
            ancestorSequence = stored.sequence
        }
        var body = (ancestorRecord ?? serverRecord).body
        if isSave {
            let save = request.saves[index]
            body = RecordBody(
                RecordHeader(
                    recordName: Name(id.recordName),
                    recordType: Name(save.recordType),
                    created: author,
                    modified: author
                ),
                setting: save.fields,
                extent: save.policy.extent,
                over: ancestorRecord?.body,
                of: ancestorSequence.rawValue
            )
        }
        return ConflictRecords(
            client: Record(zone: id.zone, changeTag: tag, body: body).shown(to: access),
            ancestor: ancestorRecord,
            server: serverRecord
        )
    }

    /// The version that a client held; `nil` if the store does not have it, or it is not a version
    /// of that record.
    func ancestor(
        _ held: TagContent,
        of name: Name,
        before server: StoredRecord
    ) throws(SyncError) -> StoredRecord? {
        guard held.sequence <= server.sequence, held.matches(held.sequence, in: line) else {
            return nil
        }
        // A tag is only text: it may name any event of the store, which is none of this client's
        // business unless it is about the same record of the same zone.
        guard let stored = try? views.records(at: [held.sequence])[0],
            stored.zone == server.zone, stored.event.state == .live
        else { return nil }
        return try SyncError.wrapping { () throws(EventFormatError) in
            try stored.hasName(name) ? stored : nil
        }
    }
}
