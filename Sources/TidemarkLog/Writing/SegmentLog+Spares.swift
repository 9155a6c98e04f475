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
        // The manifest needs space for the edits of this segment too. Otherwise a full disk would
        // be found only when they are written, after a commit was accepted.
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
                // The size for which a nearly full disk still has space.
                let smaller = max(room / 2, least, Layout.smallestSegmentByteCount)
                guard error.code == .full, smaller < room else { throw error }
                room = smaller
            }
        }
    }

    /// Prepares the next segment in the background once the active one is half full.
    ///
    /// After a failure, preparing is retried when half of the remaining room has been used. An
    /// append that then needs the segment tries too, and throws the error.
    func prepareSpareIfDue(_ active: borrowing ActiveSegment) {
        let allocated = Int(active.reader.header.allocatedByteCount)
        let room = active.room
        guard room < allocated / 2, !isUsingReserve.load(ordering: .relaxed) else { return }
        let isDue = queue.withLock { queue in
            guard queue.spares.isEmpty, !queue.isPreparing, room < queue.roomForNextPreparation
            else { return false }
            queue.isPreparing = true
            return true
        }
        guard isDue else { return }
        inBackground {
            let spare = try? self.prepareSpare()
            self.queue.withLock { queue in
                queue.isPreparing = false
                if let spare { queue.keep(spare) } else { queue.roomForNextPreparation = room / 2 }
            }
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
