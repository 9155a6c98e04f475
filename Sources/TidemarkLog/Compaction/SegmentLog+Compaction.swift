// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The treatment of an event when its segment is rewritten.
package enum EventFate: Hashable, Sendable {
    case kept
    case dropped
    /// The event is dropped, and an event of the store itself takes its position.
    case replaced([UInt8])
}

/// A finished segment that a compaction examines, and the amount that it would keep.
package struct SegmentLoad: Hashable, Sendable {
    package let id: SegmentID
    /// The last position that the segment covers.
    package let last: SequenceNumber
    /// The length of the file in bytes.
    package let byteCount: UInt64
    /// True if a compaction wrote the segment.
    package let isCompacted: Bool
    /// The number of events in the segment.
    package var eventCount: UInt64 = 0
    /// The size of the events' payloads, in bytes.
    package var payloadByteCount: UInt64 = 0
    /// The number of events that are dropped or replaced.
    package var changedCount: UInt64 = 0
    /// The size of the payloads of those events, in bytes.
    package var changedByteCount: UInt64 = 0

    /// Creates a load of a segment of which no event has been counted yet.
    package init(id: SegmentID, last: SequenceNumber, byteCount: UInt64, isCompacted: Bool) {
        self.id = id
        self.last = last
        self.byteCount = byteCount
        self.isCompacted = isCompacted
    }

    /// Creates a load of a finished segment; `nil` for the one that takes events.
    fileprivate init?(_ segment: Manifest.Segment) {
        guard let last = segment.last, let framesEnd = segment.framesEnd else { return nil }
        self.init(
            id: segment.id,
            last: last,
            byteCount: segment.fileByteCount ?? framesEnd,
            isCompacted: segment.isCompacted
        )
    }

    /// Counts an event and its fate.
    package mutating func count(_ event: LogEvent, _ fate: EventFate) {
        let byteCount = UInt64(event.payloadRange.count)
        eventCount += 1
        payloadByteCount += byteCount
        guard fate != .kept else { return }
        changedCount += 1
        changedByteCount += byteCount
    }

    /// The approximate length of the file with only the kept events.
    package var expectedByteCount: UInt64 {
        guard payloadByteCount > 0 else { return 0 }
        let share = Double(payloadByteCount - changedByteCount) / Double(payloadByteCount)
        return UInt64(Double(byteCount) * share)
    }
}

extension SegmentLoad {
    /// Returns the groups of neighboring segments that are worth merging into one segment each,
    /// oldest first.
    ///
    /// A compacted segment that loses no events stays as it is, unless it is small. All others are
    /// rewritten, which makes them shorter even if no event is dropped.
    package static func rewrites(
        of loads: [SegmentLoad],
        segmentByteCount: Int
    ) -> [[SegmentLoad]] {
        let target = Layout.mergedByteCount(
            of: loads.reduce(0) { $0 + $1.byteCount },
            segmentByteCount: segmentByteCount
        )
        var groups: [[SegmentLoad]] = []
        var group: [SegmentLoad] = []
        var byteCount: UInt64 = 0
        func isSettled(_ load: SegmentLoad) -> Bool { load.isCompacted && load.changedCount == 0 }
        func endGroup() {
            if group.count > 1 || group.contains(where: { !isSettled($0) }) { groups.append(group) }
            group = []
            byteCount = 0
        }
        for load in loads {
            // Smaller ones are merged again. Otherwise many short compactions would leave as many
            // short segments.
            if isSettled(load), load.byteCount >= target / 4 {
                endGroup()
                continue
            }
            if !group.isEmpty, byteCount + load.expectedByteCount > target { endGroup() }
            group.append(load)
            byteCount += load.expectedByteCount
        }
        endGroup()
        return groups
    }
}

extension EventSource {
    /// Returns the current segments: the input of a compaction that begins now.
    package func segmentLoads() -> [SegmentLoad] {
        finishedManifest.segments.compactMap { SegmentLoad($0) }
    }
}

extension Manifest {
    /// Turns the segment that takes events, if there is one, into a finished one that ends at a
    /// position.
    mutating func finish(through last: SequenceNumber, framesEnd: UInt64) {
        closing = nil
        guard let active else { return }
        if last < active.id.first {
            segments.removeLast()
        } else {
            segments[segments.count - 1].last = last
            segments[segments.count - 1].framesEnd = framesEnd
        }
    }
}

/// The result of rewriting some segments.
package struct SegmentRewrite: Hashable, Sendable {
    /// The size of the old segments' files, in bytes.
    package var oldByteCount: UInt64
    /// The size of the new segment's file, in bytes.
    package var newByteCount: UInt64
}

extension SegmentLog {
    /// Returns the finished segments that lie before a position or end at it, oldest first, each
    /// with its footer.
    ///
    /// Waits for those that are being sealed.
    package func finishedSegments(
        through last: SequenceNumber
    ) throws(LogError) -> [SegmentLoad] {
        // In the background too, which does one thing at a time: the writer may finish a segment and
        // seal it meanwhile, and no segment may be sealed twice at once.
        sealLeftovers()
        backgroundWork.wait()
        var loads: [SegmentLoad] = []
        for segment in manifest.manifest.segments {
            // Rewriting proceeds in the order of the log, so a segment that could not be sealed
            // ends it.
            guard segment.fileByteCount != nil, let load = SegmentLoad(segment), load.last <= last
            else { break }
            loads.append(load)
        }
        return loads
    }

    package var finishedManifest: Manifest {
        var now = manifest.manifest
        // The file of a segment that takes events is longer than its content.
        now.finish(through: durableSequence, framesEnd: disk.withLock { $0.active.offset })
        return now
    }

    /// Returns the groups of neighboring segments that are worth merging, oldest first.
    package func rewrites(of loads: [SegmentLoad]) -> [[SegmentLoad]] {
        SegmentLoad.rewrites(of: loads, segmentByteCount: configuration.segmentByteCount)
    }

    /// Rewrites neighboring segments as one that holds only the kept events, and replaces them with
    /// it, all or nothing.
    ///
    /// `fate` is called once for every event, in log order, and must return the same result if it
    /// is called for the same segments again. Readers of the old segments continue with them.
    /// Before anything changes, the events read are compared with the old footers, and the new file
    /// is read back.
    ///
    /// `didWrite` is called after each frame, and may throw to end the rewrite.
    ///
    /// Throws `corrupted` for damage, `full`, `unreadable`, or `readOnly` if the log has been
    /// closed. The log is unchanged after an error.
    package func rewrite(
        _ group: [SegmentLoad],
        fate: (LogEvent) -> EventFate,
        didWrite: () throws(LogError) -> Void = {}
    ) throws(LogError) -> SegmentRewrite {
        // Before the work, so that a full disk is found here and not when the finished segment
        // is put in place.
        try manifest.reserve()
        let groupsByZone = try isWorthGrouping(group)
        let sample = try sample(of: group, groupsByZone: groupsByZone)
        let written = try write(group, sample: sample, groupsByZone: groupsByZone) {
            (event, output) throws(LogError) in
            var isWritten = false
            switch fate(event) {
            case .kept:
                isWritten = try output.append(event)
            case .dropped:
                break
            case .replaced(let payload):
                isWritten = try output.append(event, payload: payload)
            }
            if isWritten { try didWrite() }
        }
        do throws(LogError) {
            try replaceAll(with: [written])
        } catch {
            discard([written])
            throw error
        }
        return SegmentRewrite(
            oldByteCount: group.reduce(0) { $0 + $1.byteCount },
            newByteCount: written.byteCount
        )
    }

    /// Runs an operation that only the store's writer may do, and throws if the log has been
    /// closed, since another writer may exist then.
    func whileOpen<Result>(
        _ body: () throws(LogError) -> Result
    ) throws(LogError) -> Result {
        try disk.withLock { (disk) throws(LogError) in
            guard !disk.isClosed else {
                throw LogError(.readOnly, "The store has been closed; open it again to compact it.")
            }
            return try body()
        }
    }

    /// Returns true if some segments have events of several zones, and more events than fit into
    /// one block.
    ///
    /// Otherwise the rewritten segment cannot have stripes, and older versions can read it.
    func isWorthGrouping(_ group: [SegmentLoad]) throws(LogError) -> Bool {
        var zones: Set<ZoneKey> = []
        var byteCount = 0
        for load in group {
            guard let segment = files.segment(at: load.id.first),
                let reader = try files.reader(of: segment), let postings = reader.postings
            else { return true }
            // Two zones of each segment are enough to tell if the group has more than one zone.
            zones.formUnion(postings.zones.prefix(2).map(\.key))
            byteCount += reader.entries(0..<reader.blockCount)
                .reduce(0) { $0 + Int($1.rawByteCount) }
        }
        return zones.count > 1 && byteCount > Layout.compactedBlockByteCount
    }

    /// Pieces of the blocks of all segments of a group, for the dictionary of the one that replaces
    /// them.
    private func sample(
        of group: [SegmentLoad],
        groupsByZone: Bool
    ) throws(LogError) -> [UInt8] {
        let share = Layout.dictionaryByteCount / group.count
        var readers: [SegmentReader] = []
        for load in group {
            guard let segment = files.segment(at: load.id.first),
                let reader = try files.reader(of: segment)
            else { continue }
            readers.append(reader)
        }
        if groupsByZone { return try DictionarySample.scattered(over: readers) }
        var bytes: [UInt8] = []
        for reader in readers {
            bytes += try DictionarySample.taken(from: reader).bytes.prefix(share)
        }
        return bytes
    }

    /// Removes the files of replaced segments, unless another process may still read them; returns
    /// true if none are left.
    ///
    /// Remaining files are removed by the next call or the next open.
    package func removeReplacedSegments() throws(LogError) -> Bool {
        try whileOpen { () throws(LogError) in try removeReplacedSegmentsNow() }
    }

    /// Does the same for a caller that has the lock of `disk`.
    ///
    /// Without the lock, it would remove the segments that ``replaceAll(with:)`` has renamed, and whose edit
    /// of the manifest is not durable yet.
    func removeReplacedSegmentsNow() throws(LogError) -> Bool {
        let known = Set(manifest.manifest.segments.map(\.id))
        return try LogError.wrapping { () throws(FileError) in
            let fileSystem = environment.fileSystem
            // What comes after the newest may be about to become it. What was empty when the newest
            // began has the same first position, and a dictionary.
            let newest = known.max()
            let replaced = try fileSystem.list(folder.segments).compactMap(
                SegmentID.init(fileName:)
            )
            .filter { !known.contains($0) && $0 < newest ?? $0 }
            if replaced.isEmpty { return true }
            // Readers of an older manifest can still open any segment that it lists, long after
            // they began.
            guard !hasOlderReaders, try manifest.hasNoReaders() else { return false }
            for id in replaced {
                do throws(FileError) {
                    try fileSystem.remove(folder.segment(id))
                } catch {
                    // Another thread removes them too.
                    if !error.isMissing { throw error }
                }
            }
            try fileSystem.syncDirectory(folder.segments)
            return true
        }
    }
}
