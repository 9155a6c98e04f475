// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Dispatch

// Room for commits is prepared ahead: the next segment before its first commit is appended. A
// finished segment gets its footer.
extension SegmentLog {
    func inBackground(_ work: @escaping @Sendable () -> Void) {
        if environment.writesInline { return work() }
        background.async(group: backgroundWork, execute: work)
    }

    /// The room for the next segment's frames: a part of what the log has so far, or a few commits
    /// as large as the largest, and little more than the active segment.
    ///
    /// Thereby little space is prepared, and the segment is prepared in time. The value is between
    /// the smallest and the configured size.
    private var nextRoom: Int {
        let log = Int(files.segments.reduce(UInt64(0)) { $0 + ($1.framesEnd ?? 0) })
        let active = Int(files.segments.last?.reader?.header.allocatedByteCount ?? 0)
        let wanted = max(
            (log + active) / Layout.segmentShareDivisor,
            2 * Layout.smallestSegmentByteCount,
            4 * largestBound.load(ordering: .relaxed)
        )
        let segment = configuration.segmentByteCount
        return max(
            min(wanted, log + active, 4 * active, segment),
            min(Layout.smallestSegmentByteCount, segment)
        )
    }

    func prepareSpare(
        for bound: Int = 0,
        room: Int = .max,
        isSampled: Bool = true
    ) throws(LogError) -> SpareSegment {
        largestBound.store(max(bound, largestBound.load(ordering: .relaxed)), ordering: .relaxed)
        let least = bound + AppendQueue.reserveByteCount
        if isSampled, let spare = finishPreparing(least: least) { return spare }
        var room = max(min(nextRoom, room), least)
        while true {
            do throws(LogError) {
                return try beginPreparing(room: room).finish(isSampled ? takeSample() : .init())
            } catch {
                // The size for which a nearly full disk still has space.
                let smaller = max(room / 2, least, Layout.smallestSegmentByteCount)
                guard error.code == .full, smaller < room else { throw error }
                room = smaller
            }
        }
    }

    /// Finishes the segment that is prepared in part; `nil` if there is none, it is too short, or
    /// that fails.
    private func finishPreparing(least: Int) -> SpareSegment? {
        guard let begun = preparation.withLock({ $0.take() })?.preparation else { return nil }
        if begun.room >= least, let spare = try? begun.finish(takeSample()) { return spare }
        begun.remove()
        return nil
    }

    private func beginPreparing(room: Int) throws(LogError) -> SparePreparation {
        // The manifest needs space for the edits of this segment too. Otherwise a full disk would
        // be found only when they are written, after a commit was accepted.
        try manifest.reserve()
        return SparePreparation(
            room: room,
            number: spareNumber.add(1, ordering: .relaxed).newValue,
            store: store,
            in: folder,
            environment: environment
        )
    }

    /// Samples the active segment for the dictionary of the next one.
    ///
    /// Without a sample blocks are longer. So a block that cannot be read must not stop commits.
    private func takeSample() -> DictionarySample {
        guard let reader = files.segments.last?.reader else { return DictionarySample() }
        return (try? .taken(from: reader)) ?? DictionarySample()
    }

    /// Prepares a part of the next segment in the background if one is due.
    ///
    /// Parts are due after frames once a quarter of the active segment is used, as often as makes
    /// them worth a sync. All is prepared when there is room for an eighth of the active segment and
    /// two more frames of `bound` bytes. After a failure, preparing is retried when half of the
    /// remaining room has been used. An append that then needs the segment tries too, and throws the
    /// error.
    func prepareSpareIfDue(_ active: borrowing ActiveSegment, bound: Int) {
        let allocated = Int(active.reader.header.allocatedByteCount)
        let room = active.room
        guard room < allocated * 3 / 4, !isUsingReserve.load(ordering: .relaxed) else { return }
        let isDue = queue.withLock { queue in
            guard queue.spares.isEmpty, !queue.isPreparing, room < queue.roomForNextPreparation
            else { return false }
            queue.isPreparing = true
            return true
        }
        guard isDue else { return }
        inBackground {
            let prepared = Result { () throws(LogError) in
                try self.prepareMore(room: room, last: allocated / 8 + 2 * bound)
            }
            self.queue.withLock { queue in
                queue.isPreparing = false
                switch prepared {
                case .success(.whole(let spare)): queue.keep(spare)
                case .success(.part(let next)): queue.roomForNextPreparation = next
                case .failure: queue.roomForNextPreparation = room / 2
                }
            }
        }
    }

    private enum Prepared {
        case whole(SpareSegment)
        /// The next part is due when the active segment has less room than this.
        case part(next: Int)
    }

    /// Prepares the share of the next segment that corresponds to what commits have used of the
    /// active one since the part before.
    private func prepareMore(room: Int, last: Int) throws(LogError) -> Prepared {
        let begun = preparation.withLock { $0.take() }
        do throws(LogError) {
            var preparation: SparePreparation
            if let begun {
                preparation = begun.preparation
            } else {
                preparation = try beginPreparing(room: nextRoom)
            }
            let used = Double((begun?.room ?? room) - room)
            let left = Double(max(room - last, 0))
            guard try preparation.fill(left == 0 ? 1 : used / (used + left)) else {
                let next = room - Int(left * preparation.leastShare)
                self.preparation.withLock { $0 = (preparation, room) }
                return .part(next: next)
            }
            return .whole(try preparation.finish(takeSample()))
        } catch {
            // A nearly full disk may have space for a shorter one.
            guard error.code == .full else { throw error }
            return .whole(try prepareSpare())
        }
    }

    /// Writes the footer of a finished segment; only called ``inBackground(_:)``.
    ///
    /// `built` is the footer that the writer has gathered, if it wrote the whole segment. After a
    /// failure, the segment stays readable by its frames, and the next open tries again.
    func seal(_ id: SegmentID, _ built: FooterBuilder? = nil) {
        // Sealing may have been requested twice, or the segment was empty and another one replaced
        // it.
        guard let segment = manifest.manifest.segments.first(where: { $0.id == id }),
            let framesEnd = segment.framesEnd, segment.fileByteCount == nil
        else { return }
        let sealed = Result { () throws(LogError) in
            try SegmentFold.seal(
                segment,
                framesEnd: framesEnd,
                built: built,
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
            // A manifest whose sync failed must not be written again: its end is unknown.
            fail(error)
        }
    }

    /// Seals, in the background, segments that an earlier stop or failure left without a footer.
    ///
    /// The caller decides when, since an open has more urgent work for the disk.
    package func sealLeftovers() {
        for segment in manifest.manifest.segments
        where segment.last != nil && segment.fileByteCount == nil {
            inBackground { self.seal(segment.id) }
        }
    }
}
