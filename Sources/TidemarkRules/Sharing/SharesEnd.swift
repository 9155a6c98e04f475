// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel

/// What ends with a zone: the audiences of its shares, links, and the parts that users take.
struct SharesEnd {
    /// The keys of the audiences.
    let audiences: [ZoneKey]
    /// What becomes of links and participations.
    private(set) var consequences = SystemChange(zone: .shares)

    /// Finds it for a zone that is there.
    ///
    /// O(shares of the zone).
    init(with zone: ConsultedZone, _ facts: any Facts) throws(SyncError) {
        let audiences = try Audiences(facts).all(in: zone.identity)
        self.audiences = audiences.map(\.key)
        for body in try Self.shares(of: zone, audiences, facts) {
            guard let share = Share(body.fields) else { continue }
            let end = try share.consequencesOfEnd(of: Name(body.recordName), in: zone.identity)
            consequences.saves += end.saves
            consequences.deletions += end.deletions
        }
    }

    /// The records of a zone's shares: each audience leads to one, and the share of the whole zone has a name
    /// of its own.
    private static func shares(
        of zone: ConsultedZone,
        _ audiences: [LivingZone],
        _ facts: any Facts
    ) throws(SyncError) -> [RecordBody] {
        var names = [Name(Share.zoneWideName)]
        for audience in audiences {
            guard let token = audience.identity.zoneName.string.split(separator: "\0").last,
                let link = try facts.record(
                    named: Name(String(token)),
                    of: .shares,
                    in: zone.identity.database
                ),
                let target = ShareRecords.link(in: try link.readBody())
            else { continue }
            names.append(target.shareName)
        }
        let items = names.map {
            ConsultedItem(name: $0, zone: 0, slot: facts.hash.slot(ofName: $0))
        }
        let found = try ConsultedItems(items, in: ConsultedZones([zone]), facts).items
        return try found.compactMap(\.live).map { (live) throws(SyncError) in try live.readBody() }
    }
}
