// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
package import TidemarkLog

extension OverlayGeneration {
    /// Returns the changes of the view index that add this generation to it.
    ///
    /// `snapshot` is the index as of the previous checkpoint. Events up to `compactedThrough` may
    /// refer to events that the log no longer has. O(entries), and one lookup for each changed
    /// zone.
    package func makeBatch(
        over snapshot: any ViewSnapshot,
        compactedThrough: SequenceNumber = 0
    ) throws(ViewIndexError) -> ViewBatch {
        settle()
        var batch = ViewBatch()
        batch.reserve(entries.count, in: .names)
        batch.reserve(entries.count, in: .sync)
        var forgetting = try Forgetting(self, over: snapshot)
        // First: of several changes of a key, the batch keeps the last one, and a forgotten slot
        // may be in use again.
        try forgetting.addRemovals(to: &batch)
        // Zone by zone, in key order, so that only one zone's changes have to be sorted.
        for zone in zones.sorted(by: { $0.key < $1.key }) {
            for index in zone.entries { add(entries[Int(index)], to: &batch, forgetting) }
        }
        var changed: [ZoneKey: ChangedZone] = [:]
        for zone in zones {
            changed[zone.key] = try self.changed(
                zone,
                over: snapshot,
                compactedThrough: compactedThrough
            )
            if let creation = zone.creation {
                // Zones that begin here are in the order of their creation, so the latest epoch of
                // a name remains.
                batch.put(.word(zone.key.rawValue, tag: 0), in: .zoneNames, for: creation.place)
            }
        }
        for (request, answered) in requests where !forgetting.forgets(answered) {
            batch.put(answered.stored, in: .requests, for: ViewKey(request.high, request.low))
        }
        // In log order, so that the last change of a source and target remains.
        for change in references.changes {
            if change.binding.isEmpty || forgetting.forgets(zone: change.zone) {
                batch.remove(change.key, from: .references)
            } else {
                let value = ViewValue.word(change.zone.rawValue, tag: change.binding.rawValue)
                batch.put(value, in: .references, for: change.key)
            }
        }
        for change in audiences.changes {
            if change.audience == 0 || forgetting.forgets(change) {
                batch.remove(change.record, from: .audiences)
            } else {
                batch.put(
                    .word(change.audience.rawValue, tag: 0),
                    in: .audiences,
                    for: change.record
                )
            }
        }
        try forgetting.change(&changed)
        for (key, zone) in changed { zone.add(to: &batch, key: key) }
        if let compaction { batch.put(compaction.run.stored, in: .zones, for: .compaction) }
        return batch
    }

    /// Adds the changes by one entry to the table of names and the sync index.
    @inline(__always)
    private func add(_ entry: Entry, to batch: inout ViewBatch, _ forgetting: Forgetting) {
        // Only the first event of a slot in this generation replaces an entry of the index. The
        // later ones replace entries that never get there.
        if entry.older == SlotChains.none, entry.previous != 0 {
            batch.remove(ViewKey(zone: entry.zone, sequence: entry.previous), from: .sync)
        }
        guard entry.newer == SlotChains.none else { return }
        let name = ViewKey(zone: entry.zone, slot: entry.slot)
        if forgetting.forgets(entry) { return batch.remove(name, from: .names) }
        let tag = entry.state.rawValue
        batch.put(.word(entry.sequence.rawValue, tag: tag), in: .names, for: name)
        batch.put(
            .word(entry.slot.rawValue, tag: tag),
            in: .sync,
            for: ViewKey(zone: entry.zone, sequence: entry.sequence)
        )
    }

    /// Returns the state of a zone after this generation is in the index.
    private func changed(
        _ zone: OverlayZone,
        over snapshot: any ViewSnapshot,
        compactedThrough: SequenceNumber
    ) throws(ViewIndexError) -> ChangedZone {
        var changed =
            if let creation = zone.creation {
                ChangedZone(entry: ZoneEntry(creation, key: zone.key))
            } else {
                try ChangedZone(indexed: zone.key, snapshot)
            }
        changed.entry.head = head(of: zone, through: .max)
        changed.entry.end = zone.end ?? changed.entry.end
        changed.entry.isProbed = changed.entry.isProbed || zone.isProbed
        let forgotten = max(compactedThrough, changed.entry.tombstoneHorizon)
        var failure: ViewIndexError?
        let change = countChange(of: zone, through: .max) { entry in
            // No event after this position was dropped, so the index has the previous one, and no
            // lookup is needed.
            guard entry.previous <= forgotten else { return false }
            do throws(ViewIndexError) {
                let place = ViewKey(zone: entry.zone, sequence: entry.previous)
                return try snapshot.value(in: .sync, for: place) == nil
            } catch {
                failure = error
                return false
            }
        }
        if let failure { throw failure }
        changed.entry.liveCount += change.live
        changed.entry.tombstoneCount += change.tombstones
        return changed
    }

    /// Returns the change of a zone's record and tombstone counts in this generation.
    ///
    /// `isFirst` returns true for the first event of a slot in this generation if nothing preceded
    /// it, because the replaced event was dropped.
    package func countChange(
        of zone: OverlayZone,
        through bound: SequenceNumber,
        isFirst: (Entry) -> Bool
    ) -> (live: Int64, tombstones: Int64) {
        var live: Int64 = 0
        var tombstones: Int64 = 0
        for index in zone.entries.prefix(entryCount(of: zone, through: bound)) {
            let entry = entries[Int(index)]
            let replaced: RecordState? =
                // Not the previous state: a record that began anew over a forgotten tombstone has none.
                if entry.older != SlotChains.none {
                    entries[Int(entry.older)].state
                } else if entry.previous == 0 || !isFirst(entry) {
                    entry.previousState
                } else {
                    nil
                }
            switch replaced {
            case .live: live -= 1
            case .tombstone: tombstones -= 1
            case nil: break
            }
            switch entry.state {
            case .live: live += 1
            case .tombstone: tombstones += 1
            }
        }
        return (live, tombstones)
    }

    /// Returns the change of each zone's record and tombstone counts in this generation, up to a
    /// bound.
    ///
    /// `isAll` is true if nothing precedes this generation.
    package func countChanges(
        through bound: SequenceNumber,
        isAll: Bool
    ) -> [(zone: ZoneKey, live: Int64, tombstones: Int64)] {
        zones.indices.lazy
            .filter { self.head(of: self.zones[$0], through: bound) > 0 }
            .map { index in
                // If nothing precedes this generation, compaction has dropped the events that it
                // names as replaced.
                let change = self.countChange(of: self.zones[index], through: bound) { _ in
                    isAll
                }
                return (self.zones[index].key, change.live, change.tombstones)
            }
    }
}

/// A zone whose entry in the view index changes.
struct ChangedZone {
    var entry: ZoneEntry
    /// The head in the index; `nil` for a zone that is not in the index yet.
    var indexedHead: SequenceNumber?

    init(entry: ZoneEntry) {
        self.entry = entry
    }

    /// Reads a zone from the index.
    init(indexed key: ZoneKey, _ snapshot: any ViewSnapshot) throws(ViewIndexError) {
        guard let value = try snapshot.value(in: .zones, for: .zone(key)) else {
            throw ViewIndexError(
                .damaged,
                "The view index does not know zone \(key), which the log writes to; the index is "
                    + "discarded and rebuilt from the log."
            )
        }
        entry = try ZoneEntry(value, key: key)
        indexedHead = entry.head
    }

    /// Adds the zone's changes to a batch.
    func add(to batch: inout ViewBatch, key: ZoneKey) {
        let database = entry.place.high
        // The table has one entry per zone. Without this removal, a delta of the database would
        // list the zone twice.
        if let indexedHead, indexedHead != entry.head {
            batch.remove(ViewKey(database, indexedHead.rawValue), from: .zoneHeads)
        }
        batch.put(.bytes(entry.bytes), in: .zones, for: .zone(key))
        batch.put(
            .word(key.rawValue, tag: entry.end == nil ? 0 : 1),
            in: .zoneHeads,
            for: ViewKey(database, entry.head.rawValue)
        )
    }
}
