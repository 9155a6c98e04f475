// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkViews

/// The last event of each record of a zone as of a position.
///
/// Two ways lead there, and the shorter one is taken: forward from the beginning of the zone, or back
/// from the present.
struct PastRecords {
    private let zone: ZoneStanding
    private let now: ViewPicture
    private let source: any EventSource
    private let log: PastLog
    private let fold: Fold
    private let bound: SequenceNumber

    init(zone: ZoneStanding, now: ViewPicture, reader: Reader, bound: SequenceNumber) {
        self.zone = zone
        self.now = now
        self.bound = bound
        source = reader.source
        log = PastLog(source: reader.source, line: reader.line)
        fold = Fold(hash: reader.views.hash)
    }

    /// The versions, ascending.
    ///
    /// O(events of the zone before or after the position, whichever are fewer positions of the log), and
    /// O(records of the zone).
    func versions() throws(SyncError) -> [RecordVersion] {
        // A zone that has ended has no present.
        if zone.end == nil, now.bound - bound < bound - zone.key.creation {
            return try versionsFromNow()
        }
        return try PastState(of: zone.key, in: log, fold, through: bound).versions
    }

    /// The records that have not changed since, and for each other one the version that its first later
    /// event names as the one before.
    private func versionsFromNow() throws(SyncError) -> [RecordVersion] {
        var versions = try SyncError.wrapping { () throws(ViewIndexError) in
            try now.changes(in: zone.key, after: 0, quiet: 0, limit: .max)
        }
        versions.removeAll { $0.sequence > bound }
        var changed: Set<Slot> = []
        var earlier: [RecordVersion] = []
        try log.scan(from: bound.next, through: now.bound, zones: [zone.key]) {
            (event) throws(EventFormatError) in
            switch event.kind {
            case .recordSaved, .recordDeleted, .recordTouched: break
            default: return true
            }
            let payload = event.payload
            let change = try fold.recordChange(event.sequence, zone: event.zone, payload.span.bytes)
            // A previous event after the position was lost to damage.
            guard changed.insert(change.slot).inserted, let state = change.previousState,
                change.previous <= bound
            else { return true }
            // A forgotten tombstone may still be named.
            if state == .live || change.previous > zone.tombstoneHorizon {
                earlier.append(
                    RecordVersion(slot: change.slot, sequence: change.previous, state: state)
                )
            }
            return true
        }
        versions += try existing(earlier)
        return versions.sorted { $0.sequence < $1.sequence }
    }

    /// The versions that the log still has: a compaction or an erasure may have removed one that a later
    /// event names.
    private func existing(_ versions: [RecordVersion]) throws(SyncError) -> [RecordVersion] {
        let limit = source.compactedThrough
        let doubtful = versions.map(\.sequence).filter { $0 <= limit }.sorted()
        if doubtful.isEmpty { return versions }
        var found: Set<SequenceNumber> = []
        try log.read(doubtful) { (event) throws(EventFormatError) in
            found.insert(event.sequence)
            return true
        }
        return versions.filter { $0.sequence > limit || found.contains($0.sequence) }
    }
}
