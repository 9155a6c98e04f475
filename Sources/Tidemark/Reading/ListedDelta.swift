// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkRules

/// A zone of the caller's own or the public database, as a delta lists it for the caller.
///
/// It has no picture, so that the usual answer, for which nothing is listed, needs no copy of one.
struct ListedZone {
    /// The zone's key; `nil` while it has none yet.
    let key: ZoneKey?
    /// The place of the request's token.
    var start: Reader.Start
    /// The records that the caller may read; `nil` for all.
    let readable: PublicAccess?
    /// The same as a number, for tokens.
    let readability: UInt64

    /// Returns the content of the token of a client that has received everything up to a position.
    func token(
        at position: SequenceNumber,
        _ incarnation: Incarnation,
        moreComing: Bool = false
    ) -> TokenContent {
        // Between two pages a client may hold a record that was deleted before the second one begins.
        let keepsQuiet = start.quiet > position || moreComing && readability != 0
        return TokenContent(
            level: .zone,
            place: key?.rawValue ?? 0,
            incarnation: incarnation,
            sequence: position,
            quiet: keepsQuiet ? start.known : .zero,
            readability: readability
        )
    }
}

/// The delta of a listed zone, from the zone's list of changes, now or as of a position.
///
/// Without a token, a delta reports earlier deletions only of records that the calling user created
/// on the calling device, as Apple's staff say of CloudKit. The device may hold such a record
/// although it never fetched the zone. It never had the other ones.
struct ListedDelta<Viewed: Picture>: ZoneDelta {
    let reader: Reader
    let picture: Viewed
    var zone: ListedZone
    /// The caller's user and device, whose earlier deletions are reported; `nil` if none are.
    let creator: FormerVersions.Creator?

    init(_ reader: Reader, _ picture: Viewed, _ zone: ListedZone, _ caller: Caller) {
        self.reader = reader
        self.picture = picture
        self.zone = zone
        creator =
            zone.start.quiet > 0
            ? caller.device.map { FormerVersions.Creator(user: caller.user, device: $0) } : nil
    }

    var access: ZoneAccess? { nil }

    /// Lists the zone's changes after the start.
    ///
    /// Every deletion from before the first page costs a read of its record's events.
    func list(_ limit: Int) throws(SyncError) -> DeltaList {
        let start = zone.start
        let isQuiet = start.quiet > start.sequence
        let search = isQuiet ? FormerVersions(for: self, access: nil) : nil
        var budget = reader.scanBudget(limit)
        let scan = try DeltaScan(
            after: start.sequence,
            // One more entry shows if there is more.
            limit: limit + 1,
            budget: &budget,
            position: \.sequence,
            read: { (start, count) throws(SyncError) -> [RecordVersion] in
                guard let key = zone.key else { return [] }
                return try picture.versions(in: key, after: start, limit: count)
            },
            tell: { (run, budget) throws(SyncError) in
                guard isQuiet else { return .init(entries: run) }
                return try told(run, search, &budget)
            }
        )
        var entries = scan.entries
        let next = entries.count > limit ? entries.removeLast().sequence : nil
        let last = next == nil ? scan.end : entries.last?.sequence
        return DeltaList(
            entries: entries.map { DeltaEntry(slot: $0.slot, sequence: $0.sequence) },
            place: place(at: last),
            next: next ?? last?.next,
            keepsCommits: true
        )
    }

    func place(behind count: Int, of list: DeltaList) -> DeltaPlace? {
        place(at: list.entries[count - 1].sequence)
    }

    /// The content of the token of a client that has received everything.
    var end: TokenContent { place(at: nil).token }

    /// Returns the place after a position; without one, the place at the end of the list.
    private func place(at position: SequenceNumber?) -> DeltaPlace {
        // Without more to come the token is at the end of the store, so that the token of a quiet
        // zone does not fall below a later horizon.
        let end = position ?? picture.bound
        let moreComing = position != nil
        return DeltaPlace(
            token: zone.token(at: end, reader.line.current, moreComing: moreComing),
            moreComing: moreComing
        )
    }

    /// Returns the entries of a run, without deletions up to the quiet position unless the search
    /// finds an earlier version.
    private func told(
        _ run: [RecordVersion],
        _ search: FormerVersions?,
        _ budget: inout Int
    ) throws(SyncError) -> DeltaScan<RecordVersion>.Told {
        let quiet = zone.start.quiet
        // The usual case, in which the run is not copied.
        if !run.contains(where: { $0.isQuiet(below: quiet) }) { return .init(entries: run) }
        let deletions = run.filter { $0.isQuiet(below: quiet) }.map(\.sequence)
        guard let search, search.creator != nil, !deletions.isEmpty else {
            return .init(entries: run.filter { !$0.isQuiet(below: quiet) })
        }
        let (own, undecided) = try search.find(before: deletions, budget: &budget)
        let bound = undecided ?? .max
        return .init(
            entries: run.filter {
                $0.sequence < bound && (!$0.isQuiet(below: quiet) || own[$0.sequence] != nil)
            },
            end: undecided?.previous
        )
    }

    /// Removes the records that the caller may not read, and reports them as deleted if the caller
    /// may hold an earlier record of the same name.
    func hide(from rows: inout RecordRows) throws(SyncError) -> DeltaPlace? {
        guard let readable = zone.readable else { return nil }
        let all = rows.removeRows()
        let isShown = try all.map { (row) throws(SyncError) in try readable.shows(row, of: rows) }
        let hidden = zip(all, isShown).filter { !$0.1 }
            .map { SequenceNumber(rawValue: $0.0.sequence) }
        // One search for all hidden rows, so that a block with events of several records is decoded
        // once.
        var budget = reader.scanBudget(all.count)
        let (found, undecided) = try FormerVersions(for: self, access: readable)
            .find(before: hidden, budget: &budget)
        var incarnations = IncarnationReader(line: reader.line)
        for (row, isShown) in zip(all, isShown) {
            let sequence = SequenceNumber(rawValue: row.sequence)
            // The budget ended at this row. The page ends before it, and the next page begins with
            // it.
            if sequence == undecided { return place(at: sequence.previous) }
            if isShown {
                rows.append(again: row)
            } else if let former = found[sequence] {
                rows.appendDeletion(
                    of: rows.nameAndType(of: row).name,
                    former.recordType.utf8,
                    former.end.rawValue,
                    incarnations.bits(of: former.end)
                )
            }
        }
        return nil
    }
}

extension FormerVersions {
    /// Creates a search for the versions held by a caller that has received a zone's changes up to
    /// the delta's start.
    fileprivate init(for delta: ListedDelta<some Picture>, access: PublicAccess?) {
        self.init(
            source: delta.reader.source,
            known: delta.zone.start.known,
            creator: delta.creator,
            access: access
        )
    }
}

extension PublicAccess {
    /// Returns true if the caller may see a row of a delta.
    fileprivate func shows(_ row: RecordRows.Row, of rows: RecordRows) throws(SyncError) -> Bool {
        switch row.kind {
        case .changed: try refusal(of: .read, on: rows.body(of: row)) == nil
        case .deleted, .gone:
            try mayHear(
                ofDeletionOf: Name(String(decoding: rows.nameAndType(of: row).type, as: UTF8.self))
            )
        }
    }
}
