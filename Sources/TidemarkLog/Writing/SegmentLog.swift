// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization
import TidemarkLock

/// The log of one store, open for writing by this process alone.
///
/// Appending copies a commit into the open batch and returns. One writer at a time takes the
/// batch, compresses it, writes it and syncs it; while it does, the next batch grows. So one lone
/// caller gets one commit a sync, and many callers share one, without any timer.
///
/// After a sync, in this order: the durable watermark moves, `onDurable` is called, waiting callers
/// go on. Nobody reads past the watermark.
///
/// Locks, in the order in which they may be taken: `disk` (held while a frame is written), then
/// `queue` (held for microseconds, or while a segment has to be prepared at once), then the manifest's
/// (held while an edit is written) or that of `files` (held for microseconds).
package final class SegmentLog: EventSource {
    package let store: StoreID
    package let configuration: LogConfiguration
    /// With the store's folder held on to.
    package let environment: LogEnvironment
    let folder: StoreFolder
    let files: LogFiles
    let manifest: ManifestFile
    let queue: Lock<AppendQueue>
    let disk: Lock<Disk>
    let watermark: Atomic<UInt64>
    let spareNumber = Atomic<UInt64>(0)
    let onDurable: @Sendable (SequenceNumber) -> Void
    let onFinished: @Sendable () -> Void
    let writer = DispatchQueue(label: "tidemark.log.writer", qos: .userInitiated)
    let background = DispatchQueue(label: "tidemark.log.background", qos: .utility)
    let backgroundWork = DispatchGroup()
    let markerIsDue = Atomic<Bool>(false)
    /// Whether a compaction uses the room that is kept back for it.
    let isUsingReserve = Atomic<Bool>(false)
    /// Whether some reader held an older manifest when that was last looked at.
    private let olderReaders: Atomic<Bool>
    private let lockFile: any LogFile

    /// What only the writer of the moment touches.
    struct Disk: ~Copyable {
        var active: ActiveSegment
        var isClosed = false
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
        queue = Lock(
            AppendQueue(
                lastSequence: opened.lastSequence,
                lastTime: opened.lastTime,
                room: opened.active.room
            )
        )
        disk = Lock(Disk(active: opened.active))
    }

    /// Whether the store's path still leads to it.
    package func isInPlace() throws(LogError) -> Bool {
        try LogError.wrapping { () throws(FileError) in try environment.fileSystem.isInPlace() }
    }

    /// Whether somebody may still be reading the store as it was before this opening: such a reader
    /// holds an older manifest.
    ///
    /// Once nobody does, it stays so: who comes from here on reads by the manifest of this opening.
    package var hasOlderReaders: Bool {
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

    /// The last position given out, durable or not.
    package var lastSequence: SequenceNumber { queue.withLock { $0.lastSequence } }

    /// The time of the last commit, durable or not; `Int64.min` for an empty log.
    package var lastTime: Int64 { queue.withLock { $0.lastTime } }

    // MARK: Appending

    /// Appends a commit and returns the position of its first event: always `lastSequence.next`.
    ///
    /// Never waits for the disk, except that a store which has outgrown its prepared segment makes
    /// the next one here. From here on the commit cannot be cancelled; it is durable once
    /// `durableSequence` reaches its last event. Callers serialize their calls (the engine calls
    /// inside its serialization point, where it reads `lastSequence` to learn what the positions
    /// will be). An `ownSequence` zone becomes the event's own position.
    ///
    /// With `beginsSegment` all that was appended before is in segments that are finished once the
    /// commit is durable. With `withoutDictionary` that segment has nothing of them in it.
    ///
    /// Throws `full` if the disk has no room, in which case nothing has changed and a later call
    /// may succeed; `writerFailed` after a failed write or sync; `readOnly` once the log was closed;
    /// `tooLarge` beyond 1 GiB.
    package func append(
        _ draft: consuming CommitDraft,
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
            if let failure = queue.failure { throw failure.asEndOfWriter }
            if queue.isClosing { throw .closed }
            if beginsSegment {
                // Small, since it may be long before it is full.
                let room = Layout.smallestSegmentByteCount
                queue.keepFirst(
                    try prepareSpare(for: bound, room: room, isSampled: !withoutDictionary)
                )
            } else if queue.lacksRoom(for: bound) {
                guard !isUsingReserve.load(ordering: .relaxed) else { throw .keptForCompaction }
                queue.keep(try prepareSpare(for: bound))
            }
            return queue.append(draft, bound: bound, beginsSegment: beginsSegment)
        }
        if !environment.writesInline { startWriting() }
        return first
    }

    /// Leaves positions without events, for a copy of a log that has lost some.
    func appendGap(_ gapCount: UInt32) {
        queue.withLock { $0.appendGap(gapCount) }
    }

    private func startWriting() {
        if queue.withLock({ $0.startWriting() }) {
            writer.async { self.drain() }
        }
    }

    /// Whether commits are on their way to the disk.
    package var isWriting: Bool { queue.withLock { $0.isWriting } }

    // MARK: Waiting

    /// Waits until an appended position is durable; throws if the writer failed before that.
    ///
    /// Not cancellable.
    package func waitUntilDurable(_ sequence: SequenceNumber) async throws(LogError) {
        if isPublished(sequence) { return }
        if environment.writesInline { return try blockUntilDurable(sequence) }
        let failure = await withCheckedContinuation { continuation in
            wait(for: sequence) { continuation.resume(returning: $0) }
        }
        if let failure { throw failure }
    }

    /// The same for a caller that has no task and may block its thread.
    package func blockUntilDurable(_ sequence: SequenceNumber) throws(LogError) {
        if isPublished(sequence) { return }
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

    /// Whether a position is durable and `onDurable` has returned for it.
    ///
    /// The watermark alone does not say so: it moves first, and whoever went on at that moment
    /// would not find in the views what it has been told is done.
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

    package func scan(
        from first: SequenceNumber,
        through last: SequenceNumber,
        _ visit: (LogEvent) -> Bool
    ) throws(LogError) {
        try files.scan(from: first, through: min(last, durableSequence), visit)
    }

    package func lastSequence(atOrBefore time: Int64) throws(LogError) -> SequenceNumber {
        // What the writer has written is in its segment a moment before it is said to be durable.
        min(try files.lastSequence(atOrBefore: time), durableSequence)
    }

    // MARK: Closing

    /// Accepts no more commits, for a store that is about to close: what was appended on other threads
    /// before is still made durable, and what comes later is refused.
    package func refuseCommits() {
        _ = queue.withLock { $0.refuseCommits() }
    }

    /// Makes everything durable, writes the closing frame and lets go of the store.
    ///
    /// Appending from then on throws; what was appended before, on other threads too, is durable.
    /// Closing again does nothing. After a failed write there is nothing to make durable: the store is
    /// let go of, and the failure is thrown.
    package func close() throws(LogError) {
        defer {
            // Whoever opens the store next must not meet somebody who is still sealing, nor, where
            // making everything durable failed, a compaction that is still about to replace segments.
            backgroundWork.wait()
            disk.withLock { $0.isClosed = true }
            lockFile.close()
        }
        // From here on the log's end stays where it is: the closing frame will name it.
        let last = queue.withLock { $0.refuseCommits() }
        try blockUntilDurable(last)
        backgroundWork.wait()
        try disk.withLock { (disk) throws(LogError) in
            guard !disk.isClosed else { return }
            if let failure = queue.withLock({ $0.failure }) { throw failure.asEndOfWriter }
            disk.isClosed = true
            for waiter in queue.withLock({ $0.fail(.closed) }) { waiter.resume(.closed) }
            try disk.active.close(next: last.next)
            try manifest.append([.closed(last: last, framesEnd: disk.active.offset)])
            // If a spare cannot be removed now, the next opening does it.
            for spare in queue.withLock({ $0.spares }) {
                try? environment.fileSystem.remove(spare.path)
            }
        }
    }
}

/// A thread that waits for the writer, and what it is told.
private final class BlockedCaller: Sendable {
    let failure = Lock<LogError?>(nil)
    let isOver = DispatchSemaphore(value: 0)
}

extension LogError {
    fileprivate static let keptForCompaction = LogError(
        .full,
        "The disk is full, and what room is left is used for compacting the store; try again when "
            + "that is over."
    )

    /// The store was closed.
    package static let closed = LogError(
        .readOnly,
        "The store has been closed; open it again to write."
    )

    /// The same failure as those see it who come after it.
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
