// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension OverlayGeneration {
    /// What a checkpoint has to change in the view index so that it holds this generation too.
    ///
    /// `snapshot` is the index as the checkpoint before left it. O(entries), and one look-up for
    /// each zone that was changed.
    package func makeBatch(over snapshot: any ViewSnapshot) throws(ViewIndexError) -> ViewBatch {
        var batch = ViewBatch()
        for entry in entries {
            if entry.older == SlotChains.none, entry.previous != 0 {
                batch.remove(ViewKey(entry.zone, entry.previous), from: .sync)
            }
            if entry.newer == SlotChains.none {
                let tag = entry.state.rawValue
                batch.put(
                    .word(entry.sequence, tag: tag),
                    in: .names,
                    for: ViewKey(entry.zone, entry.slot)
                )
                batch.put(
                    .word(entry.slot, tag: tag),
                    in: .sync,
                    for: ViewKey(entry.zone, entry.sequence)
                )
            }
        }
        for zone in zones {
            try add(zone, over: snapshot, to: &batch)
        }
        for (request, first) in requests {
            batch.put(
                .word(first, tag: 0),
                in: .requests,
                for: ViewKey(request.high, request.low)
            )
        }
        for change in references.changes {
            if change.binding.isEmpty {
                batch.remove(change.key, from: .references)
            } else {
                let value = ViewValue.word(change.zone, tag: change.binding.rawValue)
                batch.put(value, in: .references, for: change.key)
            }
        }
        for change in audiences.changes {
            if change.audience == 0 {
                batch.remove(change.record, from: .audiences)
            } else {
                batch.put(.word(change.audience, tag: 0), in: .audiences, for: change.record)
            }
        }
        return batch
    }

    private func add(
        _ zone: OverlayZone,
        over snapshot: any ViewSnapshot,
        to batch: inout ViewBatch
    ) throws(ViewIndexError) {
        var entry: ZoneEntry
        if let creation = zone.creation {
            entry = ZoneEntry(creation, key: zone.key)
            batch.put(.word(zone.key, tag: 0), in: .zoneNames, for: creation.place)
        } else {
            guard let value = try snapshot.value(in: .zones, for: .zone(zone.key)) else {
                throw ViewIndexError(
                    .damaged,
                    "The view index does not know zone \(zone.key), which the log writes to; "
                        + "the index is thrown away and rebuilt from the log."
                )
            }
            entry = try ZoneEntry(value, key: zone.key)
            batch.remove(ViewKey(entry.place.high, entry.head), from: .zoneHeads)
        }
        entry.head = head(of: zone, through: .max)
        entry.end = zone.end ?? entry.end
        let change = countChange(of: zone, through: .max)
        entry.liveCount += change.live
        entry.tombstoneCount += change.tombstones
        batch.put(.bytes(entry.bytes), in: .zones, for: .zone(zone.key))
        batch.put(
            .word(zone.key, tag: entry.end == nil ? 0 : 1),
            in: .zoneHeads,
            for: ViewKey(entry.place.high, entry.head)
        )
    }

    /// By how much a zone's records and tombstones became more here.
    package func countChange(
        of zone: OverlayZone,
        through bound: UInt64
    ) -> (live: Int64, tombstones: Int64) {
        var live: Int64 = 0
        var tombstones: Int64 = 0
        for index in zone.entries.prefix(entryCount(of: zone, through: bound)) {
            let entry = entries[Int(index)]
            switch entry.previousState {
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

    /// By how much the records and tombstones of each zone became more here, up to a bound.
    package func countChanges(
        through bound: UInt64
    ) -> [(zone: UInt64, live: Int64, tombstones: Int64)] {
        zones.indices.lazy
            .filter { self.head(of: self.zones[$0], through: bound) > 0 }
            .map { index in
                let change = self.countChange(of: self.zones[index], through: bound)
                return (self.zones[index].key, change.live, change.tombstones)
            }
    }
}
