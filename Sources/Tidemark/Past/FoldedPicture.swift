// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkViews

/// The store as of a position.
///
/// The views of now list all zones that there ever were, with their ends. The records of a zone are
/// made from that zone's events alone. Only ``zones(of:after:quiet:limit:)`` folds the whole log.
final class FoldedPicture: Picture {
    let bound: SequenceNumber
    private let reader: Reader
    /// The store as it is now, which also keeps the events that are read here.
    private let now: ViewPicture
    /// Each list is made once: a page may read it in several steps.
    private var knownEpochs: (database: DatabaseID, list: [PastZone])?
    private var zones: (database: DatabaseID, list: [ZoneHead])?
    private var state: PastState?

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

    func zone(
        _ zone: ZoneIdentity
    ) throws(SyncError) -> (key: ZoneKey?, end: ZoneDeletionReason?) {
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
        if zones?.database != database { zones = (database, try wholeState().zones(of: database)) }
        let list = zones?.list ?? []
        return Array(
            list.filter { $0.head > start && !$0.isQuiet(below: quiet) }.prefix(limit)
        )
    }

    /// The whole log, folded: the views do not know the last event that a zone had then.
    private func wholeState() throws(SyncError) -> PastState {
        if let state { return state }
        let folded = try PastState(
            of: reader.source,
            hash: reader.views.hash,
            through: bound
        )
        state = folded
        return folded
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
