// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
package import TidemarkLock
package import TidemarkLog

/// The zone views of one store: the current state of its log, from the view index and, for events
/// after the index's checkpoint, from the overlay.
///
/// One lock guards the overlay; it is the serialization point of the store. The holder of the lock
/// may append to the log (which never calls back while it appends), and must not call anything else
/// outside of this file's types.
package final class ZoneViews: Sendable {
    /// The source of events.
    package let source: any EventSource
    /// The hashes of this store.
    package let hash: StoreHash
    /// The zone views on disk.
    package let index: any ViewIndex
    /// The changes after the index's checkpoint.
    package let overlay: Lock<Overlay>
    /// The pictures in use.
    package let pins = PicturePins()
    /// The zones of recent requests.
    let epochs = Lock(ZoneEpochs())

    /// Zone views over an index that is exact at a position.
    package init(
        source: any EventSource,
        index: any ViewIndex,
        hash: StoreHash,
        checkpoint: SequenceNumber,
        checkpointWeight: Int
    ) {
        self.source = source
        self.index = index
        self.hash = hash
        overlay = Lock(Overlay(over: checkpoint, checkpointWeight: checkpointWeight))
    }
}

/// The changes after the view index's checkpoint, and the positions that bound its visibility.
package struct Overlay: Sendable {
    /// The growing stretch.
    package var current = OverlayGeneration()
    /// The previous stretch, while its checkpoint is being written.
    package var frozen: OverlayGeneration?
    /// Everything after this position is in `current` or `frozen`.
    package private(set) var reach: SequenceNumber
    /// The weight of `current` at which the next checkpoint begins.
    package var checkpointWeight: Int
    /// The last assigned position.
    package var appended: SequenceNumber
    /// Commits that are not durable yet.
    package var pending = PendingCommits()

    /// An overlay over an index that is exact at a position.
    package init(over checkpoint: SequenceNumber, checkpointWeight: Int) {
        reach = checkpoint
        appended = checkpoint
        self.checkpointWeight = checkpointWeight
    }

    /// The weight of all changes that are not in the index yet.
    package var weight: Int { current.weight + (frozen?.weight ?? 0) }

    /// The position of the last event that began or ended a zone since the store was opened, or in
    /// the stretch that the open folded.
    package var lastZoneSequence: SequenceNumber {
        max(current.lastZoneSequence, lastZoneSequenceBefore)
    }

    /// The position of the last event of a record whose slot is not its name's hash, likewise.
    package var lastProbedSequence: SequenceNumber {
        max(current.lastProbedSequence, lastProbedSequenceBefore)
    }

    /// The last position of the last commit that changed a system zone since the store was opened.
    package var lastSystemSequence: SequenceNumber = 0

    /// The shared state of commits and asset collections.
    package var assets = AssetNaming()

    /// The last zone sequence before `current` began.
    private var lastZoneSequenceBefore: SequenceNumber = 0
    /// The last probed sequence before `current` began.
    private var lastProbedSequenceBefore: SequenceNumber = 0

    /// Freezes the growing stretch for a checkpoint, and begins a new one with room for as many
    /// entries, or for a given number.
    ///
    /// May only be called while there is no frozen stretch.
    package mutating func rotate(expectedEntryCount: Int? = nil) -> OverlayGeneration {
        precondition(frozen == nil, "one checkpoint at a time")
        let generation = current
        // Before `current` is replaced, which may hold the last of these positions.
        lastZoneSequenceBefore = lastZoneSequence
        lastProbedSequenceBefore = lastProbedSequence
        frozen = generation
        current = OverlayGeneration(
            expectedEntryCount: expectedEntryCount ?? generation.entries.count
        )
        return generation
    }

    /// Removes the stretch that a checkpoint has written to the index.
    package mutating func finishCheckpoint() {
        guard let frozen else { return }
        reach = frozen.lastSequence
        self.frozen = nil
    }
}

extension ZoneViews {
    /// The bound of a picture.
    package enum Extent: Sendable {
        /// Durable events, by the log's watermark, which any caller may see.
        case visible
        /// All appended events, durable or not, on which decisions are based.
        case appended
    }

    /// Returns the current state of the store.
    ///
    /// The picture is immutable; release it soon.
    package func picture(_ extent: Extent) throws(ViewIndexError) -> ViewPicture {
        // A checkpoint is in the index before `finishCheckpoint` drops its stretch under this lock.
        // Each event is therefore in the snapshot, in a stretch or in both, never in neither.
        try overlay.withLock { (overlay) throws(ViewIndexError) in
            ViewPicture(
                views: self,
                // Before the bound is read: a picture that is pinned in the era that a compaction
                // begins then includes the commit of that compaction.
                pin: pins.pin(),
                snapshot: try index.snapshot(),
                frozen: overlay.frozen,
                current: overlay.current,
                // Read under the lock: durable events were appended, and so are in the overlay.
                bound: extent == .visible ? source.durableSequence : overlay.appended,
                lastZoneSequence: overlay.lastZoneSequence,
                lastSystemSequence: overlay.lastSystemSequence,
                takenBlobCount: overlay.assets.takenCount
            )
        }
    }

    /// Begins with the stretch that an open has folded: from the index's checkpoint to the end of
    /// the log, which is durable.
    package func begin(with generation: OverlayGeneration, through last: SequenceNumber) {
        overlay.withLock { overlay in
            overlay.current = generation
            overlay.appended = last
        }
    }
}
