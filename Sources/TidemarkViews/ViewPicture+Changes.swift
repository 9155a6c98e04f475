// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
package import TidemarkLog

extension ViewPicture {
    /// Returns the changes of a zone after a position: one entry per record, by its last event,
    /// oldest first; at most `limit`.
    ///
    /// Tombstones at or below `quiet` are left out. The cost is that of the result, plus the
    /// entries of the sync index that have a newer version in the overlay.
    package func changes(
        in zone: ZoneKey,
        after start: SequenceNumber,
        quiet: SequenceNumber,
        limit: Int
    ) throws(ViewIndexError) -> [RecordVersion] {
        var changes: [RecordVersion] = []
        var next = start + 1
        // The index has no later entries. A client that asks often has all of them, and needs no
        // scan.
        let indexed = min(snapshot.checkpoint?.sequence ?? 0, bound)
        while changes.count < limit, next <= indexed {
            // 64 more, because some entries are left out below, and another scan costs more than a
            // few entries.
            let count = min(limit - changes.count, Self.scanLimit) + 64
            let scanned = try indexedChanges(in: zone, from: next, count: count)
            // An empty result of the filter below does not end the loop; the end of the index does.
            guard let last = scanned.last else { break }
            next = last.sequence.next
            let kept = unsuperseded(scanned, in: zone)
            let isWhole = !kept.contains { $0.isQuiet(below: quiet) }
            if isWhole {
                changes += kept.prefix(limit - changes.count)
            } else {
                changes += kept.lazy.filter { !$0.isQuiet(below: quiet) }
                    .prefix(limit - changes.count)
            }
            if scanned.count < count { break }
        }
        // After the entries of the index, since every change in the overlay is newer than all that
        // are only in the index.
        addOverlaid(in: zone, after: start, quiet: quiet, limit: limit, to: &changes)
        return changes
    }

    /// The approximate maximum number of sync index entries that one call reads.
    private static let scanLimit = 1 << 14

    /// Returns entries of the sync index, even if the overlay has newer versions.
    private func indexedChanges(
        in zone: ZoneKey,
        from first: SequenceNumber,
        count: Int
    ) throws(ViewIndexError) -> [RecordVersion] {
        let words = try snapshot.words(
            in: .sync,
            under: zone.rawValue,
            from: first.rawValue,
            through: bound.rawValue,
            count: count
        )
        var scanned: [RecordVersion] = []
        scanned.reserveCapacity(words.count)
        for entry in words {
            scanned.append(
                RecordVersion(
                    slot: Slot(rawValue: entry.word),
                    sequence: SequenceNumber(rawValue: entry.low),
                    state: try RecordState(indexTag: entry.tag)
                )
            )
        }
        return scanned
    }

    /// Leaves out entries of which the overlay has the same or a newer version.
    private func unsuperseded(_ scanned: [RecordVersion], in zone: ZoneKey) -> [RecordVersion] {
        func filter(_ scanned: [RecordVersion], _ generation: OverlayGeneration) -> [RecordVersion]
        {
            // Most zones have no changes in the overlay.
            guard generation.withZone(zone, { _ in true }) ?? false else { return scanned }
            return scanned.filter {
                generation.newest(zone: zone, slot: $0.slot, through: bound) == nil
            }
        }
        // Directly after a checkpoint, the frozen generation is also in the index. Its entries are
        // left out here, so that they are returned once.
        let kept = withCurrent { filter(scanned, $0) }
        return withFrozen { filter(kept, $0) } ?? kept
    }

    /// Adds the changes in the overlay: first the frozen generation, then the growing one.
    private func addOverlaid(
        in zone: ZoneKey,
        after start: SequenceNumber,
        quiet: SequenceNumber,
        limit: Int,
        to changes: inout [RecordVersion]
    ) {
        var start = start
        while changes.count < limit {
            let count = limit - changes.count
            guard let older = withFrozen({ collect($0, zone, start, quiet, limit: count) }),
                let last = older.last
            else { break }
            // The filter below may leave out some. The loop continues after the last one that was
            // collected.
            start = last.sequence
            changes += withCurrent { current in
                // A superseded entry follows with its newer version, from the growing generation.
                older.filter { current.newest(zone: zone, slot: $0.slot, through: bound) == nil }
            }
        }
        if changes.count < limit {
            let count = limit - changes.count
            let newer = withCurrent { collect($0, zone, start, quiet, limit: count) }
            // The usual case: all changes are in the growing generation.
            if changes.isEmpty { changes = newer } else { changes += newer }
        }
    }

    private func collect(
        _ generation: OverlayGeneration,
        _ zone: ZoneKey,
        _ start: SequenceNumber,
        _ quiet: SequenceNumber,
        limit: Int
    ) -> [RecordVersion] {
        generation.newestVersions(
            in: zone,
            after: start,
            through: bound,
            quiet: quiet,
            limit: limit
        )
    }
}

extension RecordVersion {
    /// Returns true if this is a deletion that a client which began at a position never needs.
    @inline(__always)
    package func isQuiet(below quiet: SequenceNumber) -> Bool {
        // A pattern, because the comparison of two states is a call.
        if case .tombstone = state { sequence <= quiet } else { false }
    }
}
