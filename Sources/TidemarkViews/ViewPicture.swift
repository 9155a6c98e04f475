// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
package import TidemarkLog
package import TidemarkModel

/// The zone views at one bound: a snapshot of the index, and the overlay up to the bound.
///
/// The picture does not change with later commits and checkpoints, because the overlay keeps every
/// version and the snapshot keeps its pages. `current` is read under the lock of its views,
/// `frozen` without it.
package struct ViewPicture: Sendable {
    package let views: ZoneViews
    /// Keeps the picture's events in the log.
    private let pin: PicturePins.Era
    package let snapshot: any ViewSnapshot
    private let frozen: OverlayGeneration?
    private let current: OverlayGeneration
    /// The last position in this picture.
    package let bound: SequenceNumber
    /// The position of the last event that began or ended a zone when this picture was taken, even
    /// if it is beyond the bound.
    package let lastZoneSequence: SequenceNumber
    /// The last position of the last commit that changed a system zone since the store was opened,
    /// even if it is beyond the bound.
    package let lastSystemSequence: SequenceNumber
    /// The number of blobs that collections had removed when this picture was taken.
    package let takenBlobCount: UInt64

    init(
        views: ZoneViews,
        pin: PicturePins.Era,
        snapshot: any ViewSnapshot,
        frozen: OverlayGeneration?,
        current: OverlayGeneration,
        bound: SequenceNumber,
        lastZoneSequence: SequenceNumber,
        lastSystemSequence: SequenceNumber,
        takenBlobCount: UInt64
    ) {
        self.views = views
        self.pin = pin
        self.snapshot = snapshot
        self.frozen = frozen
        self.current = current
        self.bound = bound
        self.lastZoneSequence = lastZoneSequence
        self.lastSystemSequence = lastSystemSequence
        self.takenBlobCount = takenBlobCount
    }

    /// Reads the growing generation under the lock.
    @inline(__always)
    package func withCurrent<Result: Sendable>(_ body: (OverlayGeneration) -> Result) -> Result {
        // Every commit waits for this lock, which is not recursive. The bodies are lookups and take
        // no other lock.
        views.overlay.withLock { _ in body(current) }
    }

    /// The hashes of the store.
    package var hash: StoreHash { views.hash }

    /// Reads the frozen generation, if there is one.
    @inline(__always)
    package func withFrozen<Result>(_ body: (OverlayGeneration) -> Result?) -> Result? {
        frozen.flatMap(body)
    }
}

// MARK: - Records

extension ViewPicture {
    /// Returns the last event of each slot, in the given order; `nil` for a slot without events.
    ///
    /// About 1 µs for a slot in the index, less for one in the overlay.
    package func versions(at slots: [ViewKey]) throws(ViewIndexError) -> [RecordVersion?] {
        var versions = withCurrent { current in
            current.prefetch(slots)
            return slots.map {
                current.newest(zone: $0.zone, slot: $0.slot, through: bound)?.version
            }
        }
        frozen?.prefetch(slots)
        for index in versions.indices where versions[index] == nil {
            versions[index] = try olderVersion(at: slots[index])
        }
        leaveOutForgotten(&versions, at: slots)
        return versions
    }

    /// Returns the last event of one slot, without lists.
    package func version(at slot: ViewKey) throws(ViewIndexError) -> RecordVersion? {
        let current = withCurrent { current in
            current.newest(zone: slot.zone, slot: slot.slot, through: bound)?.version
        }
        let version: RecordVersion? =
            if let current { current } else { try olderVersion(at: slot) }
        guard let version, !isForgotten(version, in: slot.zone) else { return nil }
        return version
    }

    /// Returns the last event of a slot that the current generation does not have.
    private func olderVersion(at slot: ViewKey) throws(ViewIndexError) -> RecordVersion? {
        // From new to old. The first source that has the slot has its last event.
        if let entry = frozen?.newest(zone: slot.zone, slot: slot.slot, through: bound) {
            return entry.version
        }
        guard case .word(let word, let tag) = try snapshot.value(in: .names, for: slot) else {
            return nil
        }
        // The index needs no bound: a checkpoint takes in only durable events, and a picture is
        // taken at or after the snapshot's checkpoint.
        return RecordVersion(
            slot: slot.slot,
            sequence: SequenceNumber(rawValue: word),
            state: try RecordState(indexTag: tag)
        )
    }

    private func leaveOutForgotten(_ versions: inout [RecordVersion?], at slots: [ViewKey]) {
        // Nearly always: only a compaction or an erasure raises horizons, and the next checkpoint
        // removes what they forget.
        if !withCurrent({ !$0.horizons.isEmpty }), frozen?.horizons.isEmpty ?? true { return }
        for index in versions.indices {
            if let version = versions[index], isForgotten(version, in: slots[index].zone) {
                versions[index] = nil
            }
        }
    }

    /// Returns true for a tombstone that is dropped but not yet removed by a checkpoint: the log may
    /// no longer have it.
    private func isForgotten(_ version: RecordVersion, in zone: ZoneKey) -> Bool {
        version.state == .tombstone && version.sequence <= overlaidHorizon(of: zone)
    }

    /// Returns the position up to which a zone's tombstones are dropped according to the overlay;
    /// otherwise zero.
    func overlaidHorizon(of zone: ZoneKey) -> SequenceNumber {
        let bound = bound
        func horizon(_ generation: OverlayGeneration) -> SequenceNumber {
            guard let raised = generation.horizons[zone], raised.sequence <= bound else { return 0 }
            return raised.horizon
        }
        return max(withCurrent(horizon), withFrozen(horizon) ?? 0)
    }

    /// Returns the limits of the last compaction; `nil` if there was none.
    package func compaction() throws(ViewIndexError) -> CompactionRun? {
        let bound = bound
        func run(_ generation: OverlayGeneration) -> CompactionRun? {
            guard let begun = generation.compaction, begun.sequence <= bound else { return nil }
            return begun.run
        }
        if let run = withCurrent(run) ?? withFrozen(run) { return run }
        return try snapshot.value(in: .zones, for: .compaction).map {
            (value) throws(ViewIndexError) in try CompactionRun(value)
        }
    }

    /// Returns the records of a zone that are bound to a target, in slot order.
    ///
    /// Names with the same hash may be among them, so that the caller must check their bodies.
    /// O(referrers).
    package func referrers(
        of target: UInt64,
        in zone: ZoneKey
    ) throws(ViewIndexError) -> [Referrer] {
        var found: [Referrer] = []
        try visitReferrers(of: target, in: zone) { found.append($0) }
        return found.sorted { $0.slot < $1.slot }
    }

    /// Returns the number of records of a zone whose binding to a target is of a kind, among those
    /// that ``referrers(of:in:)`` lists.
    ///
    /// O(referrers), without a list of them.
    package func referrerCount(
        of target: UInt64,
        in zone: ZoneKey,
        with binding: Binding
    ) throws(ViewIndexError) -> Int {
        var count = 0
        try visitReferrers(of: target, in: zone) { count += $0.binding.contains(binding) ? 1 : 0 }
        return count
    }

    private func visitReferrers(
        of target: UInt64,
        in zone: ZoneKey,
        _ visit: (Referrer) -> Void
    ) throws(ViewIndexError) {
        let key = ReferenceChange.key(of: target, in: zone)
        var changes: [ReferenceChange] = []
        frozen?.references.visit(under: key, through: bound) { changes.append($0) }
        changes += withCurrent { current in
            var changes: [ReferenceChange] = []
            current.references.visit(under: key, through: bound) { changes.append($0) }
            return changes
        }
        // From old to new, so that the last change of a source decides.
        var changed: [Slot: Binding] = [:]
        for change in changes where change.zone == zone { changed[change.source] = change.binding }
        try snapshot.scan(.references, from: ViewKey(key, 0), through: ViewKey(key, .max)) {
            // Two targets can share a key. An entry names its zone, so those of other zones are
            // left out here.
            if case .word(zone.rawValue, let tag) = $1, changed[$0.slot] == nil {
                visit(Referrer(slot: $0.slot, binding: Binding(rawValue: tag)))
            }
            return true
        }
        for (slot, binding) in changed where !binding.isEmpty {
            visit(Referrer(slot: slot, binding: binding))
        }
    }

    /// Returns the first position of the commit that answered a request; `nil` if there is none.
    package func firstSequence(of request: RequestKey) throws(ViewIndexError) -> SequenceNumber? {
        let overlaid = withCurrent { $0.requests[request] }
        // A picture of durable events must not show the result of a commit that may still be lost.
        if let first = (overlaid ?? frozen?.requests[request])?.first, first <= bound {
            return first
        }
        guard
            case .word(let first, _) = try snapshot.value(
                in: .requests,
                for: ViewKey(request.high, request.low)
            )
        else { return nil }
        return SequenceNumber(rawValue: first)
    }
}

extension OverlayGeneration.Entry {
    /// The version of the record in the entry.
    package var version: RecordVersion {
        RecordVersion(slot: slot, sequence: sequence, state: state)
    }
}

extension RecordState {
    /// Reads the tag of an entry of the view index.
    package init(indexTag tag: UInt8) throws(ViewIndexError) {
        guard let state = RecordState(rawValue: tag) else {
            throw ViewIndexError(
                .damaged,
                "An entry of the view index has the unknown state \(tag); the index is discarded "
                    + "and rebuilt from the log."
            )
        }
        self = state
    }
}
