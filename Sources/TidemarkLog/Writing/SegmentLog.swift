// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization
import TidemarkLock

/// The log of one store, opened for writing by this process only.
///
/// Appending copies a commit into the open batch and returns. One writer at a time takes the batch,
/// compresses it, writes it and syncs it; meanwhile, the next batch grows. A single caller
/// therefore gets one commit per sync, and many callers share a sync, without any timer. A caller
/// that is alone writes its commit itself (`CallerWrites`); else the writer's own thread does.
///
/// After a sync, in this order: the durable watermark moves, `onDurable` is called, and waiting
/// callers continue. No reader reads past the watermark.
///
/// Locks are taken in this order: first `disk`, which is held while a frame is written. Then
/// `queue`, which is held for microseconds, or while a segment must be prepared at once. Last the
/// manifest's lock, which is held while an edit is written, or that of `files`, which is held for
/// microseconds.
package final class SegmentLog: EventSource {
    package let store: StoreID
    package let configuration: LogConfiguration
    /// The environment, with its file system bound to the store's folder.
    package let environment: LogEnvironment
    let folder: StoreFolder
    let files: LogFiles
    let manifest: ManifestFile
    let queue: Lock<AppendQueue>
    let disk: Lock<Disk>
    let watermark: Atomic<UInt64>
    let spareNumber = Atomic<UInt64>(0)
    /// The largest commit for which the prepared segment was too small, in bytes.
    ///
    /// Written under the lock of `queue`.
    let largestBound = Atomic<Int>(0)
    /// The next segment while it is being prepared, and the room of the active one at that time.
    let preparation = Lock<(preparation: SparePreparation, room: Int)?>(nil)
    let onDurable: @Sendable (SequenceNumber) -> Void
    let onFinished: @Sendable () -> Void
    let writer = DispatchQueue(label: "tidemark.log.writer", qos: .userInitiated)
    let background = DispatchQueue(label: "tidemark.log.background", qos: .utility)
    let writerWork = DispatchGroup()
    let backgroundWork = DispatchGroup()
    let markerIsDue = Atomic<Bool>(false)
    /// True if a compaction uses the reserved disk space.
    let isUsingReserve = Atomic<Bool>(false)
    let callerWrites: CallerWrites
    /// True if a reader held an older manifest at the last check.
    private let olderReaders: Atomic<Bool>
    private let lockFile: any LogFile

    /// The state that only the current writer accesses.
    struct Disk: ~Copyable {
        var active: ActiveSegment
        var isClosed = false
        /// Signalled when the segment that ended last may be sealed; `nil` after that.
        var sealing: DispatchSemaphore?

        /// Lets the segment that ended last be sealed.
        mutating func allowSealing() {
            sealing?.signal()
            sealing = nil
        }
    }

    init(
        opened: consuming sending OpenedLog,
        configuration: LogConfiguration,
        environment: LogEnvironment,
        onDurable: @escaping @Sendable (SequenceNumber) -> Void,
        onFinished: @escaping @Sendable () -> Void = {}
    ) {
        store = opened.store
        folder = opened.folder
        files = opened.files
        manifest = opened.manifest
        lockFile = opened.lockFile
        olderReaders = Atomic(opened.hasOlderReaders)
        self.configuration = configuration
        self.environment = environment
        self.onDurable = onDurable
        self.onFinished = onFinished
        watermark = Atomic(opened.lastSequence.rawValue)
        callerWrites = CallerWrites(
            isLocal: environment.fileSystem.isLocal(opened.folder.segments)
        )
        queue = Lock(
            AppendQueue(
                lastSequence: opened.lastSequence,
                lastTime: opened.lastTime,
                room: opened.active.room,
                compressor: opened.active.compressor
            )
        )
        disk = Lock(Disk(active: opened.active))
    }

    /// The path that leads to the folder of the views now; `nil` if the system does not tell.
    package var viewsPath: String? { environment.fileSystem.currentPath(of: folder.views) }

    /// Closes the finished segments, and frees the memory of the prepared one, until their next use.
    package func closeFinishedSegments() {
        files.closeFinished()
        queue.withLock { $0.shrinkSpares() }
    }

    /// Returns true if the store's path still leads to the store.
    package func isInPlace() throws(LogError) -> Bool {
        try LogError.wrapping { () throws(FileError) in try environment.fileSystem.isInPlace() }
    }

    /// True if a reader may still use the store as it was before this open, by an older manifest.
    ///
    /// Once false, this never becomes true again: later readers use the manifest written by this
    /// open.
    package var hasOlderReaders: Bool {
        // A stale true only repeats the check.
        guard olderReaders.load(ordering: .relaxed) else { return false }
        let areLeft = manifest.removeOlder(in: folder, fileSystem: environment.fileSystem)
        olderReaders.store(areLeft, ordering: .relaxed)
        return areLeft
    }

    package var line: IncarnationLine { manifest.manifest.line }

    package var cacheUse: CacheUse { files.cache.use }

    package var compactedThrough: SequenceNumber { manifest.manifest.compactedThrough }

    package var durableSequence: SequenceNumber {
        SequenceNumber(rawValue: watermark.load(ordering: .acquiring))
    }

    /// The number of bytes that the segments have in use.
    package var byteCount: UInt64 { disk.withLock { usedByteCount($0) } }

    private func usedByteCount(_ disk: borrowing Disk) -> UInt64 {
        manifest.manifest.segments.reduce(disk.active.offset) {
            $0 + ($1.fileByteCount ?? $1.framesEnd ?? 0)
        }
    }

    /// Returns the spare space that a closed store may have: 4 MiB or a tenth of its log.
    package static func spareByteCountLimit(of log: UInt64) -> UInt64 { max(4 << 20, log / 10) }

    /// The last assigned position, durable or not.
    package var lastSequence: SequenceNumber { queue.withLock { $0.lastSequence } }

    /// The time of the last commit, durable or not; `Int64.min` for an empty log.
    package var lastTime: Int64 { queue.withLock { $0.lastTime } }

    // MARK: Appending

    /// Appends a commit and returns the position of its first event: always `lastSequence.next`.
    ///
    /// Never waits for the disk, except if the prepared segment is too small: then the next one is
    /// prepared here. After this call, the commit cannot be cancelled; it is durable once
    /// `durableSequence` reaches its last event. Callers must serialize their calls: the engine
    /// calls this inside its serialization point, where it reads `lastSequence` to compute the
    /// positions. An `ownSequence` zone becomes the event's own position.
    ///
    /// With `callerWaits`, the commit may stay unwritten until `waitUntilDurable` is called for it,
    /// which must be the caller's next step: then the caller can write it itself.
    ///
    /// With `beginsSegment`, everything appended before is in finished segments once the commit is
    /// durable. With `withoutDictionary`, the new segment contains no data of them.
    ///
    /// Throws `full` if the disk has no space; nothing has changed then, and a later call may
    /// succeed. Throws `writerFailed` after a failed write or sync, `readOnly` after the log was
    /// closed, and `tooLarge` for a commit above 1 GiB.
    package func append(
        _ draft: consuming CommitDraft,
        callerWaits: Bool = false,
        beginsSegment: Bool = false,
        withoutDictionary: Bool = false
    ) throws(LogError) -> SequenceNumber {
        precondition(!draft.events.isEmpty, "a commit has at least one event")
        let bound = FrameBuilder.byteCountBound(of: draft)
        guard bound <= Layout.commitByteCountLimit else {
            throw LogError(
                .tooLarge,
                "The commit takes up to \(bound) bytes; one commit takes at most "
                    + "\(Layout.commitByteCountLimit). Split it."
            )
        }
        let first = try queue.withLock { (queue) throws(LogError) -> SequenceNumber in
            // All checks and the assignment of positions happen under one lock. A commit that
            // passes them therefore always gets its positions, and no position is given out for a
            // rejected commit.
            if let failure = queue.failure { throw failure.asEndOfWriter }
            if queue.isClosing { throw .closed }
            if beginsSegment {
                // Small, since it may take long to fill.
                let room = Layout.smallestSegmentByteCount
                queue.keepFirst(
                    try prepareSpare(for: bound, room: room, isSampled: !withoutDictionary)
                )
            } else if queue.lacksRoom(for: bound) {
                // Not checked for `beginsSegment`, which only compaction and erasure use: the
                // reserve includes the short segment that a compaction begins.
                guard !isUsingReserve.load(ordering: .relaxed) else { throw .keptForCompaction }
                queue.keep(try prepareSpare(for: bound))
            }
            return queue.append(draft, bound: bound, beginsSegment: beginsSegment)
        }
        // Outside of the lock, which `startWriting` takes again. In a simulation, nothing is
        // written until a caller waits, so a test decides where each frame ends.
        if !environment.writesInline, !callerWaits { startWriting() }
        return first
    }

    /// Returns a frame that another thread compresses while a commit of about so many bytes is
    /// being decided; `nil` for a small commit, for one that will probably begin a segment, which
    /// has another dictionary, or if other commits are being written.
    package func earlyFrame(byteCount: Int) -> EarlyFrame? {
        guard byteCount >= FrameCompressor.sharedBlockCount * Layout.blockByteCount,
            CallerWrites.processorCount > 1,
            // A quarter more, for the names and versions of records.
            let compressor = queue.withLock({ queue in
                queue.isIdle && queue.room > byteCount + byteCount / 4 ? queue.compressor : nil
            })
        else { return nil }
        return compressor.sharedBlocks().map { EarlyFrame($0) }
    }

    /// Skips positions without events, for a copy of a log that has lost some.
    func appendGap(_ gapCount: UInt32) {
        queue.withLock { $0.appendGap(gapCount) }
    }

    /// Has waiting commits written, by the caller if it may and its commit is the only one.
    private func startWriting(asCaller: Bool = false) {
        // A commit that is appended between this check and `takeBatch` is written with the caller's
        // own, or left to the writer's thread.
        let (isStarted, isAlone) = queue.withLock { ($0.startWriting(), $0.isAlone) }
        guard isStarted else { return }
        if asCaller, isAlone, callerWrites.enter() {
            writeOnce()
            callerWrites.leave()
        } else {
            drainLater()
        }
    }

    /// True if commits are being written.
    package var isWriting: Bool { queue.withLock { $0.isWriting } }

    // MARK: Waiting

    /// Waits until an appended position is durable; throws if the writer failed before that.
    ///
    /// Not cancellable.
    package func waitUntilDurable(_ sequence: SequenceNumber) async throws(LogError) {
        if isPublished(sequence) { return }
        if environment.writesInline { return try blockUntilDurable(sequence) }
        startWriting(asCaller: true)
        // Nothing to wait for if this thread has written the commit.
        if isPublished(sequence) { return }
        let failure = await withCheckedContinuation { continuation in
            wait(for: sequence) { continuation.resume(returning: $0) }
        }
        if let failure { throw failure }
    }

    /// Blocks the thread until a position is durable, for a caller without a task.
    package func blockUntilDurable(_ sequence: SequenceNumber) throws(LogError) {
        if isPublished(sequence) { return }
        // Without `writesInline`, this does not start the writer: `append` has done so, or with
        // `callerWaits` the caller that appended does so in `waitUntilDurable`.
        if environment.writesInline {
            if queue.withLock({ $0.startWriting() }) { drain() }
        }
        let waiting = BlockedCaller()
        wait(for: sequence) { failure in
            waiting.failure.withLock { $0 = failure }
            waiting.isOver.signal()
        }
        waiting.isOver.wait()
        if let failure = waiting.failure.withLock({ $0 }) { throw failure }
    }

    /// Returns true if a position is durable and `onDurable` has returned for it.
    ///
    /// The watermark alone is not enough, because it moves first: a caller that continued at that
    /// moment would not find its change in the views.
    private func isPublished(_ sequence: SequenceNumber) -> Bool {
        queue.withLock { sequence <= $0.durable }
    }

    private func wait(
        for sequence: SequenceNumber,
        _ resume: @escaping @Sendable (LogError?) -> Void
    ) {
        let answer: LogError?? = queue.withLock { queue in
            precondition(sequence <= queue.lastSequence, "waiting for what was never appended")
            let waiter = AppendQueue.Waiter(sequence: sequence, resume: resume)
            if queue.wait(waiter) { return nil }
            return .some(sequence <= queue.durable ? nil : queue.failure?.asEndOfWriter)
        }
        if let answer { resume(answer) }
    }

    // MARK: Reading

    package func read(
        _ sequences: [SequenceNumber],
        _ visit: (LogEvent) -> Bool
    ) throws(LogError) {
        try files.read(sequences, visit)
    }

    package func readRuns(
        _ sequences: [SequenceNumber],
        _ take: (EventRun) -> Bool
    ) throws(LogError) {
        try files.readRuns(sequences, take)
    }

    package func scan(
        from first: SequenceNumber,
        through last: SequenceNumber,
        _ visit: (LogEvent) -> Bool
    ) throws(LogError) {
        try files.scan(from: first, through: min(last, durableSequence), visit)
    }

    package func scan(
        zone: ZoneKey,
        from first: SequenceNumber,
        through last: SequenceNumber,
        _ visit: (LogEvent) -> Bool
    ) throws(LogError) {
        try files.scan(zone: zone, from: first, through: min(last, durableSequence), visit)
    }

    package func lastSequence(atOrBefore time: Int64) throws(LogError) -> SequenceNumber {
        // The writer adds a frame to its segment a moment before the frame is reported as durable.
        min(try files.lastSequence(atOrBefore: time), durableSequence)
    }

    // MARK: Closing

    /// Accepts no more commits, for a store that is about to close.
    ///
    /// Commits that other threads appended before are still made durable; later ones are rejected.
    package func refuseCommits() {
        _ = queue.withLock { $0.refuseCommits() }
    }

    /// Makes everything durable, writes the closing frame and releases the store.
    ///
    /// Later appends throw; commits that any thread appended before are durable. Closing again does
    /// nothing. After a failed write, this releases the store and throws the failure.
    package func close() throws(LogError) {
        defer {
            // The next open must not run while this one still seals a segment or, after a failed
            // flush, while a compaction is still about to replace segments.
            backgroundWork.wait()
            files.readAhead.clear()
            disk.withLock { $0.isClosed = true }
            // Last: another writer may open the store as soon as the lock is free.
            lockFile.close()
        }
        // From here on, the end of the log is fixed: the closing frame will contain it.
        let last = queue.withLock { $0.refuseCommits() }
        // Before the closing frame, which must be the last frame of the log.
        try blockUntilDurable(last)
        // Otherwise a spare segment that is being prepared or begun would be forgotten by the loop
        // below, and its file would stay in the folder.
        writerWork.wait()
        disk.withLock { $0.allowSealing() }
        backgroundWork.wait()
        try disk.withLock { (disk) throws(LogError) in
            guard !disk.isClosed else { return }
            if let failure = queue.withLock({ $0.failure }) { throw failure.asEndOfWriter }
            disk.isClosed = true
            // No marker may follow the closing frame. `isClosed` stops one that has its room
            // already, the queue's failure stops later ones.
            for waiter in queue.withLock({ $0.fail(.closed) }) { waiter.resume(.closed) }
            try disk.active.close(next: last.next)
            // Only after the closing frame is synced: if frames end before the offset that the
            // manifest names, the next open reports corruption.
            try manifest.append([.closed(last: last, framesEnd: disk.active.offset)])
            cutReserve(byteCount: usedByteCount(disk), room: disk.active.room)
            // If a spare segment cannot be removed now, the next open does it.
            for spare in queue.withLock({ $0.unusedSpares }) {
                try? environment.fileSystem.remove(spare.path)
            }
            preparation.withLock { $0.take()?.preparation.remove() }
        }
    }
}

/// A blocked thread that waits for the writer, and its result.
private final class BlockedCaller: Sendable {
    let failure = Lock<LogError?>(nil)
    let isOver = DispatchSemaphore(value: 0)
}

extension LogError {
    fileprivate static let keptForCompaction = LogError(
        .full,
        "The disk is full, and the space that is left is used for compacting the store. Try again "
            + "when the compaction has ended."
    )

    /// The error after the store was closed.
    package static let closed = LogError(
        .readOnly,
        "The store has been closed; open it again to write."
    )

    /// The same failure for later callers.
    var asEndOfWriter: LogError {
        if code == .readOnly { return self }
        return LogError(
            .writerFailed,
            "The store has become read-only, because a write to its log failed: \(message) "
                + "Reopen the store once the cause is gone.",
            path: path,
            offset: offset,
            cause: cause
        )
    }
}
