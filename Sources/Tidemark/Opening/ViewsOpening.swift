// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkViews

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Opens the zone views of a store and brings them up to the end of its log.
struct ViewsOpening {
    let folder: StoreFolder
    let options: StoreOptions
    let environment: StoreEnvironment
    let source: any EventSource
    let line: IncarnationLine

    /// Folding a longer stretch into an index on disk is a rebuild.
    private static let rebuildEventCount: UInt64 = 250_000
    /// The number of records to hold while a whole log is folded, at about 150 bytes of memory
    /// each.
    ///
    /// The number is large because each time so many other records have changed, a record is
    /// written once more.
    private static let rebuildForm = Replay.Form.rebuild(heldCount: 2_000_000)
    /// The number of attempts to wait for a writer's index that is ahead of its log, and the delay
    /// of each.
    ///
    /// A writer's index may be ahead of the log positions published to other processes, until the
    /// idle writer publishes again.
    private static let refreshLimit = 50
    // In microseconds. All attempts together take at most 0.2 seconds.
    private static let refreshDelay: UInt32 = 4_000
    /// The number of times a reader restarts because a writer appeared while it opened the index.
    private static let openingLimit = 20

    private var hash: StoreHash {
        StoreHash(store: source.store, slotMask: environment.slotMask)
    }

    /// Opens the views on disk; rebuilds them if they are missing, damaged or foreign.
    ///
    /// A reader that opened the views while there was no writer uses them without a lock. If there
    /// may be such a reader (`besideReaders`), it keeps its files, and the store continues with a
    /// copy.
    func openForWriting(
        besideReaders: Bool,
        _ progress: (RebuildProgress) -> Void
    ) throws(LogError) -> ZoneViews {
        let log = try environment.log.permitting(asIn: folder)
        try LogError.wrapping { () throws(FileError) in
            try log.fileSystem.createDirectory(folder.views)
        }
        return try explained { () throws(ReplayError) in
            do throws(ReplayError) {
                if besideReaders {
                    try translated { () throws(ViewIndexError) in
                        try environment.renewIndex(folder.views, source.store)
                    }
                }
                let index = try openIndex(folder.views, .writing)
                return try catchUp(index, progress)
            } catch {
                // Only damage of the views can be repaired from the log. After an error of the log,
                // a rebuild would read the same log.
                guard case .views(let cause) = error, cause.reason == .damaged else { throw error }
                return try rebuild(progress)
            }
        }
    }

    private func openIndex(
        _ path: String,
        _ access: ViewAccess
    ) throws(ReplayError) -> any ViewIndex {
        try translated { () throws(ViewIndexError) in
            try environment.openIndex(path, access, source.store)
        }
    }

    /// Rejects an index that is exact at a position which this line of the store does not have.
    ///
    /// Views contain only durable events. So if they are ahead of the log, the log has lost its
    /// end: that is corruption, which a rebuild cannot repair.
    private func check(_ checkpoint: ViewCheckpoint?) throws(ReplayError) {
        guard let checkpoint else { return }
        // First, because the test below may fail for such views too, and would have them rebuilt.
        if let lost = lostEnd(checkpoint) { throw .log(lost) }
        let isOfThisLine =
            checkpoint.store == source.store
            && line.contains(checkpoint.sequence, of: checkpoint.incarnation)
        guard isOfThisLine else {
            throw .views(
                ViewIndexError(
                    .damaged,
                    "\(folder.views): the view index belongs to another history of the store, or "
                        + "is ahead of it; it is rebuilt from the log."
                )
            )
        }
    }

    /// Returns the error for views that name events after the end of the log; `nil` for others.
    private func lostEnd(_ checkpoint: ViewCheckpoint?) -> LogError? {
        guard let checkpoint, checkpoint.store == source.store,
            checkpoint.sequence > source.durableSequence
        else { return nil }
        return .lostEnd(
            after: source.durableSequence,
            viewsAt: checkpoint.sequence,
            path: folder.segments
        )
    }

    private func rebuild(_ progress: (RebuildProgress) -> Void) throws(ReplayError) -> ZoneViews {
        try translated { () throws(ViewIndexError) in try environment.removeIndex(folder.views) }
        return try catchUp(try openIndex(folder.views, .writing), progress)
    }

    /// Folds the events after the index's checkpoint.
    ///
    /// A short tail stays in memory, and so does any tail of an index that cannot be written.
    private func catchUp(
        _ index: any ViewIndex,
        isWritable: Bool = true,
        _ progress: (RebuildProgress) -> Void
    ) throws(ReplayError) -> ZoneViews {
        try check(index.checkpoint)
        let start = index.checkpoint?.sequence ?? .zero
        let last = source.durableSequence
        let tailCount = last - start
        var reach = start
        // A rebuild moves generations into the index as it goes, so its memory is bounded. A short
        // tail stays in the overlay, and a checkpoint takes it to disk later.
        let isRebuild = isWritable && (start == .zero || tailCount > Self.rebuildEventCount)
        let form = isRebuild ? Self.rebuildForm : .overlay
        let replay = Replay(source: source, hash: hash, form: form)
        let rest = try replay.run(after: start, through: last) { sequence in
            progress(RebuildProgress(eventCount: sequence - start, totalEventCount: tailCount))
        } take: { (generation) throws(ReplayError) in
            try take(generation, into: index)
            reach = generation.lastSequence
        }
        // A zone with events in the tail, but without a creation there or in the index, has lost
        // its creation. The generation remembers this zone, so that lists of zones fail instead of
        // leaving it out.
        try translated { () throws(ViewIndexError) in
            try rest.findStrayZone(beside: index.snapshot())
        }
        let views = ZoneViews(
            source: source,
            index: index,
            hash: hash,
            checkpoint: reach,
            checkpointWeight: options.checkpointWeight
        )
        views.begin(with: rest, through: last)
        return views
    }

    private func take(
        _ generation: OverlayGeneration,
        into index: any ViewIndex
    ) throws(ReplayError) {
        try translated { () throws(ViewIndexError) in
            try index.take(
                generation,
                of: source.store,
                line,
                compactedThrough: source.compactedThrough
            )
        }
    }

    private func translated<Result>(
        _ body: () throws(ViewIndexError) -> Result
    ) throws(ReplayError) -> Result {
        do throws(ViewIndexError) {
            return try body()
        } catch {
            throw .views(error)
        }
    }

    private func explained<Result>(
        _ body: () throws(ReplayError) -> Result
    ) throws(LogError) -> Result {
        do throws(ReplayError) {
            return try body()
        } catch {
            switch error {
            case .log(let error): throw error
            case .views(let error):
                // The message names the place.
                throw LogError(error.reason == .full ? .full : .unreadable, error.message)
            }
        }
    }
}

// MARK: - Reading

extension ViewsOpening {
    /// Opens the views for reading: those on disk with the tail in memory, or, if they are
    /// unusable, all of it in memory.
    ///
    /// Nothing is written, with one exception: while a writer is active, the reader enters LMDB's
    /// table of readers. Without a writer it does not; a later writer learns of the reader by the
    /// manifest that the reader holds.
    func openForReading(
        _ reader: LogReader,
        _ progress: (RebuildProgress) -> Void
    ) throws(LogError) -> ZoneViews {
        for _ in 0..<Self.openingLimit {
            let isLive = reader.isLive
            // An index that cannot be opened is no error for a reader: the log has everything.
            let index = try? readOnly(
                openIndex(folder.views, isLive ? .readingLive : .readingStill)
            )
            // A writer that was there before the snapshot was does not know that it must be kept.
            if !isLive, try reader.isOvertaken() {
                _ = try reader.refresh()
                continue
            }
            guard let index else { break }
            if isLive {
                // If the writer does not publish in time, the views are ahead of this reader's log
                // and are not used.
                try wait(for: index.checkpoint, reader)
            } else if let lost = lostEnd(index.checkpoint) {
                try reader.meet(lost)
                break
            }
            if let views = try? catchUp(index, isWritable: false, progress) { return views }
            break
        }
        return try explained { () throws(ReplayError) in
            do throws(ReplayError) {
                // The whole log is folded. This takes time and memory in proportion to the log, but
                // needs no access for writing.
                return try catchUp(MemoryViewIndex(), progress)
            } catch {
                guard case .views = error else { throw error }
                // If the creation of a zone is lost, an index cannot be built. The overlay has the
                // known state of the zone, and the other zones are correct.
                return try catchUp(MemoryViewIndex(), isWritable: false, progress)
            }
        }
    }

    /// Waits until a writer has acknowledged in the log the events that its index contains.
    private func wait(for checkpoint: ViewCheckpoint?, _ reader: LogReader) throws(LogError) {
        guard let sequence = checkpoint?.sequence else { return }
        for _ in 0..<Self.refreshLimit where sequence > reader.durableSequence {
            if try !reader.refresh() { usleep(Self.refreshDelay) }
        }
    }

    /// The index as it is now, whatever a writer does to it later.
    private func readOnly(_ index: any ViewIndex) throws(ReplayError) -> any ViewIndex {
        try translated { () throws(ViewIndexError) in try StillViewIndex(index) }
    }
}

/// One snapshot of a view index as an immutable index, for a reader that runs while there is a
/// writer.
private final class StillViewIndex: ViewIndex {
    private let held: any ViewSnapshot
    let byteCount: UInt64
    let spareByteCount: UInt64

    init(_ index: any ViewIndex) throws(ViewIndexError) {
        held = try index.snapshot()
        byteCount = index.byteCount
        spareByteCount = index.spareByteCount
    }

    var checkpoint: ViewCheckpoint? { held.checkpoint }

    func snapshot() -> any ViewSnapshot { held }

    func apply(_ batch: consuming ViewBatch, checkpoint: ViewCheckpoint) throws(ViewIndexError) {
        throw ViewIndexError(.system, "The view index is open for reading only.")
    }
}

extension LogError {
    /// The error for a log that ends before the views, which contain durable events alone.
    static func lostEnd(
        after last: SequenceNumber,
        viewsAt checkpoint: SequenceNumber,
        path: String
    ) -> LogError {
        LogError(
            .corrupted,
            "The views hold event \(checkpoint), and the log ends with event \(last): events that "
                + "were on disk are missing. Restore CURRENT, the manifest and the segments from a "
                + "backup; `tidemark log salvage` copies what is left.",
            path: path
        )
    }
}
