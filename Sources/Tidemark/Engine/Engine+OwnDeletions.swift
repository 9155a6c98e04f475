// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog
import TidemarkModel

// What a client that begins without a token is told of deletions from before.
//
// Apple's staff say that those of records are told which the asking device created
// (`cloudkit-semantics.md`, section 10.4): it may have kept them, although it never fetched the zone. Those
// of others' records are not, since it never knew these.
extension Engine {
    /// What a delta tells of a zone behind a place, at most `limit` entries.
    func versions(
        in key: UInt64,
        after start: Start,
        limit: Int,
        to caller: Caller,
        _ picture: ViewPicture
    ) throws(SyncError) -> [RecordVersion] {
        guard let device = caller.device, start.quiet > start.sequence else {
            return try changes(in: key, after: start.sequence, start.quiet, limit, picture)
        }
        let creator = Creator(user: caller.user, device: device)
        var told: [RecordVersion] = []
        var last = start.sequence
        while told.count < limit {
            let found = try changes(in: key, after: last, 0, limit, picture)
            told += try withoutStrangers(found, quiet: start.quiet, of: creator)
            guard found.count == limit, let next = found.last else { break }
            last = next.sequence.rawValue
        }
        return Array(told.prefix(limit))
    }

    private func changes(
        in key: UInt64,
        after start: UInt64,
        _ quiet: UInt64,
        _ limit: Int,
        _ picture: ViewPicture
    ) throws(SyncError) -> [RecordVersion] {
        do throws(ViewIndexError) {
            return try picture.changes(in: key, after: start, quiet: quiet, limit: limit)
        } catch {
            throw SyncError(error)
        }
    }

    /// Who created a record.
    private struct Creator: Equatable {
        var user: UserID?
        var device: String
    }

    /// Versions without the deletions up to a position of records that somebody else created, or nobody
    /// knows any more who, because compaction has dropped what was deleted.
    ///
    /// Reads each deletion and the version before it.
    private func withoutStrangers(
        _ versions: [RecordVersion],
        quiet: UInt64,
        of creator: Creator
    ) throws(SyncError) -> [RecordVersion] {
        let deletions = versions.filter { $0.isQuiet(below: quiet) }.map(\.sequence)
        if deletions.isEmpty { return versions }
        var deletionByVersion: [SequenceNumber: SequenceNumber] = [:]
        var own: Set<SequenceNumber> = []
        try source.visit(deletions) { (event) throws(SyncError) in
            let before = SequenceNumber(rawValue: try record(in: event).event.previous)
            if before > .zero { deletionByVersion[before] = event.sequence }
            return true
        }
        try source.visit(deletionByVersion.keys.sorted()) { (event) throws(SyncError) in
            let created = try record(in: event).readBody().created
            if let device = created.device,
                Creator(user: created.user, device: device) == creator,
                let deletion = deletionByVersion[event.sequence]
            {
                own.insert(deletion)
            }
            return true
        }
        return versions.filter { !$0.isQuiet(below: quiet) || own.contains($0.sequence) }
    }

    private func record(in event: LogEvent) throws(SyncError) -> StoredRecord {
        do throws(EventFormatError) {
            return try StoredRecord(event.sequence, zone: event.zone, event.payload)
        } catch {
            throw SyncError(error)
        }
    }
}
