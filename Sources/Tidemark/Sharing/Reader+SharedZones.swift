// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkRules
import TidemarkViews

extension Reader {
    /// The zones that shares show to the caller.
    func sharedZoneList(of caller: Caller, _ picture: ViewPicture) throws(SyncError) -> [Zone] {
        try sharedZones(of: caller.participant, in: caller.database, picture).zones.keys
            .map { Zone(zoneID: $0, capabilities: .ofCustomZones) }
            .sorted { $0.zoneID < $1.zoneID }
    }

    /// The zones of a shared database whose last event is after a position, by that event, oldest
    /// first, with that position.
    ///
    /// O(the user's participations).
    func sharedZoneHeads(
        of caller: Caller,
        after start: SequenceNumber,
        quiet: SequenceNumber,
        _ picture: ViewPicture
    ) throws(SyncError) -> [(change: ZoneChange, head: SequenceNumber)] {
        let shared = try sharedZones(of: caller.participant, in: caller.database, picture)
        var heads: [ZoneID: SequenceNumber] = [:]
        var ends: [ZoneID: (sequence: SequenceNumber, part: Participation)] = [:]
        return try SyncError.wrapping { () throws(ViewIndexError) in
            // A zone changes for the participant when they join or leave a share of it, and when
            // the audience of one of their shares does.
            for part in shared.participations {
                let zone = part.participation.zone
                let sequence = part.sequence
                heads[zone] = max(heads[zone] ?? 0, sequence)
                if sequence >= ends[zone]?.sequence ?? 0 {
                    ends[zone] = (sequence, part.participation)
                }
                if part.participation.showsSomething, let audience = part.audience {
                    heads[zone] = max(heads[zone] ?? 0, try picture.zone(audience).head)
                }
            }
            var changes: [(change: ZoneChange, head: SequenceNumber)] = []
            for (zone, head) in heads where head > start {
                if shared.zones[zone] != nil {
                    changes.append((.changed(zone), head))
                } else if head > quiet, let end = ends[zone] {
                    // Not up to the quiet position: a client that began without a token after the
                    // end never had the zone.
                    let identity = end.part.zoneIdentity(in: caller.database)
                    let reason = try picture.search(for: identity).standing?.end?.reason
                    changes.append((.deleted(zone, reason ?? .deleted), head))
                }
            }
            return changes.sorted { $0.head < $1.head }
        }
    }
}

extension Zone.Capabilities {
    /// The capabilities of zones that users create.
    static let ofCustomZones: Zone.Capabilities = [
        .fetchChanges, .atomic, .sharing, .zoneWideSharing,
    ]
}
