// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel

/// The data that ends with a zone: the audiences of its shares, links, and participations.
struct SharesEnd {
    /// The keys of the audiences.
    let audiences: [ZoneKey]
    /// The changes of links and participations.
    private(set) var consequences = SystemChange(zone: .shares)

    /// Collects the data of an existing zone.
    ///
    /// O(shares of the zone), once `known` has listed those of the owner.
    init(
        with zone: ConsultedZone,
        _ known: inout Audiences,
        _ facts: any Facts
    ) throws(SyncError) {
        let audiences = try known.all(in: zone.identity)
        self.audiences = audiences.map(\.key)
        for body in try Self.shares(of: zone, audiences, facts) {
            guard let share = Share(body.fields) else { continue }
            let end = try share.consequencesOfEnd(of: Name(body.recordName), in: zone.identity)
            consequences.saves += end.saves
            consequences.deletions += end.deletions
        }
    }

    /// Returns the records of a zone's shares: each audience names one, and the share of the whole
    /// zone has a fixed name.
    private static func shares(
        of zone: ConsultedZone,
        _ audiences: [LivingZone],
        _ facts: any Facts
    ) throws(SyncError) -> [RecordBody] {
        // Links lead from tokens to shares, so the zone's records are not read.
        var names = [Name(Share.zoneWideName)]
        for audience in audiences {
            // The name of an audience is the name of its zone, a NUL, and the token of the share.
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
        return try ConsultedItems(items, in: ConsultedZones([zone]), facts).items
            .compactMap(\.liveBody)
    }
}
