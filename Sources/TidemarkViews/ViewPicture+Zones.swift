// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
package import TidemarkLog
package import TidemarkModel

/// A zone's state in a picture.
package struct ZoneStanding: Hashable, Sendable {
    /// The position of its creation.
    package var key: ZoneKey
    /// The identity of the zone.
    package var identity: ZoneIdentity
    /// The place of its name in the table of zone names.
    package var place: ViewKey
    /// The creation time, in milliseconds since 1970.
    package var createdTime: Int64
    /// The position of its last event.
    package var head: SequenceNumber
    /// The position up to which tombstones may have been forgotten.
    package var tombstoneHorizon: SequenceNumber = 0
    /// The zone's end; `nil` while the zone is live.
    package var end: OverlayZone.End?
    /// True if a record of the zone ever had a slot other than its name's hash.
    package var isProbed = false
}

/// The result of a search for a zone by its name.
package struct ZoneSearch: Hashable, Sendable {
    /// The zone's latest epoch, which may have ended; `nil` if the zone never existed.
    package var standing: ZoneStanding?
    /// The place of its name, or the free place for it.
    package var place: ViewKey
    /// The distance of that place from the name's hash.
    package var probeCount: UInt8
}

extension ViewPicture {
    /// Searches for a zone by its identity.
    package func search(for identity: ZoneIdentity) throws(ViewIndexError) -> ZoneSearch {
        let database = hash.key(of: identity.database)
        let slot = hash.slot(ofZone: identity.zoneName.string)
        for probeCount in UInt8(0)...UInt8.max {
            let place = ViewKey(database, slot.probed(probeCount).rawValue)
            // Entries of zone names are never removed, even after a zone has ended. The first free
            // place therefore ends the search.
            guard let key = try zoneKey(at: place) else {
                return ZoneSearch(standing: nil, place: place, probeCount: probeCount)
            }
            let standing = try zone(key)
            // Otherwise another zone with the same hash has this place, and the search goes to the next.
            if standing.identity == identity {
                return ZoneSearch(standing: standing, place: place, probeCount: probeCount)
            }
        }
        throw ViewIndexError(
            .damaged,
            "256 zones are listed under one hash; the index is discarded and rebuilt from the log."
        )
    }

    /// Returns the latest epoch of the zone whose name is at a place.
    private func zoneKey(at place: ViewKey) throws(ViewIndexError) -> ZoneKey? {
        let bound = bound
        let overlaid = withCurrent { current in
            current.zoneKeys(at: place).last { $0.creation <= bound }
        }
        if let key = overlaid
            ?? withFrozen({ $0.zoneKeys(at: place).last { $0.creation <= bound } })
        {
            return key
        }
        guard case .word(let key, _) = try snapshot.value(in: .zoneNames, for: place) else {
            return nil
        }
        return ZoneKey(rawValue: key)
    }

    /// Returns the zone with a key that the view has.
    package func zone(_ key: ZoneKey) throws(ViewIndexError) -> ZoneStanding {
        guard let standing = try knownZone(key) else {
            throw ViewIndexError(
                .damaged,
                "Zone \(key) is unknown: its creation, event \(key), is lost from the log, or the "
                    + "zone views are damaged. `tidemark log verify` says which."
            )
        }
        return standing
    }

    /// Returns the zone with a key; `nil` if the view does not have it.
    ///
    /// Unlike ``zone(_:)``, this lets a caller tell an unknown zone from a view that cannot be read.
    package func knownZone(_ key: ZoneKey) throws(ViewIndexError) -> ZoneStanding? {
        let bound = bound
        let newer = withCurrent { $0.glance(at: key, through: bound) }
        let older = withFrozen { $0.glance(at: key, through: bound) }
        var standing: ZoneStanding
        // The overlay has all events of a zone that it created, so the index is not needed.
        if let creation = older?.creation ?? newer?.creation {
            standing = ZoneStanding(
                key: key,
                identity: creation.identity,
                place: creation.place,
                createdTime: creation.time,
                head: key.creation
            )
        } else {
            guard let value = try snapshot.value(in: .zones, for: .zone(key)) else { return nil }
            let entry = try ZoneEntry(value, key: key)
            standing = ZoneStanding(
                key: key,
                identity: entry.identity,
                place: entry.place,
                createdTime: entry.createdTime,
                head: entry.head,
                tombstoneHorizon: entry.tombstoneHorizon,
                end: entry.end,
                isProbed: entry.isProbed
            )
        }
        standing.head = max(standing.head, newer?.head ?? 0, older?.head ?? 0)
        // A zone ends once. Directly after a checkpoint, two of the three have the same end.
        standing.end = newer?.end ?? older?.end ?? standing.end
        func isProbed(_ generation: OverlayGeneration) -> Bool {
            generation.withZone(key, \.isProbed) ?? false
        }
        standing.isProbed =
            standing.isProbed || withCurrent(isProbed) || withFrozen(isProbed) ?? false
        standing.tombstoneHorizon = max(standing.tombstoneHorizon, overlaidHorizon(of: key))
        return standing
    }

    /// Returns the position of a zone's last event, and the position up to which its tombstones may
    /// have been forgotten, without the rest of its state; `nil` if the view does not have it.
    package func reach(
        of key: ZoneKey
    ) throws(ViewIndexError) -> (head: SequenceNumber, tombstoneHorizon: SequenceNumber)? {
        let bound = bound
        func reach(
            _ generation: OverlayGeneration
        ) -> (head: SequenceNumber, horizon: SequenceNumber, isCreated: Bool) {
            let zone = generation.head(of: key, through: bound)
            let raised = generation.horizons.isEmpty ? nil : generation.horizons[key]
            let horizon = raised.map { $0.sequence <= bound ? $0.horizon : 0 } ?? 0
            return (zone?.head ?? 0, horizon, zone?.isCreated ?? false)
        }
        let newer = withCurrent(reach)
        let older = withFrozen(reach)
        var head = max(newer.head, older?.head ?? 0)
        var horizon = max(newer.horizon, older?.horizon ?? 0)
        if !newer.isCreated, !(older?.isCreated ?? false) {
            guard let value = try snapshot.value(in: .zones, for: .zone(key)) else { return nil }
            let entry = try ZoneEntry(value, key: key)
            head = max(head, entry.head)
            horizon = max(horizon, entry.tombstoneHorizon)
        }
        return (head, horizon)
    }

    /// Returns the zones of a database whose last event is after a position, ordered by that event,
    /// oldest first, at most `limit`.
    ///
    /// Ended epochs are included, unless they ended at or before `quiet`; by default, none are.
    /// O(zones of the database, or zones in the overlay if they are fewer), plus the result.
    package func zones(
        of database: DatabaseID,
        after start: SequenceNumber,
        quiet: SequenceNumber = .max,
        limit: Int
    ) throws(ViewIndexError) -> [ZoneStanding] {
        let key = hash.key(of: database)
        // The zone may belong to this database.
        if let stray = withCurrent(\.strayZone) ?? withFrozen(\.strayZone) ?? nil {
            // This throws, because the answer could lack a zone.
            _ = try self.zone(stray)
        }
        let overlaid = try overlaidZoneKeys(of: key, after: start)
        var found: [ZoneStanding] = []
        for zone in overlaid {
            let standing = try self.zone(zone)
            if standing.identity.database == database, !standing.isQuiet(below: quiet) {
                found.append(standing)
            }
        }
        found.sort { $0.head < $1.head }
        var indexed: [ZoneStanding] = []
        var next = start + 1
        while indexed.count < limit {
            let scanned = try indexedHeads(of: key, from: next, count: limit)
            guard let last = scanned.last else { break }
            // Each event is in one zone of a database, so no two of its zones have the same head.
            next = last.head + 1
            for (zone, _) in scanned where !overlaid.contains(zone) {
                let standing = try self.zone(zone)
                if standing.identity.database == database, !standing.isQuiet(below: quiet) {
                    indexed.append(standing)
                }
            }
        }
        // The overlay's changes came after all entries that only the index has.
        return Array((indexed + found).prefix(limit))
    }

    /// Returns at least the zones of a database that the overlay changed after a position,
    /// unordered; it may include others.
    ///
    /// For a zone that it did not create, the overlay does not know the database. So this searches
    /// for all zones of the database in the overlay, or returns all zones of the overlay, whichever
    /// are fewer. The time of a request thus does not grow with the writes of other users.
    private func overlaidZoneKeys(
        of database: UInt64,
        after start: SequenceNumber
    ) throws(ViewIndexError) -> Set<ZoneKey> {
        let overlaidCount = withCurrent(\.zones.count) + (withFrozen(\.zones.count) ?? 0)
        // Searching for a zone costs several times as much as returning one.
        let limit = overlaidCount / 4
        let indexed = try indexedHeads(of: database, from: 1, count: limit + 1)
        guard indexed.count <= limit else { return overlaidZoneKeys(after: start) }
        let bound = bound
        func isChanged(_ key: ZoneKey, _ generation: OverlayGeneration) -> Bool {
            generation.withZone(key) { generation.head(of: $0, through: bound) > start } ?? false
        }
        let keys =
            indexed.map(\.zone) + (withFrozen { $0.createdZones(of: database) } ?? [])
            + withCurrent { $0.createdZones(of: database) }
        var changed = Set(withFrozen { frozen in keys.filter { isChanged($0, frozen) } } ?? [])
        // Writers wait for the growing generation, so the lock is held for a few zones at a time.
        for start in stride(from: 0, to: keys.count, by: 256) {
            let some = keys[start..<min(start + 256, keys.count)]
            changed.formUnion(withCurrent { current in some.filter { isChanged($0, current) } })
        }
        return changed
    }

    /// Returns the zones that the overlay changed after a position, unordered.
    private func overlaidZoneKeys(after start: SequenceNumber) -> Set<ZoneKey> {
        let bound = bound
        func keys(_ generation: OverlayGeneration) -> [ZoneKey] {
            generation.zones.indices.lazy
                .filter { generation.head(of: generation.zones[$0], through: bound) > start }
                .map { generation.zones[$0].key }
        }
        return Set(withCurrent(keys)).union(withFrozen(keys) ?? [])
    }

    private func indexedHeads(
        of database: UInt64,
        from first: SequenceNumber,
        count: Int
    ) throws(ViewIndexError) -> [(zone: ZoneKey, head: SequenceNumber)] {
        var scanned: [(zone: ZoneKey, head: SequenceNumber)] = []
        try snapshot.scan(
            .zoneHeads,
            from: ViewKey(database, first.rawValue),
            through: ViewKey(database, bound.rawValue)
        ) { key, value in
            guard case .word(let zone, _) = value else { return true }
            scanned.append((ZoneKey(rawValue: zone), key.sequence))
            return scanned.count < count
        }
        return scanned
    }
}

extension ZoneStanding {
    /// Returns true if the zone ended where a client that began at a position never needs its end.
    package func isQuiet(below quiet: SequenceNumber) -> Bool {
        end.map { $0.sequence <= quiet } ?? false
    }
}

// MARK: - All zones

extension ViewPicture {
    /// Returns all zones of all databases, including ended ones, unordered.
    ///
    /// O(zones of the store).
    package func zones() throws(ViewIndexError) -> [ZoneStanding] {
        var keys = overlaidZoneKeys(after: 0)
        try snapshot.scan(.zones, from: .firstZone, through: ViewKey(.max, .max)) { key, _ in
            keys.insert(key.zone)
            return true
        }
        return try keys.map { (key) throws(ViewIndexError) in try zone(key) }
    }
}

// MARK: - Figures

/// The counts of all zones.
package struct ViewFigures: Hashable, Sendable {
    /// The number of live zones in all databases.
    package var zoneCount: Int64 = 0
    /// The number of their records.
    package var liveRecordCount: Int64 = 0
    /// The number of their tombstones.
    package var tombstoneCount: Int64 = 0
}

extension ViewPicture {
    /// Returns the numbers of live zones, records and tombstones: the counts in the index, plus the
    /// changes in the overlay.
    ///
    /// O(zones and events in the overlay).
    package func figures() throws(ViewIndexError) -> ViewFigures {
        var figures = ViewFigures()
        var keys: Set<ZoneKey> = []
        func add(_ key: ZoneKey, _ counts: (live: Int64, tombstones: Int64)) throws(ViewIndexError)
        {
            let standing = try zone(key)
            guard standing.end == nil, !standing.identity.isSystem else { return }
            if keys.insert(key).inserted { figures.zoneCount += 1 }
            figures.liveRecordCount += counts.live
            figures.tombstoneCount += counts.tombstones
        }
        try snapshot.visit(.zones, from: .firstZone) { (key, value) throws(ViewIndexError) in
            let entry = try ZoneEntry(value, key: key.zone)
            try add(key.zone, (entry.liveCount, entry.tombstoneCount))
        }
        for change in overlaidCounts() { try add(change.zone, (change.live, change.tombstones)) }
        return figures
    }

    /// The changes of the counts of zones in the overlay, of which the index has none.
    func overlaidCounts() -> [(zone: ZoneKey, live: Int64, tombstones: Int64)] {
        let bound = bound
        let isAll = snapshot.checkpoint == nil
        let newer = withCurrent { $0.countChanges(through: bound, isAll: isAll) }
        // Directly after a checkpoint, its generation is both in the index and here.
        let indexed = snapshot.checkpoint?.sequence ?? 0
        let older = withFrozen { frozen in
            frozen.lastSequence > indexed ? frozen.countChanges(through: bound, isAll: isAll) : nil
        }
        return newer + (older ?? [])
    }
}
