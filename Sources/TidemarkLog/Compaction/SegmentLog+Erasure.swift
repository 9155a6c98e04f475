// Tidemark
// SPDX-License-Identifier: Apache-2.0

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
            for group in groups {
                let sample = try sample(of: group, form)
                let groupsByZone = try isWorthGrouping(group)
                let segment = try write(group, sample: sample, groupsByZone: groupsByZone) {
                    (event, output) throws(LogError) in
                    if let event = try form(event) { _ = try output.append(event) }
                }
                written.append(segment)
            }
            return written
        } catch {
            discard(written)
            throw error
        }
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

    /// Samples of the kept events of some segments, evenly spread.
    private func sample(
        of group: [SegmentLoad],
        _ form: (LogEvent) throws(LogError) -> LogEvent?
    ) throws(LogError) -> [UInt8] {
        var sample: [UInt8] = []
        guard let first = group.first?.id.first, let last = group.last?.last else { return sample }
        let positionCount = last.next - first
        let pieceCount: UInt64 = 32
        let pieceByteCount = Layout.dictionaryByteCount / Int(pieceCount)
        var piece: UInt64 = 0
        var room = 0
        var commit = SequenceNumber.zero
        try visit(from: first, through: last) { (event) throws(LogError) in
            if piece < pieceCount, event.sequence - first >= piece * positionCount / pieceCount {
                piece += 1
                room = pieceByteCount
            }
            guard room > 0, let event = try form(event) else { return }
            // As in a block, which has the envelope once per commit.
            var bytes = commit == event.commit.first ? [] : Array(event.envelope)
            bytes.append(contentsOf: event.payload)
            commit = event.commit.first
            sample.append(contentsOf: bytes.prefix(room))
            room -= min(room, bytes.count)
        }
        return sample
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
