// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
package import TidemarkLog

/// The reason for which a replay failed.
package enum ReplayError: Error {
    /// The log could not be read, or its bytes are not events.
    case log(LogError)
    /// The view index could not be updated.
    case views(ViewIndexError)
}

/// A fold of a stretch of the log into successive generations of the overlay.
package struct Replay {
    private let source: any EventSource
    private let fold: Fold
    private let form: Form

    /// The use of the generations.
    package enum Form: Sendable {
        /// All generations are written to an index: they hold each record once, and are passed on
        /// when they hold this many objects.
        case rebuild(heldCount: Int)
        /// The stretch stays in memory as one generation, for readers.
        case overlay
    }

    package init(source: any EventSource, hash: StoreHash, form: Form) {
        self.source = source
        fold = Fold(hash: hash)
        self.form = form
    }

    /// Creates a generation for at most this many events.
    private func makeGeneration(eventCount: UInt64) -> OverlayGeneration {
        switch form {
        case .rebuild(let heldCount):
            OverlayGeneration(
                expectedEntryCount: Int(min(eventCount, UInt64(heldCount))),
                keepsVersions: false
            )
        case .overlay: OverlayGeneration()
        }
    }

    /// Folds the events after one position up to another.
    ///
    /// Each full generation is passed to `take`, so that only one is held at a time; so is the last
    /// one of a rebuild. Otherwise, the last one is returned. `advance` is called for every
    /// 65,536th event.
    package func run(
        after start: SequenceNumber,
        through last: SequenceNumber,
        advance: (SequenceNumber) -> Void,
        take: (OverlayGeneration) throws(ReplayError) -> Void
    ) throws(ReplayError) -> OverlayGeneration {
        var start = start
        while true {
            let generation = makeGeneration(eventCount: last - start)
            let end = try fold(after: start, through: last, into: generation, advance)
            // The generation of an overlay is never full, so one pass reaches the end.
            guard case .rebuild = form else { return generation }
            if generation.lastSequence > 0 { try take(generation) }
            guard let end else { return OverlayGeneration() }
            start = end
        }
    }

    /// Folds events into one generation; returns the position before the first event that it has no
    /// room for, `nil` if it has room for all.
    ///
    /// A commit is never split, so that the fold is exact at a commit's end.
    private func fold(
        after start: SequenceNumber,
        through last: SequenceNumber,
        into generation: OverlayGeneration,
        _ advance: (SequenceNumber) -> Void
    ) throws(ReplayError) -> SequenceNumber? {
        let limit = if case .rebuild(let heldCount) = form { heldCount } else { Int.max }
        var end: SequenceNumber?
        var failure: ReplayError?
        try scan(after: start, through: last) { event in
            // The waiting changes of a rebuild are not counted, so a generation may exceed its
            // limit by a few dozen entries, and by the rest of a commit.
            if event.sequence == event.commit.first, generation.heldCount >= limit {
                end = event.sequence.previous
                return false
            }
            do throws(ReplayError) {
                try apply(event, to: generation)
            } catch {
                failure = error
                return false
            }
            if event.sequence.rawValue & 0xFFFF == 0 { advance(event.sequence) }
            return true
        }
        if let failure { throw failure }
        return end
    }

    private func scan(
        after start: SequenceNumber,
        through last: SequenceNumber,
        _ visit: (LogEvent) -> Bool
    ) throws(ReplayError) {
        do throws(LogError) {
            try source.scan(from: start.next, through: last, visit)
        } catch {
            throw .log(error)
        }
    }

    @inline(__always)
    private func apply(_ event: LogEvent, to generation: OverlayGeneration) throws(ReplayError) {
        do throws(EventFormatError) {
            try fold.apply(event, to: generation)
        } catch {
            throw .log(
                LogError(
                    .newerVersion,
                    "\(error.message) Open the store with the version of Tidemark that wrote it."
                )
            )
        }
    }
}
