// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkModel

/// The store as of a position, from a fold of the log.
///
/// Each list is sorted once: a page may read it in several steps.
final class FoldedPicture: Picture {
    let bound: UInt64
    private let state: PastState
    private var versions: (zone: UInt64, list: [RecordVersion])?
    private var zones: (database: DatabaseID, list: [ZoneHead])?

    init(_ state: PastState, through bound: UInt64) {
        self.state = state
        self.bound = bound
    }

    func zone(_ zone: ZoneIdentity) -> (key: UInt64?, end: ZoneDeletionReason?) {
        if let key = state.zones.first(where: { $0.value == zone })?.key { return (key, nil) }
        return (nil, state.reason(ofEnd: zone))
    }

    func versions(in zone: UInt64, after start: UInt64, limit: Int) -> [RecordVersion] {
        if versions?.zone != zone { versions = (zone, state.versions(in: zone, after: 0)) }
        let list = versions?.list ?? []
        return Array(list.drop { $0.sequence.rawValue <= start }.prefix(limit))
    }

    func zones(
        of database: DatabaseID,
        after start: UInt64,
        quiet: UInt64,
        limit: Int
    ) -> [ZoneHead] {
        if zones?.database != database { zones = (database, state.zones(of: database)) }
        let list = zones?.list ?? []
        return Array(
            list.filter { $0.head > start && !$0.isQuiet(below: quiet) }.prefix(limit)
        )
    }
}
