// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkViews

/// The store as of a position.
///
/// The views of now list all zones that there ever were, with their ends. The records of a zone, and
/// its last event, are found in that zone's events alone.
final class FoldedPicture: Picture {
    let bound: SequenceNumber
    private let reader: Reader
    /// The store as it is now, which also keeps the events that are read here.
    private let now: ViewPicture
    /// Each list is made once: a page may read it in several steps.
    private var knownEpochs: (database: DatabaseID, list: [PastZone])?
    private var knownHeads: (database: DatabaseID, start: SequenceNumber, list: [ZoneHead])?

    init(_ reader: Reader, _ now: ViewPicture, through bound: SequenceNumber) {
        self.reader = reader
        self.now = now
        self.bound = bound
    }

    /// All epochs of the zones of a database, those included that began later.
    private func epochs(of database: DatabaseID) throws(SyncError) -> [PastZone] {
        if let knownEpochs, knownEpochs.database == database { return knownEpochs.list }
        let list = try SyncError.wrapping { () throws(ViewIndexError) in
            try now.zones(of: database, after: 0, quiet: 0, limit: .max).map { PastZone($0) }
        }
        knownEpochs = (database, list)
        return list
    }

    func zone(_ zone: ZoneIdentity) throws(SyncError) -> (key: ZoneKey?, end: ZoneDeletionReason?) {
        let epochs = try epochs(of: zone.database).filter { $0.identity == zone }
        if let living = epochs.first(where: { $0.isThere(at: bound) }) { return (living.key, nil) }
        let ended = epochs.filter { $0.end.map { $0 <= bound } ?? false }
        return (nil, ended.max { $0.key < $1.key }?.endReason)
    }

    func livingZones(of database: DatabaseID) throws(SyncError) -> [ZoneKey: ZoneIdentity] {
        let living = try epochs(of: database).filter { $0.isThere(at: bound) }
        return Dictionary(uniqueKeysWithValues: living.map { ($0.key, $0.identity) })
    }

    func zones(
        of database: DatabaseID,
        after start: SequenceNumber,
        quiet: SequenceNumber,
        limit: Int
    ) throws(SyncError) -> [ZoneHead] {
        let list: [ZoneHead]
        if let knownHeads, knownHeads.database == database, knownHeads.start <= start {
            list = knownHeads.list
        } else {
            list = try heads(of: database, after: start)
            knownHeads = (database, start, list)
        }
        return Array(list.filter { $0.head > start && !$0.isQuiet(below: quiet) }.prefix(limit))
    }

    /// The epochs of a database that have an event after a position, by their last events.
    private func heads(
        of database: DatabaseID,
        after start: SequenceNumber
    ) throws(SyncError) -> [ZoneHead] {
        var heads: [ZoneHead] = []
        for epoch in try epochs(of: database) where epoch.key.creation <= bound {
            var head = ZoneHead(identity: epoch.identity, head: epoch.head)
            if let end = epoch.end, end <= bound {
                head.end = epoch.endReason
            } else if epoch.head > bound {
                // The views know the last event of now.
                head.head =
                    try lastChange(in: epoch.key, after: max(start, epoch.key.creation))
                    ?? epoch.key.creation
            }
            if head.head > start { heads.append(head) }
        }
        return heads.sorted { $0.head < $1.head }
    }

    /// The number of positions before the bound in which a zone's last event is looked for first.
    private static let nearCount: UInt64 = 4_096

    /// Returns the last change of a zone's records after a position; `nil` if there is none.
    ///
    /// Goes back in steps that double. O(blocks of the zone that lie as far behind the change as the
    /// bound lies before it).
    private func lastChange(
        in zone: ZoneKey,
        after start: SequenceNumber
    ) throws(SyncError) -> SequenceNumber? {
        let log = PastLog(source: reader.source, line: reader.line)
        var end = bound
        var count = Self.nearCount
        while end > start {
            let first = SequenceNumber(rawValue: end.rawValue - min(count, end - start) + 1)
            var found: SequenceNumber?
            try log.scan(from: first, through: end, zones: [zone]) {
                (event) throws(EventFormatError) in
                switch event.kind {
                case .recordSaved, .recordDeleted, .recordTouched, .audienceEntered, .audienceLeft:
                    found = event.sequence
                default: break
                }
                return true
            }
            if let found { return found }
            end = first.previous
            count *= 2
        }
        return nil
    }

    func versions(
        in zone: ZoneKey,
        after start: SequenceNumber,
        limit: Int
    ) throws(SyncError) -> [RecordVersion] {
        Array(try versions(in: zone).drop { $0.sequence <= start }.prefix(limit))
    }

    func liveSequences(in zone: ZoneKey, limit: Int) throws(SyncError) -> [SequenceNumber] {
        let live = try versions(in: zone).lazy.filter { $0.state == .live }
        return Array(live.map(\.sequence).prefix(limit))
    }

    /// The last events of a zone's records, ascending: those that were kept, or made anew.
    private func versions(in zone: ZoneKey) throws(SyncError) -> [RecordVersion] {
        let standing = try SyncError.wrapping { () throws(ViewIndexError) in try now.zone(zone) }
        let key = KnownPastRecords.Key(
            zone: zone,
            bound: bound,
            tombstoneHorizon: standing.tombstoneHorizon
        )
        if let known = reader.pastRecords.withLock({ $0 }), known.key == key {
            return known.versions
        }
        let records = PastRecords(zone: standing, now: now, reader: reader, bound: bound)
        let versions = try records.versions()
        if versions.count <= KnownPastRecords.countLimit {
            reader.pastRecords.withLock { $0 = KnownPastRecords(key: key, versions: versions) }
        }
        return versions
    }
}
