// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel

/// The store as of a position, from a fold of the log.
///
/// Each list is sorted once: a page may read it in several steps.
final class FoldedPicture: Picture {
    let bound: SequenceNumber
    private let state: PastState
    private var versions: (zone: ZoneKey, list: [RecordVersion])?
    private var zones: (database: DatabaseID, list: [ZoneHead])?

    init(_ state: PastState, through bound: SequenceNumber) {
        self.state = state
        self.bound = bound
    }

    func zone(_ zone: ZoneIdentity) -> (key: ZoneKey?, end: ZoneDeletionReason?) {
        if let key = state.zones.first(where: { $0.value == zone })?.key { return (key, nil) }
        return (nil, state.reason(ofEnd: zone))
    }

    func versions(in zone: ZoneKey, after start: SequenceNumber, limit: Int) -> [RecordVersion] {
        // One list is kept, because a delta reads one zone in several steps.
        if versions?.zone != zone { versions = (zone, state.versions(in: zone, after: 0)) }
        let list = versions?.list ?? []
        return Array(list.drop { $0.sequence <= start }.prefix(limit))
    }

    func zones(
        of database: DatabaseID,
        after start: SequenceNumber,
        quiet: SequenceNumber,
        limit: Int
    ) -> [ZoneHead] {
        if zones?.database != database { zones = (database, state.zones(of: database)) }
        let list = zones?.list ?? []
        return Array(
            list.filter { $0.head > start && !$0.isQuiet(below: quiet) }.prefix(limit)
        )
    }

    func livingZones(of database: DatabaseID) -> [ZoneKey: ZoneIdentity] {
        state.zones.filter { $0.value.database == database }
    }

    func liveSequences(in zone: ZoneKey, limit: Int) -> [SequenceNumber] {
        Array(state.liveSequences(in: zone).prefix(limit))
    }
}
