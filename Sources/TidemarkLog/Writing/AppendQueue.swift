// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The accepted commits that are not on disk yet: a pure state machine, driven by `SegmentLog`.
///
/// Invariants:
/// - positions given out are dense: `lastSequence` grows by each commit's events;
/// - `room` never promises more bytes than the segment that the open batch goes to can take;
/// - at most one caller writes at a time (`isWriting`).
struct AppendQueue {
    /// Commits that will be written and synced as one frame.
    struct Batch: Sendable {
        var builder: FrameBuilder
        /// The maximum number of bytes that the frame can take.
        var bound = 0
        /// The segment that the frame begins, if it begins one.
        var spare: SpareSegment?
        /// Identifies the segment, so that unused room is returned to the right one.
        var segmentNumber: UInt64
    }

    /// The number of bytes reserved in every segment for its recovery frame and its closing frame.
    static let reserveByteCount = 256

    private(set) var lastSequence: SequenceNumber
    private(set) var lastTime: Int64
    /// The end of the writer; no commit can be appended after it.
    private var ending: Ending?
    /// True if no more commits are accepted, while accepted ones are still being written.
    private(set) var isClosing = false
    /// The watermark: everything up to here is on disk.
    private(set) var durable: SequenceNumber
    private(set) var isWriting = false
    /// True while a batch with commits is being written.
    private var isWritingCommits = false
    /// True if no marker follows the last frame.
    private var lacksMarker = false
    private var closed: [Batch] = []
    private var open: Batch?
    /// Bytes that the segment of the open batch can still take.
    private(set) var room: Int
    private(set) var segmentNumber: UInt64 = 0
    /// Compresses the frames of that segment.
    private(set) var compressor: FrameCompressor
    private(set) var spares: [SpareSegment] = []
    /// True while a spare segment is being prepared.
    var isPreparing = false
    /// The remaining room below which the next part of a spare segment is prepared, or preparing is
    /// retried after a failure.
    var roomForNextPreparation = Int.max
    private var waiters: [Waiter] = []
    /// True if the last frame held one commit that at most one caller waited for.
    private var wasAlone = true

    /// The error that ended the writer.
    ///
    /// A class, because every commit asks several times whether there is one.
    private final class Ending: Sendable {
        let error: LogError

        init(_ error: LogError) {
            self.error = error
        }
    }

    /// A caller that waits for a position to become durable.
    struct Waiter: Sendable {
        var sequence: SequenceNumber
        var resume: @Sendable (LogError?) -> Void
    }

    init(
        lastSequence: SequenceNumber,
        lastTime: Int64,
        room: Int,
        compressor: FrameCompressor
    ) {
        self.compressor = compressor
        self.lastSequence = lastSequence
        self.lastTime = lastTime
        durable = lastSequence
        // A recovery frame takes 128 bytes (header, table entry, two numbers), a closing frame 80.
        self.room = max(0, room - Self.reserveByteCount)
    }

    /// The error that ended the writer; `nil` while it works.
    var failure: LogError? { ending?.error }

    // MARK: Accepting

    /// Returns true if a commit of at most `bound` bytes needs a segment that is not prepared.
    func lacksRoom(for bound: Int) -> Bool {
        // The same comparison as in `startSegment`, which ends the process if no spare fits.
        bound > room && !spares.contains { $0.room - Self.reserveByteCount >= bound }
    }

    /// Stores a prepared segment.
    mutating func keep(_ spare: SpareSegment) {
        spares.append(spare)
    }

    /// Frees memory of prepared segments that is made again when they begin.
    mutating func shrinkSpares() {
        for index in spares.indices { spares[index].compressor = nil }
    }

    /// Stores a prepared segment as the very next one.
    mutating func keepFirst(_ spare: SpareSegment) {
        spares.insert(spare, at: 0)
    }

    /// Accepts a commit, for which there is room, and returns its first position.
    mutating func append(
        _ draft: borrowing CommitDraft,
        bound: Int,
        beginsSegment: Bool
    ) -> SequenceNumber {
        // `bound` is an upper limit before compression, so a segment can end while it has room.
        // `wrote` returns the difference, and the next commits use it.
        if bound > room || beginsSegment { startSegment(with: bound) }
        let first = lastSequence.next
        // Taken, so that the batch has one owner from here on. If the property kept it too, each
        // append would copy the batch's bytes.
        var batch =
            open.take() ?? Batch(builder: FrameBuilder(first: first), segmentNumber: segmentNumber)
        if batch.builder.isEmpty, let builder = draft.earlyFrame(at: first) {
            batch.builder = builder
        } else {
            batch.builder.append(draft)
            draft.leaveEarlyFrame()
        }
        room -= bound
        batch.bound += bound
        lastSequence = batch.builder.last
        lastTime = draft.time
        if batch.builder.isFull {
            closed.append(batch)
        } else {
            open = batch
        }
        return first
    }

    /// Skips positions without events; only salvage calls this.
    mutating func appendGap(_ gapCount: UInt32) {
        var batch =
            open
            ?? Batch(
                builder: FrameBuilder(first: lastSequence.next),
                segmentNumber: segmentNumber
            )
        batch.builder.appendGap(gapCount)
        // At most 6 bytes for the gap and 32 for the table entry of a block that begins with it.
        // The commit that follows counts the frame's header. If `room` becomes negative, the next
        // commit begins a segment, and the gap fits into the segment's reserve.
        batch.bound += 64
        room -= 64
        lastSequence = batch.builder.last
        if batch.builder.isFull {
            closed.append(batch)
            open = nil
        } else {
            open = batch
        }
    }

    private mutating func startSegment(with bound: Int) {
        guard
            let index = spares.firstIndex(where: { $0.room - Self.reserveByteCount >= bound })
        else { preconditionFailure("a commit was accepted without room for it") }
        // This batch still belongs to the old segment. `takeBatch` takes closed batches first, so
        // its frame is written before the new segment begins.
        if let batch = open { closed.append(batch) }
        var spare = spares.remove(at: index)
        segmentNumber += 1
        roomForNextPreparation = .max
        room = spare.room - Self.reserveByteCount
        compressor = spare.compressor ?? FrameCompressor(dictionary: spare.dictionary)
        spare.compressor = compressor
        open = Batch(
            builder: FrameBuilder(first: lastSequence.next),
            spare: spare,
            segmentNumber: segmentNumber
        )
    }

    /// Begins the prepared segment if nothing waits, and the active one has no room for another
    /// commit of `bound` bytes.
    ///
    /// Otherwise the next commit would wait for three more syncs.
    private mutating func beginAhead(of bound: Int) {
        guard ending == nil, !isClosing, open == nil, closed.isEmpty, bound > room,
            !lacksRoom(for: bound)
        else { return }
        startSegment(with: bound)
    }

    /// The spare segments that no batch has begun.
    var unusedSpares: [SpareSegment] {
        spares + (closed + [open].compactMap(\.self)).compactMap(\.spare)
    }

    /// True if no commit is written or waits for it, and the last caller was alone.
    var isIdle: Bool {
        wasAlone && !isWritingCommits && closed.isEmpty && open?.builder.isEmpty ?? true
    }

    // MARK: Writing

    /// Returns true if the caller must start writing and call `takeBatch` until it returns `nil`.
    mutating func startWriting() -> Bool {
        // The flag and the batches change under one lock. Otherwise two threads could write to one
        // offset, or a commit could wait without a writer.
        guard !isWriting, ending == nil, open != nil || !closed.isEmpty else { return false }
        isWriting = true
        return true
    }

    /// True if there is one commit to write, of a caller that is probably the only one.
    ///
    /// After a frame of many callers, the first of them to come back is not alone: the others are
    /// about to append, and its commit shares a sync with theirs if the writer's thread is woken.
    var isAlone: Bool { wasAlone && closed.isEmpty && open?.builder.commitCount == 1 }

    /// Ends the writing if there is nothing to write; returns false if there is.
    mutating func endWritingIfIdle() -> Bool {
        guard ending != nil || open == nil && closed.isEmpty else { return false }
        isWriting = false
        return true
    }

    /// Returns the next batch to write, or `nil` if there is none, which ends the writing.
    mutating func takeBatch() -> Batch? {
        // After a failed write or sync, the end of the file is unknown, so accepted batches stay
        // unwritten. Their callers have the error.
        if ending == nil {
            if let batch = closed.isEmpty ? open.take() : closed.removeFirst() {
                isWritingCommits = !batch.builder.isEmpty
                return batch
            }
        }
        isWriting = false
        return nil
    }

    /// Reserves the room of a marker frame if the writer is idle, a marker is missing and there is
    /// room.
    mutating func takeMarkerRoom() -> Bool {
        // If commits wait or are written, their frames will say that the earlier ones are on disk.
        // If there is no room, the next segment's manifest edit or the closing frame says it.
        guard lacksMarker, !isWriting, ending == nil, open == nil, closed.isEmpty,
            room >= Layout.frameHeaderByteCount
        else { return false }
        room -= Layout.frameHeaderByteCount
        // The caller writes the marker as the only writer, so this has to set `isWriting` under the
        // same lock.
        lacksMarker = false
        isWriting = true
        return true
    }

    /// Records that a batch is on disk, and returns the callers that waited for it.
    mutating func wrote(
        through last: SequenceNumber,
        commitCount: Int,
        byteCount: Int,
        bound: Int,
        segmentNumber: UInt64
    ) -> [Waiter] {
        // `bound` was computed before compression. The unused rest is room again, but only in the
        // segment that the frame went to.
        if segmentNumber == self.segmentNumber { room += bound - byteCount }
        isWritingCommits = false
        lacksMarker = true
        durable = last
        // `waiters` has the callers of this frame here, and those of commits that were appended
        // meanwhile.
        wasAlone = commitCount == 1 && waiters.count <= 1
        let ready = waiters.filter { $0.sequence <= last }
        waiters.removeAll { $0.sequence <= last }
        beginAhead(of: bound / max(commitCount, 1))
        return ready
    }

    // MARK: Waiting and ending

    /// Accepts no more commits and continues to write accepted ones; returns the final last
    /// position.
    mutating func refuseCommits() -> SequenceNumber {
        isClosing = true
        return lastSequence
    }

    /// Adds a waiting caller; returns `false`, without adding it, if its wait is over.
    mutating func wait(_ waiter: Waiter) -> Bool {
        // Under the lock under which `wrote` and `fail` take the waiters. A caller is therefore
        // never added after the call that would have resumed it.
        guard ending == nil, waiter.sequence > durable else { return false }
        waiters.append(waiter)
        return true
    }

    /// Ends the writer permanently, and returns all waiting callers.
    mutating func fail(_ error: LogError) -> [Waiter] {
        if ending == nil { ending = Ending(error) }
        defer { waiters = [] }
        return waiters
    }
}
