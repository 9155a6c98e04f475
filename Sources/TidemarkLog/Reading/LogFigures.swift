// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The sizes of a log: of each segment, and of the other files.
package struct LogFigures: Hashable, Codable, Sendable {
    /// The segments in log order.
    package var segments: [SegmentFigures] = []
    /// The size of the files outside of segments, in bytes: `CURRENT`, `LOCK` and manifests.
    package var otherByteCount: UInt64 = 0
    /// The number of allocated bytes that are still empty.
    ///
    /// These are in the segment that takes events, in segments that are not sealed yet, in the
    /// manifest, and in segments that were prepared ahead.
    package var spareByteCount: UInt64 = 0

    /// The number of bytes in use, without views.
    package var byteCount: UInt64 { segments.reduce(otherByteCount) { $0 + $1.byteCount } }

    package var eventCount: UInt64 { segments.reduce(0) { $0 + $1.eventCount } }

    package var commitCount: UInt64 { segments.reduce(0) { $0 + $1.commitCount } }

    /// Bytes of all commits and events before compression.
    package var rawByteCount: UInt64 { segments.reduce(0) { $0 + $1.rawByteCount } }
}

/// The sizes of one segment.
package struct SegmentFigures: Hashable, Codable, Sendable {
    /// The state of a segment.
    package enum State: String, Codable, Sendable {
        /// The segment takes events.
        case active
        /// The segment takes no more events, and has no footer yet.
        case ended
        /// The segment has its footer and never changes again.
        case sealed
        /// The segment is too damaged to be read at all.
        case unreadable
    }

    package var id: SegmentID
    package var incarnation: Incarnation
    package var state: State
    /// The last position of the segment; one less than its first position if it is empty.
    package var last: SequenceNumber
    /// The number of bytes of its file that are in use.
    package var byteCount: UInt64 = 0
    /// The number of bytes of its file that are still empty.
    package var spareByteCount: UInt64 = 0
    package var eventCount: UInt64 = 0
    package var commitCount: UInt64 = 0
    /// The size of its commits and events before compression, in bytes.
    package var rawByteCount: UInt64 = 0
    /// The recovery entry, if the segment was begun by an open after an unclean stop.
    package var recovery: RecoveryEntry?
}

/// The record that an open after an unclean stop has written.
package struct RecoveryEntry: Hashable, Codable, Sendable {
    /// The number of bytes that were cut off the previous segment, none of them acknowledged;
    /// usually zero.
    package var discardedByteCount: UInt64
    /// The offset of those bytes in that segment; zero if there were none.
    package var discardedOffset: UInt64
}

extension LogReader {
    /// Returns the sizes of the log, as of the last refresh.
    ///
    /// This takes two small reads for each sealed segment; a segment without a footer is walked and
    /// decoded. Damage is recorded as in any other read, and unreadable parts are not counted.
    package func figures() throws(LogError) -> LogFigures {
        for _ in 0..<Self.lookLimit {
            var found: [LogError] = []
            let figures = try figures { found.append($0) }
            if found.isEmpty { return figures }
            // What looks like damage may be a file that a writer sealed or removed meanwhile. If
            // nothing has moved, it is damage.
            guard try hasMoved() else { break }
            _ = try refresh()
        }
        return try figures { (error) throws(LogError) in try files.meet(error) }
    }

    private func figures(meet: SegmentFold.Meeting) throws(LogError) -> LogFigures {
        var figures = LogFigures()
        for segment in manifest.segments {
            do throws(LogError) {
                figures.segments.append(try self.figures(of: segment, meet))
            } catch {
                try meet(error)
                figures.segments.append(unreadable(segment))
            }
        }
        figures.spareByteCount = figures.segments.reduce(0) { $0 + $1.spareByteCount }
        try addOtherFiles(to: &figures)
        return figures
    }

    private func unreadable(_ segment: Manifest.Segment) -> SegmentFigures {
        SegmentFigures(
            id: segment.id,
            incarnation: segment.incarnation,
            state: .unreadable,
            last: segment.last ?? segment.id.first.previous,
            byteCount: (try? byteCount(of: folder.segment(segment.id))) ?? 0
        )
    }

    private func figures(
        of segment: Manifest.Segment,
        _ meet: SegmentFold.Meeting
    ) throws(LogError) -> SegmentFigures {
        let (file, header) = try SegmentReader.open(
            segment.id,
            store: store,
            in: folder,
            fileSystem: fileSystem
        )
        let fileByteCount = try LogError.wrapping { () throws(FileError) in
            try file.byteCount()
        }
        var figures = SegmentFigures(
            id: segment.id,
            incarnation: segment.incarnation,
            state: segment.last == nil ? .active : .ended,
            last: segment.last ?? .zero
        )
        figures.recovery = try recoveryEntry(of: file, header)
        if segment.fileByteCount != nil {
            do throws(LogError) {
                let summary = try SegmentReader.footerSummary(of: file, header: header)
                figures.state = .sealed
                figures.byteCount = fileByteCount
                figures.add(summary)
                return figures
            } catch {
                try meet(error)
            }
        }
        var fold = try SegmentFold(file, header: header)
        let durable = durableSequence
        try fold.walkActive(
            through: segment.last ?? durable,
            meet: meet,
            visit: { _ in }
        )
        figures.add(fold.summary)
        figures.byteCount = try framesEnd(of: file, header, limit: segment.framesEnd)
        figures.spareByteCount = fileByteCount - min(figures.byteCount, fileByteCount)
        return figures
    }

    /// Returns the content of the segment's first frame if that is a recovery frame.
    private func recoveryEntry(
        of file: any LogFile,
        _ header: FileHeader
    ) throws(LogError) -> RecoveryEntry? {
        var scan = try FrameScan(file, header: header)
        guard case .frame(let frame) = try scan.step(), frame.header.kind == .recovery,
            let entry = frame.blocks.first
        else { return nil }
        let payload = try file.bytes(
            at: UInt64(entry.offset),
            byteCount: Int(entry.storedByteCount)
        )
        guard payload.count == 16 else { return nil }
        return RecoveryEntry(
            discardedByteCount: payload.span.bytes.integer(at: 0),
            discardedOffset: payload.span.bytes.integer(at: 8)
        )
    }

    /// Returns the end of the last frame of a file that can be found.
    private func framesEnd(
        of file: any LogFile,
        _ header: FileHeader,
        limit: UInt64?
    ) throws(LogError) -> UInt64 {
        var scan = try FrameScan(file, header: header, limit: limit)
        while true {
            guard case .stop(let stop) = try scan.step() else { continue }
            guard try scan.goOn(behind: stop).goesOn else { return scan.offset }
        }
    }

    private func addOtherFiles(to figures: inout LogFigures) throws(LogError) {
        for name in try names(in: folder.path) {
            let path = folder.path + "/" + name
            if name == "CURRENT" || name == "LOCK" {
                figures.otherByteCount += try byteCount(of: path)
            } else if path == folder.reserve {
                figures.spareByteCount += try byteCount(of: path)
            } else if StoreFolder.manifestNumber(name) != nil {
                let all = try byteCount(of: path)
                let used = min(all, try manifestByteCount(path) ?? all)
                figures.otherByteCount += used
                figures.spareByteCount += all - used
            }
        }
        for name in try names(in: folder.segments) where StoreFolder.isSpare(name) {
            figures.spareByteCount += try byteCount(of: folder.segments + "/" + name)
        }
    }

    /// Returns the end of a manifest's frames; `nil` if the manifest is unreadable.
    private func manifestByteCount(_ path: String) throws(LogError) -> UInt64? {
        guard let file = try? fileSystem.open(path, .read),
            let header = try? FileHeader.read(from: file, kind: .manifest)
        else { return nil }
        return try framesEnd(of: file, header, limit: nil)
    }

    private func names(in directory: String) throws(LogError) -> [String] {
        try LogError.wrapping { () throws(FileError) in try fileSystem.list(directory) }
    }

    /// Returns the length of a file; 0 if a writer has removed it meanwhile.
    private func byteCount(of path: String) throws(LogError) -> UInt64 {
        try LogError.wrapping { () throws(FileError) in
            try fileSystem.status(of: path)?.byteCount ?? 0
        }
    }
}

extension SegmentFigures {
    fileprivate mutating func add(_ summary: Footer.Summary) {
        last = summary.last
        eventCount = summary.eventCount
        commitCount = summary.commitCount
        rawByteCount = summary.rawByteCount
    }
}
