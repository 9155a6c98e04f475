// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
package import TidemarkLog
package import TidemarkModel

/// The conflicts of a request, and the versions that the caller may see.
package struct Conflicts {
    private let request: ModifyRecordsRequest
    private let author: BodyAuthor
    private let line: IncarnationLine
    private let sight: VersionAccess
    private let facts: any Facts

    /// - Parameters:
    ///   - request: The request.
    ///   - author: The user, device and time of the request.
    ///   - line: The store's incarnations, for parsing tags.
    ///   - sight: The versions that the caller may be shown.
    ///   - facts: The state of the store at the request.
    package init(
        of request: ModifyRecordsRequest,
        by author: BodyAuthor,
        _ line: IncarnationLine,
        _ sight: VersionAccess,
        _ facts: any Facts
    ) {
        self.request = request
        self.author = author
        self.line = line
        self.sight = sight
        self.facts = facts
    }

    /// Returns the error for an item that found another version of its record.
    package func error(
        at index: Int,
        against server: StoredRecord?
    ) throws(SyncError) -> SyncError {
        let record = request.record(at: index)
        guard let server else { return .recordNotFound(record) }
        let records = try records(at: index, against: server)
        return records.client.changeTag == nil
            ? .recordExists(record, records) : .recordChanged(record, records)
    }

    /// Returns the three records of a conflict.
    ///
    /// The ancestor is read from the log by the client's tag, so that clients which keep no copies
    /// get it too. It is left out if the caller may not see it.
    package func records(
        at index: Int,
        against server: StoredRecord
    ) throws(SyncError) -> ConflictRecords {
        let id = request.record(at: index)
        let isSave = index < request.saves.count
        let tag =
            isSave
            ? request.saves[index].changeTag
            : request.deletions[index - request.saves.count].changeTag
        let access = sight.access(of: id.zone)
        let serverRecord = try Record(server, in: id.zone, line).shown(to: access)
        var ancestorRecord: Record?
        var ancestorSequence = SequenceNumber.zero
        if let tag, let held = TagContent(tag),
            let stored = try facts.ancestor(held, of: Name(id.recordName), before: server, line),
            try sight.shows(stored, in: id.zone)
        {
            ancestorRecord = try Record(stored, in: id.zone, line).shown(to: access)
            ancestorSequence = stored.sequence
        }
        // For a deletion, the client record is the ancestor (semantics.md, "Saving"). Without one,
        // the server's record takes its place.
        var body = (ancestorRecord ?? serverRecord).body
        if isSave {
            let save = request.saves[index]
            body = RecordBody(
                named: Name(id.recordName),
                type: Name(save.recordType),
                by: author,
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
}

extension Facts {
    /// Returns the version that a client held; `nil` if the store does not have it, or it is not a
    /// version of that record.
    package func ancestor(
        _ held: TagContent,
        of name: Name,
        before server: StoredRecord,
        _ line: IncarnationLine
    ) throws(SyncError) -> StoredRecord? {
        // A later position, or one of another incarnation, is no version that this record ever had.
        guard held.sequence <= server.sequence, held.matches(held.sequence, in: line) else {
            return nil
        }
        // A tag is only text and may name any event of the store. The client may only see an event
        // of the same record in the same zone.
        // An event that compaction has dropped cannot be read, and then there is no ancestor.
        guard let stored = try? records(at: [held.sequence])[0],
            stored.zone == server.zone, stored.event.state == .live
        else { return nil }
        return try SyncError.wrapping { () throws(EventFormatError) in
            try stored.hasName(name) ? stored : nil
        }
    }
}

extension Record {
    /// Creates a record as clients get it, from its event.
    package init(
        _ stored: StoredRecord,
        in zone: ZoneID,
        _ line: IncarnationLine
    ) throws(SyncError) {
        self.init(
            zone: zone,
            changeTag: TagContent(of: stored.sequence, in: line).tag,
            body: try stored.readBody()
        )
    }
}
