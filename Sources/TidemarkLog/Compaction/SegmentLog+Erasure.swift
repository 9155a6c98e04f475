// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// A segment that will replace others, written and durable, under a temporary name.
package struct WrittenSegment: Sendable {
    /// The segments that it replaces.
    package let group: [SegmentLoad]
    /// The length of its file in bytes.
    package let byteCount: UInt64
    fileprivate let id: SegmentID
    fileprivate let incarnation: Incarnation
    fileprivate let framesEnd: UInt64
    fileprivate let path: String
}

extension LogEvent {
    /// Returns the same event with other bytes.
    package func replacing(payload: [UInt8], envelope: [UInt8]) -> LogEvent {
        let end = envelope.count + payload.count
        return LogEvent(
            sequence: sequence,
            zone: zone,
            commit: commit,
            block: envelope + payload,
            payload: envelope.count..<end,
            envelope: 0..<envelope.count
        )
    }
}

/// Rewriting a log for an erasure.
///
/// The whole log is rewritten, or nothing: every segment's dictionary is a sample of another
/// segment.
extension SegmentLog {
    /// Returns true if another process, or another opening in this one, reads the store.
    package func isRead() throws(LogError) -> Bool {
        if hasOlderReaders { return true }
        return try LogError.wrapping { () throws(FileError) in try !manifest.hasNoReaders() }
    }

    /// Rewrites all segments up to a position, without changing the log yet.
    ///
    /// `form` returns the new form of each event at the same position, or leaves the event out; it
    /// must return the same result if called again. The dictionaries are samples of the kept
    /// events. The events read are compared with the footers, and the new files are read back.
    ///
    /// `last` must be the end of a segment. Throws `full` if there is no space for a second log.
    /// After any failure, all new files are removed.
    package func writeAnew(
        through last: SequenceNumber,
        form: (LogEvent) throws(LogError) -> LogEvent?
    ) throws(LogError) -> [WrittenSegment] {
        var written: [WrittenSegment] = []
        do throws(LogError) {
            let loads = try finishedSegments(through: last)
            // `finishedSegments` stops before a segment that could not be sealed.
            guard loads.last?.last ?? .zero == last else {
                throw LogError(
                    .unreadable,
                    "The segment that ends at event \(last) could not be finished. Open the store "
                        + "again once the disk works.",
                    path: folder.segments
                )
            }
            let groups = groups(of: loads)
            // All edits are written in one frame at the end, after the whole log was rewritten.
            try manifest.reserve(editCount: 3 * groups.count)
            for group in groups { written.append(try write(group, form)) }
            return written
        } catch {
            discard(written)
            throw error
        }
    }

    /// Removes written segments that are not needed.
    package func discard(_ written: [WrittenSegment]) {
        // If this fails, the next open does it.
        for segment in written { try? environment.fileSystem.remove(segment.path) }
    }

    /// Groups of neighboring segments that become one segment each, none longer than the configured
    /// length.
    private func groups(of loads: [SegmentLoad]) -> [[SegmentLoad]] {
        var groups: [[SegmentLoad]] = []
        var byteCount: UInt64 = 0
        for load in loads {
            byteCount += load.byteCount
            if groups.isEmpty || byteCount > UInt64(configuration.segmentByteCount) {
                groups.append([])
                byteCount = load.byteCount
            }
            groups[groups.count - 1].append(load)
        }
        return groups
    }

    private func write(
        _ group: [SegmentLoad],
        _ form: (LogEvent) throws(LogError) -> LogEvent?
    ) throws(LogError) -> WrittenSegment {
        let (id, incarnation, last) = successor(of: group)
        let path = folder.spare(environment.random())
        do throws(LogError) {
            var output = try CompactedSegment(
                id,
                incarnation: incarnation,
                store: store,
                sample: try sample(of: group, id, form),
                groupsByZone: try isWorthGrouping(group),
                at: path,
                environment: environment
            )
            for load in group {
                var hash = EventHash()
                try visit(from: load.id.first, through: load.last) { (event) throws(LogError) in
                    hash.add(event)
                    if let event = try form(event) { _ = try output.append(event) }
                }
                try check(load, hash)
            }
            let place = try output.finish(through: last)
            return WrittenSegment(
                group: group,
                byteCount: place.fileByteCount,
                id: id,
                incarnation: incarnation,
                framesEnd: place.framesEnd,
                path: path
            )
        } catch {
            // Free the space at once; report only the first failure.
            try? environment.fileSystem.remove(path)
            throw error
        }
    }

    private func visit(
        from first: SequenceNumber,
        through last: SequenceNumber,
        _ body: (LogEvent) throws(LogError) -> Void
    ) throws(LogError) {
        var failure: LogError?
        try files.scan(from: first, through: last) { event in
            do throws(LogError) {
                try body(event)
                return true
            } catch {
                failure = error
                return false
            }
        }
        if let failure { throw failure }
    }

    /// Samples of the kept events of some segments, evenly spread.
    private func sample(
        of group: [SegmentLoad],
        _ id: SegmentID,
        _ form: (LogEvent) throws(LogError) -> LogEvent?
    ) throws(LogError) -> DictionarySample {
        var sample = DictionarySample(source: id)
        guard let first = group.first?.id.first.rawValue, let last = group.last?.last.rawValue
        else { return sample }
        let pieceCount: UInt64 = 32
        let pieceByteCount = Layout.dictionaryByteCount / Int(pieceCount)
        var piece: UInt64 = 0
        var room = 0
        var commit = SequenceNumber.zero
        try visit(from: id.first, through: SequenceNumber(rawValue: last)) {
            (event) throws(LogError) in
            if piece < pieceCount,
                event.sequence.rawValue - first >= piece * (last - first + 1) / pieceCount
            {
                piece += 1
                room = pieceByteCount
            }
            guard room > 0, let event = try form(event) else { return }
            // As in a block, which has the envelope once per commit.
            var bytes = commit == event.commit.first ? [] : Array(event.envelope)
            bytes.append(contentsOf: event.payload)
            commit = event.commit.first
            sample.bytes.append(contentsOf: bytes.prefix(room))
            room -= min(room, bytes.count)
        }
        return sample
    }

    /// Replaces segments with the written ones, all or nothing.
    package func replaceAll(with written: [WrittenSegment]) throws(LogError) {
        if written.isEmpty { return }
        let fileSystem = environment.fileSystem
        try whileOpen { () throws(LogError) in
            try LogError.wrapping { () throws(FileError) in
                for segment in written {
                    // After a crash between two renames, the manifest lists only the old segments.
                    // The new files sort before the active segment, so the next open removes them.
                    try fileSystem.rename(segment.path, to: folder.segment(segment.id))
                }
                try fileSystem.syncDirectory(folder.segments)
            }
            var edits: [ManifestEdit] = []
            for segment in written {
                guard let last = segment.group.last?.last else { continue }
                edits.append(.compacted(segment.id, segment.incarnation, last: last))
                edits.append(.ended(segment.id, last: last, framesEnd: segment.framesEnd))
                edits.append(.sealed(segment.id, fileByteCount: segment.byteCount))
            }
            do throws(LogError) {
                try manifest.append(edits)
            } catch {
                // A manifest whose sync failed must not be written again: its end is unknown.
                fail(error)
                throw error
            }
        }
        let replaced = Set(written.flatMap(\.group).map(\.id))
        files.update { segments in
            segments.removeAll { replaced.contains($0.id) }
            let fresh = written.map { segment in
                LogFiles.Segment(
                    id: segment.id,
                    last: segment.group.last?.last,
                    framesEnd: segment.framesEnd,
                    isSealed: true
                )
            }
            // The written segments begin with the log's first position, so they come before all
            // others.
            segments.insert(contentsOf: fresh, at: 0)
        }
    }
}

extension StoreFolder {
    /// Returns true if a segment has a dictionary.
    package func hasDictionary(
        _ id: SegmentID,
        of store: StoreID,
        _ fileSystem: any FileSystem
    ) throws(LogError) -> Bool {
        let (_, header) = try SegmentReader.open(
            id,
            store: store,
            in: self,
            fileSystem: fileSystem
        )
        return header.dictionary.storedByteCount > 0
    }
}
