// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization

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
/// `queue` (held for microseconds, or while a segment has to be prepared at once).
package final class SegmentLog: EventSource {
    package let store: StoreID
    package let configuration: LogConfiguration
    /// Whether somebody may still have been reading the store, as it was before this opening, when
    /// it began: such a reader holds an older manifest.
    package let hasOlderReaders: Bool
    /// With the store's folder held on to.
    package let environment: LogEnvironment
    let folder: StoreFolder
    let files: LogFiles
    let manifest: ManifestFile
    let queue: Lock<AppendQueue>
    let disk: Lock<Disk>
    private let watermark: Atomic<UInt64>
    private let spareNumber = Atomic<UInt64>(0)
    private let onDurable: @Sendable (SequenceNumber) -> Void
    private let onFinished: @Sendable () -> Void
    private let writer = DispatchQueue(label: "tidemark.log.writer", qos: .userInitiated)
    private let background = DispatchQueue(label: "tidemark.log.background", qos: .utility)
    let backgroundWork = DispatchGroup()
    private let markerIsDue = Atomic<Bool>(false)
    /// Whether a compaction uses the room that is kept back for it.
    let isUsingReserve = Atomic<Bool>(false)
    private let lockFile: any LogFile

    /// What only the writer of the moment touches.
    struct Disk: ~Copyable {
        var active: ActiveSegment
        var isClosed = false
    }

    /// The writer waits this long for more work before it vouches for the last frame.
    private static let idleDelay = DispatchTimeInterval.milliseconds(20)

    /// Opens the log in a store's folder, creating it if that is asked for, and recovers whatever
    /// an unclean stop left behind.
    ///
    /// `onDurable` is called after every sync with the new watermark, on the writer's thread,
    /// before the callers that wait for it go on; `onFinished` in the background when a segment has
    /// its footer.
    ///
    /// Throws `notAStore`, `locked`, `corrupted` (the store can still be read, see ``LogReader``),
    /// `newerVersion`, `foreignFile`, `unreadable` or `full`. O(segments) to see that they are there,
    /// plus reading those that have no footer: the active one and seldom the one before. Call
    /// ``sealLeftovers()`` when there is time for it.
    package static func open(
        _ directory: String,
        creating: Bool,
        configuration: LogConfiguration,
        environment: LogEnvironment,
        onDurable: @escaping @Sendable (SequenceNumber) -> Void,
        onFinished: @escaping @Sendable () -> Void = {}
    ) throws(LogError) -> (log: SegmentLog, report: RecoveryReport) {
        let opening = try LogOpening(
            folder: StoreFolder(directory),
            configuration: configuration,
            environment: environment
        )
        .holdingFolder(creating: creating)
        let opened = try opening.openUsingReserve(creating: creating)
        let report = opened.report
        let log = SegmentLog(
            opened: opened,
            configuration: configuration,
            environment: opening.environment,
            onDurable: onDurable,
            onFinished: onFinished
        )
        return (log, report)
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
        hasOlderReaders = opened.hasOlderReaders
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

    package var line: IncarnationLine { manifest.manifest.line }

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
    /// may succeed; `writerFailed` after a failed write or sync; `tooLarge` beyond 1 GiB.
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
        try files.lastSequence(atOrBefore: time)
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
            // Whoever opens the store next must not meet somebody who is still sealing.
            backgroundWork.wait()
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

// MARK: - The writer

extension SegmentLog {
    /// Writes batches until there are none.
    ///
    /// One thread at a time is here (`isWriting`).
    private func drain() {
        while let batch = queue.withLock({ $0.takeBatch() }) {
            let outcome = disk.withLock { disk in
                Result<Written, LogError> { () throws(LogError) in try write(batch, to: &disk) }
            }
            switch outcome {
            case .success(let written): publish(written)
            case .failure(let error): fail(error)
            }
        }
        scheduleMarker()
    }

    private struct Written {
        var last: SequenceNumber
        var byteCount: Int
        var bound: Int
        var segmentNumber: UInt64
    }

    private func write(
        _ batch: consuming AppendQueue.Batch,
        to disk: inout Disk
    ) throws(LogError) -> Written {
        if let spare = batch.spare { try begin(spare, first: batch.builder.first, &disk) }
        let start = disk.active.offset
        let last = batch.builder.last
        let bound = batch.bound
        let segmentNumber = batch.segmentNumber
        let blocks = try disk.active.write(batch.builder)
        if configuration.durability == .full { try disk.active.sync() }
        disk.active.reader.add(blocks)
        prepareSpareIfDue(disk.active)
        return Written(
            last: last,
            byteCount: Int(disk.active.offset - start),
            bound: bound,
            segmentNumber: segmentNumber
        )
    }

    private func publish(_ written: Written) {
        watermark.store(written.last.rawValue, ordering: .releasing)
        onDurable(written.last)
        let ready = queue.withLock {
            $0.wrote(
                through: written.last,
                byteCount: written.byteCount,
                bound: written.bound,
                segmentNumber: written.segmentNumber
            )
        }
        for waiter in ready { waiter.resume(nil) }
    }

    func fail(_ error: LogError) {
        for waiter in queue.withLock({ $0.fail(error) }) { waiter.resume(error.asEndOfWriter) }
    }

    /// Ends the active segment and begins the next one, durably, before any frame goes into it.
    ///
    /// A segment whose very first commit has no room in it is replaced by one of the next
    /// generation; the next opening removes its file.
    private func begin(
        _ spare: SpareSegment,
        first: SequenceNumber,
        _ disk: inout Disk
    ) throws(LogError) {
        let ended = disk.active.id
        let framesEnd = disk.active.offset
        // The manifest is about to promise these frames, and a marker among them is not synced.
        if configuration.durability == .full { try disk.active.makeDurable() }
        let last = SequenceNumber(rawValue: first.rawValue - 1)
        let incarnation = line.current
        let isEmpty = ended.first == first
        let recovery = disk.active.recovery
        let reader = try spare.becomeSegment(
            SegmentID(first: first, generation: isEmpty ? ended.generation + 1 : 0),
            incarnation: incarnation,
            in: folder,
            environment: environment
        )
        try manifest.append([
            isEmpty ? .removed(ended) : .ended(ended, last: last, framesEnd: framesEnd),
            .added(reader.id, incarnation),
        ])
        files.update { segments in
            if isEmpty {
                segments.removeLast()
            } else {
                segments[segments.count - 1].last = last
                segments[segments.count - 1].framesEnd = framesEnd
            }
            segments.append(LogFiles.Segment(id: reader.id, reader: reader))
        }
        disk.active = ActiveSegment(
            reader: reader,
            offset: UInt64(reader.header.framesOffset),
            chain: reader.header.chain,
            lastTime: disk.active.lastTime,
            lastReceived: disk.active.lastReceived
        )
        if isEmpty, let recovery {
            try disk.active.write(.recovery, next: first, payload: recovery)
        }
        inBackground { self.seal(ended) }
    }

    // MARK: The idle marker

    private func scheduleMarker() {
        guard !environment.writesInline, !markerIsDue.exchange(true, ordering: .relaxed) else {
            return
        }
        let seen = durableSequence
        writer.asyncAfter(deadline: .now() + Self.idleDelay) { [weak self] in
            guard let self else { return }
            markerIsDue.store(false, ordering: .relaxed)
            if durableSequence == seen { vouch() } else { scheduleMarker() }
        }
    }

    /// Writes the marker frame that lets other processes read up to the watermark, unless it is there:
    /// then an idle writer sleeps.
    ///
    /// Not synced: it is a hint for them, and a witness for recovery. If it fails, it ends the
    /// writer as every failed write does.
    func vouch() {
        guard queue.withLock({ $0.takeMarkerRoom() }) else { return }
        do throws(LogError) {
            try disk.withLock { (disk) throws(LogError) in
                guard !disk.isClosed else { return }
                let next = SequenceNumber(rawValue: durableSequence.rawValue + 1)
                try disk.active.vouch(next: next)
            }
        } catch {
            fail(error)
        }
        // What came meanwhile.
        drain()
    }

    // MARK: Spares and sealing

    func inBackground(_ work: @escaping @Sendable () -> Void) {
        if environment.writesInline { return work() }
        background.async(group: backgroundWork, execute: work)
    }

    /// Room for the next segment's frames: as much as the log has so far, so that small stores
    /// have small files, and not much more than the active one, so that it is ready in time;
    /// between the smallest and the configured size.
    private var nextRoom: Int {
        let log = files.segments.reduce(UInt64(0)) { $0 + ($1.framesEnd ?? 0) }
        let active = files.segments.last?.reader?.header.allocatedByteCount ?? 0
        let wanted = Int(min(log + active, 4 * active, UInt64(configuration.segmentByteCount)))
        return max(wanted, min(Layout.smallestSegmentByteCount, configuration.segmentByteCount))
    }

    private func prepareSpare(
        for bound: Int = 0,
        room: Int = .max,
        isSampled: Bool = true
    ) throws(LogError) -> SpareSegment {
        try manifest.reserve()
        var sample = DictionarySample()
        if isSampled, let reader = files.segments.last?.reader {
            sample = try DictionarySample.taken(from: reader)
        }
        let least = bound + AppendQueue.reserveByteCount
        var room = max(min(nextRoom, room), least)
        while true {
            do throws(LogError) {
                return try SpareSegment.prepare(
                    room: room,
                    number: spareNumber.add(1, ordering: .relaxed).newValue,
                    store: store,
                    in: folder,
                    sample: sample,
                    environment: environment
                )
            } catch {
                // What a nearly full disk still has room for.
                let smaller = max(room / 2, least, Layout.smallestSegmentByteCount)
                guard error.code == .full, smaller < room else { throw error }
                room = smaller
            }
        }
    }

    /// Prepares the next segment in the background once the active one is half full.
    ///
    /// If that fails it is tried again when half of the room that is left has been used; whoever
    /// then needs the segment tries too, and gets the error.
    private func prepareSpareIfDue(_ active: borrowing ActiveSegment) {
        let allocated = Int(active.reader.header.allocatedByteCount)
        let room = active.room
        guard room < allocated / 2 else { return }
        let isDue = queue.withLock { queue in
            guard queue.spares.isEmpty, !queue.isPreparing, room < queue.roomForNextPreparation
            else { return false }
            queue.isPreparing = true
            return true
        }
        guard isDue, !isUsingReserve.load(ordering: .relaxed) else { return }
        inBackground {
            let spare = try? self.prepareSpare()
            self.queue.withLock { queue in
                queue.isPreparing = false
                if let spare { queue.keep(spare) } else { queue.roomForNextPreparation = room / 2 }
            }
        }
    }

    /// Gives a finished segment its footer.
    ///
    /// If that fails the segment stays readable by its frames, and the next opening tries again.
    func seal(_ id: SegmentID) {
        guard let segment = manifest.manifest.segments.first(where: { $0.id == id }),
            let framesEnd = segment.framesEnd, segment.fileByteCount == nil
        else { return }
        let sealed = Result { () throws(LogError) in
            try SegmentFold.seal(
                segment,
                framesEnd: framesEnd,
                store: store,
                in: folder,
                fileSystem: environment.fileSystem
            )
        }
        guard case .success(let fileByteCount) = sealed else { return }
        do throws(LogError) {
            try manifest.append([.sealed(id, fileByteCount: fileByteCount)])
            files.update { segments in
                guard let index = segments.firstIndex(where: { $0.id == id }) else { return }
                segments[index].isSealed = true
                segments[index].reader = nil
            }
            growReserve()
            onFinished()
        } catch {
            // A manifest that could not be synced must not be written again: its end is unknown.
            fail(error)
        }
    }

    /// Seals, in the background, what an earlier stop left without a footer.
    ///
    /// Left to the caller, since opening has more urgent things to do with the disk.
    package func sealLeftovers() {
        for segment in manifest.manifest.segments
        where segment.last != nil && segment.fileByteCount == nil {
            inBackground { self.seal(segment.id) }
        }
    }
}

extension SpareSegment {
    /// Writes the header, gives the file its name, and makes both durable.
    func becomeSegment(
        _ id: SegmentID,
        incarnation: Incarnation,
        in folder: StoreFolder,
        environment: LogEnvironment
    ) throws(LogError) -> SegmentReader {
        var header = template
        header.first = id.first
        header.generation = id.generation
        header.incarnation = incarnation
        header.created = environment.now()
        let bytes = header.encoded()
        let fileSystem = environment.fileSystem
        let opened = try LogError.wrapping { () throws(FileError) -> any LogFile in
            try file.write(bytes.span.bytes, at: 0)
            try file.sync()
            try fileSystem.rename(path, to: folder.segment(id))
            try fileSystem.syncDirectory(folder.segments)
            return try fileSystem.open(folder.segment(id), .readWrite)
        }
        return SegmentReader(
            id: id,
            file: opened,
            header: header,
            dictionary: dictionary,
            blocks: []
        )
    }
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
