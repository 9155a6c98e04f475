// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
package import TidemarkLog
import TidemarkViews

/// The views that a log makes, in memory.
package struct FoldedViews {
    private let fold: Fold
    private let store: StoreID
    private let line: IncarnationLine
    private let compactedThrough: SequenceNumber
    private let index = MemoryViewIndex()
    private var generation = OverlayGeneration()
    /// Merging copies all that is there, so it is done seldom.
    private static let mergeWeight = 1_000_000

    package init(_ reader: LogReader) {
        fold = Fold(hash: StoreHash(store: reader.store))
        store = reader.store
        line = reader.line
        compactedThrough = reader.compactedThrough
    }

    /// The reason why a log cannot become views.
    package enum Failure: Error {
        /// An event cannot be read.
        case event(EventFormatError)
        /// The events do not fit together, as where some are missing from the log.
        case views(String)
    }

    /// Takes in the next event.
    package mutating func add(_ event: LogEvent) throws(Failure) {
        // Only between commits, so that the index never holds a part of a commit.
        if generation.weight >= Self.mergeWeight, event.sequence == event.commit.first {
            try merge()
        }
        // The same fold as that of an open, which brings views up to date after a stop.
        do throws(EventFormatError) {
            try fold.apply(event, to: generation)
        } catch {
            throw .event(error)
        }
    }

    /// Returns the views after all events that were added.
    package mutating func finish() throws(Failure) -> ReplayedViews {
        try finish(beside: nil)
    }

    /// The same, to be compared with views that were found on disk.
    mutating func finish(beside found: (any ViewSnapshot)?) throws(Failure) -> ReplayedViews {
        try merge()
        return ReplayedViews(views: index.snapshot(), found: found)
    }

    private mutating func merge() throws(Failure) {
        guard generation.lastSequence > .zero else { return }
        do throws(ViewIndexError) {
            try index.take(generation, of: store, line, compactedThrough: compactedThrough)
        } catch {
            throw .views(error.message)
        }
        generation = OverlayGeneration()
    }
}
