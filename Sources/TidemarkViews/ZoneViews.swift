// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
package import TidemarkLock
package import TidemarkLog

/// The zone views of one store: what its log says now, found in the view index and, for what came
/// after the index's checkpoint, in the overlay.
///
/// One lock guards the overlay; it is the serialization point of the store. Whoever holds it may
/// append to the log (which never calls back while it appends) and does nothing else that leaves
/// this file's types.
package final class ZoneViews: Sendable {
    /// Where events are read from.
    package let source: any EventSource
    /// The hashes of this store.
    package let hash: StoreHash
    /// The zone views on disk.
    package let index: any ViewIndex
    /// What came after the index's checkpoint.
    package let overlay: Lock<Overlay>
    /// Who uses a picture.
    package let pins = PicturePins()
    /// The zones that requests named last.
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

/// What came after the view index's checkpoint, and how far it may be seen.
package struct Overlay: Sendable {
    /// The stretch that grows.
    package var current = OverlayGeneration()
    /// The stretch before it, while its checkpoint is being written.
    package var frozen: OverlayGeneration?
    /// Everything after this position is in `current` or `frozen`.
    package private(set) var reach: SequenceNumber
    /// The weight of `current` at which the next checkpoint begins.
    package var checkpointWeight: Int
    /// The last position that was given out.
    package var appended: SequenceNumber
    /// Commits that are not durable yet.
    package var pending = PendingCommits()

    /// An overlay over an index that is exact at a position.
    package init(over checkpoint: SequenceNumber, checkpointWeight: Int) {
        reach = checkpoint
        appended = checkpoint
        self.checkpointWeight = checkpointWeight
    }

    /// The weight of all that is not in the index yet.
    package var weight: Int { current.weight + (frozen?.weight ?? 0) }

    /// Position of the last event that began or ended a zone since the store was opened, or in the
    /// stretch that opening folded.
    package var lastZoneSequence: SequenceNumber {
        max(current.lastZoneSequence, lastZoneSequenceBefore)
    }

    /// Where the last commit ended that changed a system zone since the store was opened.
    package var lastSystemSequence: SequenceNumber = 0

    /// What commits and collections of assets know of each other.
    package var assets = AssetNaming()

    /// The last zone sequence before `current` began.
    private var lastZoneSequenceBefore: SequenceNumber = 0

    /// Freezes what has grown, for a checkpoint to take it in, and starts anew.
    ///
    /// Only while nothing is frozen.
    package mutating func rotate() -> OverlayGeneration {
        precondition(frozen == nil, "one checkpoint at a time")
        let generation = current
        lastZoneSequenceBefore = lastZoneSequence
        frozen = generation
        current = OverlayGeneration(expectedEntryCount: generation.entries.count)
        return generation
    }

    /// Lets go of what a checkpoint has taken into the index.
    package mutating func finishCheckpoint() {
        guard let frozen else { return }
        reach = frozen.lastSequence
        self.frozen = nil
    }
}

extension ZoneViews {
    /// How far a picture reaches.
    package enum Extent: Sendable {
        /// What is durable, by the log's watermark: what anybody may see.
        case visible
        /// Also what is not durable yet: what decisions are made on.
        case appended
    }

    /// What the store says at this moment.
    ///
    /// It stays as it is; drop it soon.
    package func picture(_ extent: Extent) throws(ViewIndexError) -> ViewPicture {
        try overlay.withLock { (overlay) throws(ViewIndexError) in
            ViewPicture(
                views: self,
                pin: pins.pin(),
                snapshot: try index.snapshot(),
                frozen: overlay.frozen,
                current: overlay.current,
                // Read inside the lock: what is durable was appended, and so is in the overlay.
                bound: extent == .visible ? source.durableSequence : overlay.appended,
                lastZoneSequence: overlay.lastZoneSequence,
                lastSystemSequence: overlay.lastSystemSequence,
                takenBlobCount: overlay.assets.takenCount
            )
        }
    }

    /// Begins with what an opening has folded: the stretch from the index's checkpoint to the end
    /// of the log, which is durable.
    package func begin(with generation: OverlayGeneration, through last: SequenceNumber) {
        overlay.withLock { overlay in
            overlay.current = generation
            overlay.appended = last
        }
    }
}
