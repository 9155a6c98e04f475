// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkRules
import TidemarkViews

// The deletions and hidden records of a zone's delta.
//
// Without a token a delta tells deletions from before only of records that the asking user created on the
// asking device, as Apple's staff say of CloudKit: the device may
// have kept such a record although it never fetched the zone. It never knew the other ones.
extension Reader {
    /// The versions of a zone that a delta tells behind a place, at most `limit`.
    ///
    /// - Parameters:
    ///   - start: The place.
    ///   - limit: One more than a page may have.
    ///   - caller: The client.
    ///   - read: Reads the zone's list behind a position; fewer entries than asked for only at its end.
    ///
    /// Every deletion from before the first page costs the reading of its record's events.
    ///
    /// - Returns: The versions, and how far the list was read.
    ///
    /// - Throws: What keeps the list or the log from being read.
    func versions(
        after start: Start,
        limit: Int,
        to caller: Caller,
        _ read: (_ start: UInt64, _ count: Int) throws(SyncError) -> [RecordVersion]
    ) throws(SyncError) -> DeltaScan<RecordVersion> {
        let isQuiet = start.quiet > start.sequence
        let search = isQuiet ? FormerVersions(source, start, of: caller, access: nil) : nil
        var budget = scanBudget
        return try DeltaScan(
            after: start.sequence,
            limit: limit,
            budget: &budget,
            position: \.sequence.rawValue,
            read: read,
            tell: { (run, budget) throws(SyncError) in
                guard isQuiet else { return .init(entries: run) }
                return try told(run, quiet: start.quiet, search, &budget)
            }
        )
    }

    /// The entries of a run without the deletions up to a position, but for those that a search finds
    /// something behind.
    private func told(
        _ run: [RecordVersion],
        quiet: UInt64,
        _ search: FormerVersions?,
        _ budget: inout Int
    ) throws(SyncError) -> DeltaScan<RecordVersion>.Told {
        let deletions = run.filter { $0.isQuiet(below: quiet) }.map(\.sequence)
        guard let search, search.creator != nil, !deletions.isEmpty else {
            return .init(entries: run.filter { !$0.isQuiet(below: quiet) })
        }
        let (own, undecided) = try search.find(before: deletions, budget: &budget)
        let bound = undecided ?? SequenceNumber(rawValue: .max)
        return .init(
            entries: run.filter {
                $0.sequence < bound && (!$0.isQuiet(below: quiet) || own[$0.sequence] != nil)
            },
            end: undecided.map { $0.rawValue - 1 }
        )
    }

    /// A page as a caller of a public database may see it.
    ///
    /// Leaves out the records that the caller may not read, and tells them as deleted where the caller may
    /// hold an earlier one of the same name. Ends the page early if that takes too many reads.
    func readable(
        _ page: ChangePage,
        after start: Start,
        by access: PublicAccess?,
        _ caller: Caller
    ) throws(SyncError) -> ChangePage {
        guard let access else { return page }
        let positions = page.changes.map {
            $0.changeTag.flatMap { TagContent($0) }?.sequence ?? .zero
        }
        let hidden = zip(page.changes, positions).filter { !access.shows($0.0) }.map(\.1)
        if hidden.isEmpty { return page }
        var budget = scanBudget
        let (found, undecided) = try FormerVersions(source, start, of: caller, access: access)
            .find(before: hidden, budget: &budget)
        var shown = ChangePage(end: page.end)
        for (change, position) in zip(page.changes, positions) {
            if position == undecided {
                shown.end = SequenceNumber(rawValue: position.rawValue - 1)
                break
            }
            if access.shows(change) {
                shown.changes.append(change)
            } else if let former = found[position] {
                let record = DeletedRecord(
                    recordID: change.recordID,
                    recordType: former.recordType,
                    changeTag: TagContent(of: former.end, in: line).tag
                )
                shown.changes.append(.deleted(record))
            }
        }
        return shown
    }
}

extension FormerVersions {
    /// A search for what a caller holds who has been told of a zone up to a place.
    fileprivate init(
        _ source: any EventSource,
        _ start: Reader.Start,
        of caller: Caller,
        access: PublicAccess?
    ) {
        let creator = caller.device.map { Creator(user: caller.user, device: $0) }
        self.init(
            source: source,
            known: start.known,
            creator: start.quiet > 0 ? creator : nil,
            access: access
        )
    }
}

extension PublicAccess {
    /// Tells whether the caller may see a line of a delta.
    fileprivate func shows(_ change: RecordChange) -> Bool {
        switch change {
        case .changed(let record): refusal(of: .read, on: record.body) == nil
        case .deleted(let record): mayHear(ofDeletionOf: Name(record.recordType))
        }
    }
}

extension RecordChange {
    fileprivate var recordID: RecordID {
        switch self {
        case .changed(let record): record.recordID
        case .deleted(let record): record.recordID
        }
    }

    fileprivate var changeTag: RecordChangeTag? {
        switch self {
        case .changed(let record): record.changeTag
        case .deleted(let record): record.changeTag
        }
    }
}
