// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
package import TidemarkLog
import TidemarkModel

/// What the zone views say at one bound: a snapshot of the index, and the overlay up to the bound.
///
/// It stays the same while commits go on and checkpoints go in, because the overlay keeps every
/// version and the snapshot keeps its pages. `current` is read under the lock of its views, `frozen`
/// without.
package struct ViewPicture: Sendable {
    package let views: ZoneViews
    /// Keeps what the picture shows in the log.
    private let pin: PicturePins.Pin
    package let snapshot: any ViewSnapshot
    private let frozen: OverlayGeneration?
    private let current: OverlayGeneration
    /// The last position that this picture shows.
    package let bound: SequenceNumber
    /// Position of the last event that began or ended a zone when this picture was taken, shown or
    /// not.
    package let lastZoneSequence: SequenceNumber
    /// Position of the last commit's end that changed a system zone since the store was opened, shown
    /// or not.
    package let lastSystemSequence: SequenceNumber
    /// How many blobs collections had taken away when this picture was taken.
    package let takenBlobCount: UInt64

    init(
        views: ZoneViews,
        pin: PicturePins.Pin,
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
    package func withCurrent<Result: Sendable>(
        _ body: (OverlayGeneration) -> Result
    ) -> Result {
        views.overlay.withLock { _ in body(current) }
    }

    /// The hashes of the store.
    package var hash: StoreHash { views.hash }

    /// Reads the generation that is older than the growing one, if there is one.
    @inline(__always)
    package func withFrozen<Result>(_ body: (OverlayGeneration) -> Result?) -> Result? {
        frozen.flatMap(body)
    }
}

// MARK: - Records

extension ViewPicture {
    /// The last event of each of some slots, in their order; `nil` where there was none.
    ///
    /// About 1 µs for a slot that is in the index, less for one that is in the overlay.
    package func versions(
        at slots: [ViewKey]
    ) throws(ViewIndexError) -> [RecordVersion?] {
        var versions = withCurrent { current in
            slots.map { current.newest(zone: $0.zone, slot: $0.slot, through: bound)?.version }
        }
        for index in versions.indices where versions[index] == nil {
            let place = slots[index]
            if let entry = frozen?.newest(zone: place.zone, slot: place.slot, through: bound) {
                versions[index] = entry.version
            } else if case .word(let word, let tag) = try snapshot.value(in: .names, for: place) {
                versions[index] = RecordVersion(
                    slot: place.slot,
                    sequence: SequenceNumber(rawValue: word),
                    state: try RecordState(indexTag: tag)
                )
            }
        }
        leaveOutForgotten(&versions, at: slots)
        return versions
    }

    /// Leaves out tombstones that are forgotten, and that no checkpoint has taken away yet: the log
    /// may not have them any more.
    private func leaveOutForgotten(_ versions: inout [RecordVersion?], at slots: [ViewKey]) {
        if !withCurrent({ !$0.horizons.isEmpty }), frozen?.horizons.isEmpty ?? true { return }
        for index in versions.indices {
            guard let version = versions[index], version.state == .tombstone else { continue }
            if version.sequence <= overlaidHorizon(of: slots[index].zone) {
                versions[index] = nil
            }
        }
    }

    /// How far the tombstones of a zone are forgotten, as far as the overlay says; else zero.
    func overlaidHorizon(of zone: ZoneKey) -> SequenceNumber {
        let bound = bound
        func horizon(_ generation: OverlayGeneration) -> SequenceNumber {
            guard let raised = generation.horizons[zone], raised.sequence <= bound else { return 0 }
            return raised.horizon
        }
        return max(withCurrent(horizon), withFrozen(horizon) ?? 0)
    }

    /// What the last compaction has forgotten; `nil` if there was none.
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

    /// The last event of one slot.
    package func version(at slot: ViewKey) throws(ViewIndexError) -> RecordVersion? {
        try versions(at: [slot])[0]
    }

    /// The records of a zone that are bound to a target, in the order of their slots.
    ///
    /// Names with the same hash may be among them: their bodies are the witness. `limit` stops the
    /// search in the index. O(referrers).
    package func referrers(
        of target: UInt64,
        in zone: ZoneKey,
        limit: Int = .max
    ) throws(ViewIndexError) -> [Referrer] {
        let key = ReferenceChange.key(of: target, in: zone)
        var bindings: [Slot: Binding] = [:]
        try snapshot.scan(.references, from: ViewKey(key, 0), through: ViewKey(key, .max)) {
            if case .word(zone.rawValue, let tag) = $1 {
                bindings[$0.slot] = Binding(rawValue: tag)
            }
            return bindings.count < limit
        }
        var changes: [ReferenceChange] = []
        frozen?.references.visit(under: key, through: bound) { changes.append($0) }
        changes += withCurrent { current in
            var changes: [ReferenceChange] = []
            current.references.visit(under: key, through: bound) { changes.append($0) }
            return changes
        }
        for change in changes where change.zone == zone {
            bindings[change.source] = change.binding.isEmpty ? nil : change.binding
        }
        return bindings.map { Referrer(slot: $0.key, binding: $0.value) }
            .sorted { $0.slot < $1.slot }
    }

    /// The first position of the commit that answered a request; `nil` if none did.
    package func firstSequence(of request: RequestKey) throws(ViewIndexError) -> SequenceNumber? {
        let overlaid = withCurrent { $0.requests[request] }
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
    /// The version that the entry is.
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
                "An entry of the view index has the unknown state \(tag); the index is thrown away "
                    + "and rebuilt from the log."
            )
        }
        self = state
    }
}
