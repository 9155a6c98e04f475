// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog

/// The earlier entries that a generation of the overlay removes from the index.
///
/// These are expired tombstones, expired requests, and everything in zones that ended before the
/// history horizon.
///
/// The removal depends only on positions in the log and is idempotent. The views are thus the same
/// whether or not their log was compacted.
struct Forgetting {
    private let generation: OverlayGeneration
    private let snapshot: any ViewSnapshot
    private let isNothing: Bool
    /// Zones that ended at or before the history horizon, and audiences that ended at or before the
    /// tombstone horizon.
    private var ended: Set<ZoneKey> = []
    private let requests: SequenceNumber
    /// The number of removed tombstones of each zone.
    private var tombstoneCounts: [ZoneKey: Int64] = [:]

    init(_ generation: OverlayGeneration, over snapshot: any ViewSnapshot) throws(ViewIndexError) {
        self.generation = generation
        self.snapshot = snapshot
        isNothing = generation.compaction == nil && generation.horizons.isEmpty
        requests = generation.compaction?.run.requests ?? 0
        // An erasure raises the horizons of zones without a compaction.
        guard let run = generation.compaction?.run else { return }
        for zone in generation.zones {
            guard let end = zone.end, end.sequence <= run.history else { continue }
            var identity = zone.creation?.identity
            if identity == nil {
                identity = try ChangedZone(indexed: zone.key, snapshot).entry.identity
            }
            if let identity, end.sequence <= run.horizon(of: identity) { ended.insert(zone.key) }
        }
        try snapshot.visit(.zones, from: .firstZone) { (key, value) throws(ViewIndexError) in
            let entry = try ZoneEntry(value, key: key.zone)
            // Also zones that an earlier run has emptied, so that the result depends on the log
            // alone.
            if let end = entry.end, end.sequence <= run.horizon(of: entry.identity) {
                self.ended.insert(key.zone)
            }
        }
    }

    /// Returns true if a slot's last event is removed.
    func forgets(_ entry: OverlayGeneration.Entry) -> Bool {
        if isNothing { return false }
        if ended.contains(entry.zone) { return true }
        guard entry.state == .tombstone, let raised = generation.horizons[entry.zone] else {
            return false
        }
        return entry.sequence <= raised.horizon
    }

    /// Returns true if all entries of a zone are removed.
    func forgets(zone: ZoneKey) -> Bool { !isNothing && ended.contains(zone) }

    /// Returns true if a record's audience is removed, with or without the record.
    func forgets(_ change: AudienceChange) -> Bool {
        !isNothing && (ended.contains(change.record.zone) || ended.contains(change.audience))
    }

    /// Returns true if a request is removed.
    func forgets(_ answered: AnsweredRequest) -> Bool {
        !answered.neverExpires && answered.first <= requests
    }

    /// Removes the entries that are in the index; must be called before other changes are added to
    /// the batch, since a removed entry may be written again.
    mutating func addRemovals(to batch: inout ViewBatch) throws(ViewIndexError) {
        if isNothing { return }
        if !generation.horizons.isEmpty {
            // `makeBatch` counts these tombstones although they never reach the index. `change`
            // subtracts them again.
            for entry in generation.entries
            where entry.newer == SlotChains.none && forgets(entry)
                && generation.horizons[entry.zone] != nil
            {
                tombstoneCounts[entry.zone, default: 0] += 1
            }
        }
        for (zone, raised) in generation.horizons {
            try removeTombstones(of: zone, raised.horizon, from: &batch)
        }
        for zone in ended { try removeAll(of: zone, from: &batch) }
        guard generation.compaction != nil else { return }
        if requests > 0 {
            let requests = requests
            try snapshot.visit(.requests) { key, value in
                if AnsweredRequest.expires(value, through: requests) {
                    batch.remove(key, from: .requests)
                }
            }
        }
        guard !ended.isEmpty else { return }
        let ended = ended
        for table in [ViewTable.references, .audiences] {
            try snapshot.visit(table) { key, value in
                if case .word(let zone, _) = value, ended.contains(ZoneKey(rawValue: zone)) {
                    batch.remove(key, from: table)
                }
            }
        }
    }

    /// Updates the counts and horizons of zones.
    func change(_ zones: inout [ZoneKey: ChangedZone]) throws(ViewIndexError) {
        if isNothing { return }
        for (zone, raised) in generation.horizons {
            var changed = try self.changed(zone, zones)
            changed.entry.tombstoneCount -= tombstoneCounts[zone] ?? 0
            changed.entry.tombstoneHorizon = max(changed.entry.tombstoneHorizon, raised.horizon)
            // The zone's last event may be a removed one; the log then has only the horizon event.
            changed.entry.head = max(changed.entry.head, raised.horizon)
            zones[zone] = changed
        }
        for zone in ended {
            var changed = try self.changed(zone, zones)
            changed.entry.liveCount = 0
            changed.entry.tombstoneCount = 0
            zones[zone] = changed
        }
    }

    /// Removes and counts a zone's tombstones up to a position that are in the index.
    private mutating func removeTombstones(
        of zone: ZoneKey,
        _ horizon: SequenceNumber,
        from batch: inout ViewBatch
    ) throws(ViewIndexError) {
        var count: Int64 = 0
        let generation = generation
        let last = ViewKey(zone: zone, sequence: horizon)
        try snapshot.visit(.sync, from: ViewKey(zone.rawValue, 0), through: last) { key, value in
            guard case .word(let word, let tag) = value, tag == RecordState.tombstone.rawValue
            else { return }
            let slot = Slot(rawValue: word)
            guard let first = generation.first(zone: zone, slot: slot) else {
                batch.remove(key, from: .sync)
                batch.remove(ViewKey(zone: zone, slot: slot), from: .names)
                count += 1
                return
            }
            // The record has begun anew: over its tombstone or, if that was already dropped at the
            // decision, over nothing.
            // In the first case, `makeBatch` removes and counts the entry, because it is the one
            // that the record's next event replaces.
            if first.previous == key.sequence { return }
            batch.remove(key, from: .sync)
            count += 1
        }
        tombstoneCounts[zone, default: 0] += count
    }

    /// Removes the entries of an ended zone.
    private func removeAll(of zone: ZoneKey, from batch: inout ViewBatch) throws(ViewIndexError) {
        let last = ViewKey(zone.rawValue, .max)
        for table in [ViewTable.names, .sync, .audiences] {
            try snapshot.visit(table, from: ViewKey(zone.rawValue, 0), through: last) { key, _ in
                batch.remove(key, from: table)
            }
        }
    }

    private func changed(
        _ zone: ZoneKey,
        _ zones: [ZoneKey: ChangedZone]
    ) throws(ViewIndexError) -> ChangedZone {
        if let changed = zones[zone] { return changed }
        return try ChangedZone(indexed: zone, snapshot)
    }
}
