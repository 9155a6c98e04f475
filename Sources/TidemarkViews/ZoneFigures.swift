// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog
package import TidemarkModel

/// What a zone holds, in figures.
package struct ZoneFigures: Hashable, Sendable {
    /// The zone, with its times and its last event.
    package var standing: ZoneStanding
    /// How many records it has.
    package var liveCount: Int64 = 0
    /// How many tombstones it has.
    package var tombstoneCount: Int64 = 0
}

extension ViewPicture {
    /// What the zones of a database hold, ordered by their names' bytes.
    ///
    /// O(zones, and events in the overlay).
    package func zoneFigures(
        of database: DatabaseID
    ) throws(ViewIndexError) -> [ZoneFigures] {
        let bound = bound
        let isAll = snapshot.checkpoint == nil
        var changes = withCurrent { $0.countChanges(through: bound, isAll: isAll) }
        // A checkpoint that has just gone in is in the index and still here.
        let indexed = snapshot.checkpoint?.sequence ?? 0
        changes +=
            withFrozen {
                $0.lastSequence > indexed ? $0.countChanges(through: bound, isAll: isAll) : []
            } ?? []
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
        for change in changes {
            guard let place = places[change.zone] else { continue }
            figures[place].liveCount += change.live
            figures[place].tombstoneCount += change.tombstones
        }
        return figures.sorted { $0.standing.identity.zoneName < $1.standing.identity.zoneName }
    }
}
