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

/// Rewriting segments: first the new files, then their place in the log.
extension SegmentLog {
    /// Writes the segment that will replace neighboring ones, without changing the log yet.
    ///
    /// `append` adds the new form of each event, if it has one. The events read are compared with
    /// the footers, and the new file is read back. After any failure, the new file is removed.
    func write(
        _ group: [SegmentLoad],
        sample: [UInt8],
        groupsByZone: Bool,
        _ append: (LogEvent, inout CompactedSegment) throws(LogError) -> Void
    ) throws(LogError) -> WrittenSegment {
        let (id, incarnation, last) = successor(of: group)
        // A name of its own: if the log is closed meanwhile, the next writer creates spare segments
        // too.
        let path = folder.spare(environment.random())
        do throws(LogError) {
            var output = try CompactedSegment(
                id,
                incarnation: incarnation,
                store: store,
                // The new segment is the source of its own dictionary. An erasure that rewrites the
                // segment thereby replaces the dictionary too.
                sample: DictionarySample(bytes: sample, source: id),
                groupsByZone: groupsByZone,
                at: path,
                environment: environment
            )
            for load in group {
                var hash = EventHash()
                try visit(from: load.id.first, through: load.last) { (event) throws(LogError) in
                    hash.add(event)
                    try append(event, &output)
                }
                // After the copy, in the same read. If the events differ, the new file is
                // discarded, and the old segments stay the log.
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

    /// Returns the segment that will replace neighboring ones, and its last position.
    private func successor(
        of group: [SegmentLoad]
    ) -> (id: SegmentID, incarnation: Incarnation, last: SequenceNumber) {
        guard let start = group.first, let end = group.last,
            let first = manifest.manifest.segments.first(where: { $0.id == start.id })
        else { preconditionFailure("segments that are not of the log cannot be rewritten") }
        let id = SegmentID(first: start.id.first, generation: start.id.generation + 1)
        return (id, first.incarnation, end.last)
    }

    /// Visits the events of a range; the first error of a visit ends the walk, and is thrown.
    func visit(
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

    /// Compares the events read from a segment with the segment's footer.
    private func check(_ load: SegmentLoad, _ hash: EventHash) throws(LogError) {
        let (file, header) = try SegmentReader.open(
            load.id,
            store: store,
            in: folder,
            fileSystem: environment.fileSystem
        )
        let summary = try SegmentReader.footerSummary(of: file, header: header)
        guard summary.eventHash == hash else {
            throw LogError(
                .corrupted,
                "The events in the segment differ from those that its footer describes. The log is "
                    + "unchanged; run `tidemark log verify`.",
                path: file.path
            )
        }
    }

    /// Removes written segments that are not needed.
    package func discard(_ written: [WrittenSegment]) {
        // If this fails, the next open does it.
        for segment in written { try? environment.fileSystem.remove(segment.path) }
    }

    /// Replaces segments with the written ones, all or nothing.
    package func replaceAll(with written: [WrittenSegment]) throws(LogError) {
        if written.isEmpty { return }
        let fileSystem = environment.fileSystem
        // `whileOpen` holds the lock of `disk`, under which `close` ends the log. No other writer
        // can therefore open the store between the rename and the edit.
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
            // Readers switch after the edit is durable, and before anything else may remove the
            // old files, which stay until no process reads them.
            let replaced = Set(written.flatMap(\.group).map(\.id))
            files.update { segments in
                let fresh = written.map { segment in
                    LogFiles.Segment(
                        id: segment.id,
                        last: segment.group.last?.last,
                        framesEnd: segment.framesEnd,
                        isSealed: true
                    )
                }
                // Neighbors, which the written ones succeed at the same place.
                guard let start = segments.firstIndex(where: { replaced.contains($0.id) }) else {
                    return
                }
                segments.removeAll { replaced.contains($0.id) }
                segments.insert(contentsOf: fresh, at: start)
            }
        }
    }

    /// Lists the finished segments up to a position as compacted: they may lack events.
    func noteCompacted(through last: SequenceNumber) throws(LogError) {
        try manifest.append { manifest in
            manifest.segments.flatMap { segment -> [ManifestEdit] in
                guard let end = segment.last, end <= last, end >= segment.id.first else {
                    return []
                }
                var edits: [ManifestEdit] = [
                    .compacted(segment.id, segment.incarnation, last: end)
                ]
                if let framesEnd = segment.framesEnd {
                    edits.append(.ended(segment.id, last: end, framesEnd: framesEnd))
                }
                if let fileByteCount = segment.fileByteCount {
                    edits.append(.sealed(segment.id, fileByteCount: fileByteCount))
                }
                return edits
            }
        }
    }
}
