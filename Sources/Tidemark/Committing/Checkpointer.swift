// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization
import TidemarkLock
package import TidemarkLog
package import TidemarkModel
package import TidemarkViews

/// Takes the overlay into the view index, one generation at a time, in the background.
package final class Checkpointer: Sendable {
    /// A generation of this weight is taken into the index.
    package let budget: Int
    /// The overlay size, in budgets, at which callers that add to it wait.
    ///
    /// The data of a running checkpoint is included.
    ///
    /// It bounds the amount that an open after a crash has to fold.
    private static let overloadFactor = 3

    private let index: any ViewIndex
    private let source: any EventSource
    /// Waits until the log is durable up to a position.
    private let awaitDurable: @Sendable (SequenceNumber) throws(LogError) -> Void
    /// True if checkpoints run on the thread that starts them, for single-threaded simulations.
    private let runsInline: Bool
    /// The observer of checkpoints.
    private let observer: (any StoreObserver)?
    private let queue = DispatchQueue(label: "tidemark.checkpoint", qos: .utility)
    private let state = Lock(State())
    /// True if the overlay is far too large.
    ///
    /// Set at the serialization point.
    private let isOverloaded = Atomic<Bool>(false)

    private struct State {
        var isRunning = false
        /// True if the thread that closes the store takes the last checkpoint; no other checkpoint
        /// begins.
        var isFinishing = false
        /// The reason why the last checkpoint failed; `nil` after one that did not.
        var failure: SyncError?
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    package init(
        index: any ViewIndex,
        source: any EventSource,
        budget: Int,
        runsInline: Bool,
        awaitDurable: @escaping @Sendable (SequenceNumber) throws(LogError) -> Void,
        observer: (any StoreObserver)? = nil
    ) {
        self.index = index
        self.source = source
        self.budget = budget
        self.runsInline = runsInline
        self.awaitDurable = awaitDurable
        self.observer = observer
    }

    /// Starts a checkpoint if an opening has found enough for one.
    package func begin(_ views: ZoneViews) {
        views.overlay.withLock { grew(&$0, of: views) }
    }

    /// Looks at an overlay that has grown, and starts a checkpoint if one is due.
    ///
    /// Called at the serialization point.
    package func grew(_ overlay: inout Overlay, of views: ZoneViews) {
        if overlay.current.weight >= overlay.checkpointWeight { start(&overlay, of: views) }
        let isOverloaded = overlay.weight >= budget * Self.overloadFactor
        self.isOverloaded.store(isOverloaded, ordering: .relaxed)
    }

    /// Freezes the current generation and schedules its checkpoint, or retries the checkpoint of a
    /// frozen one.
    private func start(
        _ overlay: inout Overlay,
        of views: ZoneViews,
        expectedEntryCount: Int? = nil
    ) {
        // `state` is locked inside the overlay's lock. No path locks them in the other order: `run`
        // locks one after the other.
        let isFree = state.withLock { state in
            if state.isRunning || state.isFinishing { return false }
            state.isRunning = true
            return true
        }
        guard isFree else { return }
        // A frozen generation is still here only if its checkpoint failed. It is retried first,
        // because the index takes generations without gaps.
        let generation =
            overlay.frozen ?? overlay.rotate(expectedEntryCount: expectedEntryCount)
        // After a failure `current` is not empty, and the next attempt waits for another budget.
        // Otherwise every commit would start one.
        overlay.checkpointWeight = overlay.current.weight + budget
        // In a simulation, `runDue` runs the generation later: the caller holds the overlay's lock,
        // which `run` takes too.
        if !runsInline {
            queue.async { self.run(generation, views) }
        }
    }

    /// The weight from which the overlay of an idle store is taken into the index.
    private static let idleWeight = 128

    /// Starts a checkpoint of an idle store, unless its overlay takes little memory.
    package func rest(_ views: ZoneViews) {
        views.overlay.withLock { overlay in
            guard overlay.weight >= Self.idleWeight else { return }
            start(&overlay, of: views, expectedEntryCount: Self.idleWeight)
        }
    }

    private func run(_ generation: OverlayGeneration, _ views: ZoneViews) {
        var failure: SyncError?
        do {
            try write(generation)
            // The overlay releases the generation only after the write. A picture takes the overlay
            // and an index snapshot under one lock, so it finds each event in at least one of them.
            views.overlay.withLock { $0.finishCheckpoint() }
        } catch {
            // The generation stays frozen in the overlay, so readers still find its events. `start`
            // retries it before any newer one.
            failure = error
        }
        let waiting = state.withLock { state in
            state.isRunning = false
            state.failure = failure
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Writes a generation into the index once the generation is durable, and notifies the
    /// observer.
    private func write(_ generation: OverlayGeneration) throws(SyncError) {
        let work = observer?.begins(.checkpoint)
        do throws(SyncError) {
            try take(generation)
            let last = generation.lastSequence
            observer?.notes(.checkpointed(through: last))
            work?.ends(nil)
        } catch {
            work?.ends(error)
            throw error
        }
    }

    private func take(_ generation: OverlayGeneration) throws(SyncError) {
        let last = generation.lastSequence
        try SyncError.wrapping { () throws(LogError) in
            // The index must never be ahead of the log. An open treats such views as proof that the
            // log has lost its end.
            try awaitDurable(last)
        }
        try SyncError.wrapping { () throws(ViewIndexError) in
            try index.take(
                generation,
                of: source.store,
                source.line,
                compactedThrough: source.compactedThrough
            )
        }
    }

    /// True if ``waitForRoom(_:)`` may wait or run a checkpoint.
    package var mayLackRoom: Bool { runsInline || isOverloaded.load(ordering: .relaxed) }

    /// Waits while the overlay is much too large.
    ///
    /// Throws if checkpoints fail, or the store is being closed.
    package func waitForRoom(_ views: ZoneViews) async throws(SyncError) {
        if runsInline { return runDue(views) }
        // The flag is a hint that spares the lock in the usual case; `isFull` decides under the
        // lock.
        while isOverloaded.load(ordering: .relaxed), isFull(views) {
            try checkGoesOn()
            await waitForCheckpoint()
            // A failed checkpoint alone does not reject requests: the store reads and commits from
            // the overlay until that is full.
            if isFull(views), let failure = state.withLock({ $0.failure }) { throw failure }
        }
    }

    /// Returns true if the overlay is far too large.
    ///
    /// In that case a checkpoint is running on return.
    private func isFull(_ views: ZoneViews) -> Bool {
        views.overlay.withLock { overlay in
            grew(&overlay, of: views)
            guard isOverloaded.load(ordering: .relaxed) else { return false }
            start(&overlay, of: views)
            return true
        }
    }

    /// Runs a scheduled checkpoint on the calling thread.
    private func runDue(_ views: ZoneViews) {
        guard state.withLock({ $0.isRunning }),
            let generation = views.overlay.withLock({ $0.frozen })
        else { return }
        run(generation, views)
    }

    /// Checkpoints everything that was appended up to a position, while commits continue.
    package func advance(
        _ views: ZoneViews,
        through position: SequenceNumber
    ) async throws(SyncError) {
        while true {
            // Generations enter the index in order. If an older one is frozen, a position in
            // `current` takes two rounds.
            let isThere = views.overlay.withLock { overlay in
                if overlay.reach >= position { return true }
                start(&overlay, of: views)
                return false
            }
            if isThere { return }
            try checkGoesOn()
            if runsInline {
                runDue(views)
            } else {
                await waitForCheckpoint()
            }
            if let failure = state.withLock({ $0.failure }) { throw failure }
        }
    }

    /// Throws if there will be no more checkpoints to wait for.
    private func checkGoesOn() throws(SyncError) {
        if state.withLock({ $0.isFinishing }) { throw SyncError(LogError.closed) }
    }

    /// Waits until the running checkpoint has ended.
    private func waitForCheckpoint() async {
        await withCheckedContinuation { continuation in
            // `run` takes the list under the same lock that clears `isRunning`. So a checkpoint
            // cannot end between this check and the registration.
            let isOver = state.withLock { state in
                if !state.isRunning { return true }
                state.waiting.append(continuation)
                return false
            }
            if isOver { continuation.resume() }
        }
    }

    /// Checkpoints everything after the running checkpoint; the last checkpoint of the store.
    ///
    /// Only when the log rejects commits.
    package func finish(_ views: ZoneViews) throws(SyncError) {
        // From here on, `start` begins no checkpoint. The queue is serial, so the empty block below
        // ends after a checkpoint that was scheduled before. A `start` that is under way holds the
        // overlay's lock until it has scheduled its checkpoint.
        views.overlay.withLock { _ in state.withLock { $0.isFinishing = true } }
        if runsInline { runDue(views) } else { queue.sync {} }
        // There are at most two generations: a frozen one whose checkpoint failed, and the current
        // one.
        for _ in 0..<2 {
            let generation = views.overlay.withLock { overlay in
                if let frozen = overlay.frozen { return frozen as OverlayGeneration? }
                return overlay.current.weight > 0 ? overlay.rotate() : nil
            }
            guard let generation else { return }
            try write(generation)
            views.overlay.withLock { $0.finishCheckpoint() }
        }
    }
}

extension ViewIndex {
    /// Takes in a generation that begins where the index is exact, all of it durable.
    package func take(
        _ generation: OverlayGeneration,
        of store: StoreID,
        _ line: IncarnationLine,
        compactedThrough: SequenceNumber
    ) throws(ViewIndexError) {
        let last = generation.lastSequence
        let batch = try generation.makeBatch(
            over: try snapshot(),
            compactedThrough: compactedThrough
        )
        let checkpoint = ViewCheckpoint(
            store: store,
            incarnation: line.incarnation(of: last),
            sequence: last
        )
        try apply(batch, checkpoint: checkpoint)
    }
}
