// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Dispatch

// Batches become durable here, by one writer at a time.
extension SegmentLog {
    /// Writes batches until there are none.
    ///
    /// Only one thread at a time runs this (`isWriting`).
    func drain() {
        while let batch = queue.withLock({ $0.takeBatch() }) { write(batch) }
        scheduleMarker()
    }

    /// Writes one batch, and leaves those that were appended meanwhile to the writer's thread.
    ///
    /// Only the thread that started writing calls this.
    func writeOnce() {
        if let batch = queue.withLock({ $0.takeBatch() }) { write(batch) }
        // The check and the reset of `isWriting` happen under one lock. A commit that is appended
        // later therefore finds no writer, and starts one.
        if queue.withLock({ $0.endWritingIfIdle() }) {
            scheduleMarker()
        } else {
            drainLater()
        }
    }

    /// Has the writer's thread write what waits.
    func drainLater() {
        // In a group, because closing waits for a segment that is begun ahead.
        writer.async(group: writerWork) { self.drain() }
    }

    private func write(_ batch: AppendQueue.Batch) {
        if batch.builder.isEmpty { return beginAhead(batch) }
        let tell = environment.observeSync?()
        let outcome = callerWrites.timing {
            disk.withLock { disk in
                Result<Written, LogError> { () throws(LogError) in try write(batch, to: &disk) }
            }
        }
        if let tell { tell(outcome.map(frame)) }
        switch outcome {
        case .success(let written):
            publish(written)
            // After the callers continue, since none of them waits for the footer.
            if !written.isInFooter { disk.withLock { $0.active.addToFooter(written.frame) } }
        case .failure(let error): fail(error)
        }
    }

    private struct Written {
        var eventCount: Int
        var byteCount: Int
        var bound: Int
        var segmentNumber: UInt64
        var frame: WrittenFrame
        /// True if the segment's footer has the frame already.
        var isInFooter: Bool
    }

    private func write(
        _ batch: AppendQueue.Batch,
        to disk: inout Disk
    ) throws(LogError) -> Written {
        // After the lock of the store was released, the segment may be another writer's.
        if disk.isClosed { throw LogError.closed }
        // First, because `disk.active` is the segment of this batch only after that.
        if let spare = batch.spare { try begin(spare, first: batch.builder.first, &disk) }
        let start = disk.active.offset
        let eventCount = batch.builder.positionCount
        let bound = batch.bound
        let segmentNumber = batch.segmentNumber
        let frame = try disk.active.write(batch.builder)
        // The only caller of a large commit writes it and waits for the footer too, unless another
        // thread adds to that meanwhile. Several callers do not: they continue before it.
        let isShared =
            configuration.durability == .full && frame.commitCount == 1
            && frame.blocks.count >= FrameCompressor.sharedBlockCount
            && !environment.writesInline
        if isShared {
            try disk.active.sync(addingToFooter: frame)
        } else if configuration.durability == .full {
            try disk.active.sync()
        }
        // After the sync: if that fails, no reader finds the blocks of the frame.
        disk.active.reader.add(frame.blocks)
        disk.allowSealing()
        prepareSpareIfDue(disk.active, bound: bound)
        return Written(
            eventCount: eventCount,
            byteCount: Int(disk.active.offset - start),
            bound: bound,
            segmentNumber: segmentNumber,
            frame: frame,
            isInFooter: isShared
        )
    }

    /// Returns the description of a frame for observers.
    private func frame(_ written: Written) -> SyncedFrame {
        SyncedFrame(
            commitCount: written.frame.commitCount,
            eventCount: written.eventCount,
            byteCount: written.byteCount,
            queuedEventCount: Int(lastSequence.rawValue - written.frame.last.rawValue)
        )
    }

    private func publish(_ written: Written) {
        // Pairs with the load of `durableSequence`: a thread that reads the position also sees the
        // blocks that were added before it.
        watermark.store(written.frame.last.rawValue, ordering: .releasing)
        onDurable(written.frame.last)
        // The queue's own position moves after `onDurable`: `isPublished` reads it, and promises
        // that `onDurable` has returned.
        let ready = queue.withLock {
            $0.wrote(
                through: written.frame.last,
                commitCount: written.frame.commitCount,
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

    /// Begins a segment for later commits.
    private func beginAhead(_ batch: AppendQueue.Batch) {
        guard let spare = batch.spare else { return }
        let outcome = disk.withLock { disk in
            Result<Void, LogError> { () throws(LogError) in
                // After the lock of the store was released, the spare may be another writer's.
                guard !disk.isClosed else { return }
                try begin(spare, first: batch.builder.first, &disk)
            }
        }
        if case .failure(let error) = outcome { fail(error) }
    }

    /// Ends the active segment and begins the next one, durably, before any frame goes into it.
    ///
    /// If a segment has no room for its very first commit, one of the next generation replaces it.
    private func begin(
        _ spare: SpareSegment,
        first: SequenceNumber,
        _ disk: inout Disk
    ) throws(LogError) {
        let ended = disk.active.id
        let framesEnd = disk.active.offset
        // The manifest is about to vouch for these frames, and a marker among them is not synced.
        if configuration.durability == .full { try disk.active.makeDurable() }
        let last = first.previous
        let incarnation = line.current
        let isEmpty = ended.first == first
        let recovery = disk.active.recovery
        let built = disk.active.built
        // After a failure from here on, the writer ends. The new file holds no commits, so the next
        // open removes it as an orphan, or a manifest names it.
        let reader = try spare.becomeSegment(
            SegmentID(first: first, generation: isEmpty ? ended.generation + 1 : 0),
            incarnation: incarnation,
            in: folder,
            environment: environment
        )
        // The file has its header and its final name on disk before the manifest names it. A
        // manifest that named a missing file would be corruption.
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
            compressor: spare.compressor,
            offset: UInt64(reader.header.framesOffset),
            chain: reader.header.chain,
            // Frames without commits repeat these times. An open takes them from the last frame
            // alone.
            lastTime: disk.active.lastTime,
            lastReceived: disk.active.lastReceived
        )
        // The record of the unclean stop was in the replaced segment, whose file the next open
        // removes.
        if isEmpty, let recovery {
            try disk.active.write(.recovery, next: first, payload: recovery)
        }
        if isEmpty {
            // Otherwise the next open removes the file. In the background, under the lock that this function
            // has: a compaction may be giving segments their names, which no manifest has yet.
            let isInline = environment.writesInline
            return inBackground {
                _ = try? isInline ? self.removeReplacedSegmentsNow() : self.removeReplacedSegments()
            }
        }
        // Sealing syncs files. After the next frame, it does that while a commit is decided, and a caller's
        // sync does not wait for the disk as well.
        let sealing = DispatchSemaphore(value: 0)
        disk.sealing = sealing
        let waits = !environment.writesInline
        inBackground {
            if waits { _ = sealing.wait(timeout: .now() + Self.idleDelay) }
            self.seal(ended, built)
        }
    }

    // MARK: The idle marker

    /// The time that the writer waits for more work before it vouches for the last frame.
    private static let idleDelay = DispatchTimeInterval.milliseconds(20)

    private func scheduleMarker() {
        guard !environment.writesInline, !markerIsDue.exchange(true, ordering: .relaxed) else {
            return
        }
        let seen = durableSequence
        writer.asyncAfter(deadline: .now() + Self.idleDelay) { [weak self] in
            guard let self else { return }
            markerIsDue.store(false, ordering: .relaxed)
            // If frames were written meanwhile, each vouches for those before it by its synced
            // position. Only the last frame of all needs a marker.
            if durableSequence == seen { vouch() } else { scheduleMarker() }
        }
    }

    /// Lets other processes read what is durable, before the writer has been idle for some time.
    ///
    /// Does nothing while commits are written: their frames do it.
    package func letOthersRead() async {
        guard !environment.writesInline else { return }
        await withCheckedContinuation { continuation in
            // On this queue, because frames of commits that arrive meanwhile are written and synced.
            writer.async {
                self.vouch()
                continuation.resume()
            }
        }
    }

    /// Writes the marker frame that lets other processes read up to the watermark, unless it
    /// exists.
    ///
    /// The marker is not synced: it is a hint for readers and evidence for recovery. If writing it
    /// fails, the writer ends, as after every failed write.
    func vouch() {
        // On success, this thread is the writer until `drain` finds nothing to write.
        guard queue.withLock({ $0.takeMarkerRoom() }) else { return }
        do throws(LogError) {
            try disk.withLock { (disk) throws(LogError) in
                guard !disk.isClosed else { return }
                let next = durableSequence.next
                try disk.active.vouch(next: next)
            }
        } catch {
            fail(error)
        }
        // Write the batches that arrived meanwhile.
        drain()
    }
}
