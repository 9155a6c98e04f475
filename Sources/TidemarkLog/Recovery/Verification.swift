// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The result of a complete check of a log.
package struct Verification: Sendable {
    /// All damage, in log order; empty for a sound log.
    package var damage: [LogError] = []
    package var segmentCount = 0
    package var eventCount: UInt64 = 0
    package var commitCount: UInt64 = 0
    /// The sum of all events' hashes.
    package var eventHash = EventHash()
    /// The number of bytes after the last sound frame that the next writer will discard.
    package var tornByteCount: UInt64 = 0
}

extension LogReader {
    /// Checks every byte that the log relies on, with the code that opening and reading use.
    ///
    /// Headers, dictionaries, frames, blocks, footers and the chain between segments are read and
    /// compared; each finding contains file and offset. `visit` is called with the sound events, in
    /// order. O(bytes of the log).
    package func verify(_ visit: (LogEvent) -> Void = { _ in }) throws(LogError) -> Verification {
        var result = Verification()
        result.damage = damage
        let manifest = manifest
        var expected: SequenceNumber?
        for (index, segment) in manifest.segments.enumerated() {
            try LongWork.step(index, of: manifest.segments.count)
            result.segmentCount += 1
            do throws(LogError) {
                if let expected, segment.id.first != expected {
                    throw LogError(
                        .corrupted,
                        "The segment begins with event \(segment.id.first); the one before it "
                            + "ends before event \(expected). Restore the segments between them from a "
                            + "backup.",
                        path: folder.segment(segment.id)
                    )
                }
                try verify(segment, into: &result, visit)
            } catch {
                if !result.damage.contains(error) { result.damage.append(error) }
            }
            // Also after damage within the segment: the manifest says where the next one begins.
            expected = segment.last?.next
        }
        result.tornByteCount = tornByteCount
        return result
    }

    private func verify(
        _ segment: Manifest.Segment,
        into result: inout Verification,
        _ visit: (LogEvent) -> Void
    ) throws(LogError) {
        let (file, header) = try SegmentReader.open(
            segment.id,
            store: store,
            in: folder,
            fileSystem: fileSystem
        )
        var fold = try SegmentFold(file, header: header)
        defer {
            result.eventCount += fold.summary.eventCount
            result.commitCount += fold.summary.commitCount
            result.eventHash.add(fold.summary.eventHash)
        }
        let damageCount = result.damage.count
        func meet(_ error: LogError) {
            if !result.damage.contains(error) { result.damage.append(error) }
        }
        guard let framesEnd = segment.framesEnd else {
            return try fold.walkActive(through: durableSequence, meet: meet, visit: visit)
        }
        try fold.walk(framesEnd: framesEnd, meet: meet, visit: visit)
        // With unreadable frames, the computed footer differs for a reason that has been reported.
        guard segment.fileByteCount != nil, result.damage.count == damageCount else { return }
        let stored = try SegmentReader.footer(of: file, header: header)
        let computed = fold.footer()
        guard stored.directory == computed.directory, stored.postings == computed.postings,
            stored.summary.matches(computed.summary)
        else {
            throw LogError(
                .corrupted,
                "The footer does not describe the frames before it, although its checksums are "
                    + "right. `tidemark log salvage` reads the frames.",
                path: file.path,
                offset: framesEnd
            )
        }
    }
}

extension Footer.Summary {
    /// Returns true if two summaries describe the same events; checksums and offsets are ignored.
    func matches(_ other: Footer.Summary) -> Bool {
        first == other.first && last == other.last && eventCount == other.eventCount
            && commitCount == other.commitCount && firstTime == other.firstTime
            && lastTime == other.lastTime && firstReceived == other.firstReceived
            && lastReceived == other.lastReceived && eventHash == other.eventHash
            && rawByteCount == other.rawByteCount
    }
}
