// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog
package import TidemarkModel

/// The counts of a zone.
package struct ZoneFigures: Hashable, Sendable {
    /// The zone, with its times and its last event.
    package var standing: ZoneStanding
    /// The number of its records.
    package var liveCount: Int64 = 0
    /// The number of its tombstones.
    package var tombstoneCount: Int64 = 0
}

extension ViewPicture {
    /// Returns the counts of the zones of a database, ordered by the bytes of their names.
    ///
    /// O(zones, and events in the overlay).
    package func zoneFigures(of database: DatabaseID) throws(ViewIndexError) -> [ZoneFigures] {
        var figures: [ZoneFigures] = []
        for standing in try zones(of: database, after: 0, limit: .max)
        where standing.end == nil && !standing.identity.isSystem {
            var zone = ZoneFigures(standing: standing)
            if let value = try snapshot.value(in: .zones, for: .zone(standing.key)) {
                let entry = try ZoneEntry(value, key: standing.key)
                zone.liveCount = entry.liveCount
                zone.tombstoneCount = entry.tombstoneCount
            }
            figures.append(zone)
        }
        let places = Dictionary(
            uniqueKeysWithValues: zip(figures.map(\.standing.key), figures.indices)
        )
        for change in overlaidCounts() {
            // The change is of another database, or of a zone that has ended or is the store's own.
            guard let place = places[change.zone] else { continue }
            figures[place].liveCount += change.live
            figures[place].tombstoneCount += change.tombstones
        }
        return figures.sorted { $0.standing.identity.zoneName < $1.standing.identity.zoneName }
    }
}
