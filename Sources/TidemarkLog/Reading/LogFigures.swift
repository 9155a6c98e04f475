// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// What a log comes to: its segments one by one, and the files around them.
package struct LogFigures: Hashable, Codable, Sendable {
    /// In the order of the log.
    package var segments: [SegmentFigures] = []
    /// Bytes in use outside of segments: `CURRENT`, `LOCK` and manifests.
    package var otherByteCount: UInt64 = 0
    /// Bytes that are allocated and hold nothing yet: the rest of the segment that takes events, of
    /// those not sealed yet and of the manifest, and segments prepared ahead.
    package var spareByteCount: UInt64 = 0

    /// Bytes in use, views aside.
    package var byteCount: UInt64 { segments.reduce(otherByteCount) { $0 + $1.byteCount } }

    package var eventCount: UInt64 { segments.reduce(0) { $0 + $1.eventCount } }

    package var commitCount: UInt64 { segments.reduce(0) { $0 + $1.commitCount } }

    /// Bytes of all commits and events before compression.
    package var rawByteCount: UInt64 { segments.reduce(0) { $0 + $1.rawByteCount } }
}

/// What one segment comes to.
package struct SegmentFigures: Hashable, Codable, Sendable {
    /// Where a segment is on its way.
    package enum State: String, Codable, Sendable {
        /// It takes events.
        case active
        /// It takes no more events, and has no footer yet.
        case ended
        /// It has its footer and never changes again.
        case sealed
        /// Too damaged to be read at all.
        case unreadable
    }

    package var id: SegmentID
    package var incarnation: Incarnation
    package var state: State
    /// The last position it covers; one less than its first if it covers none.
    package var last: SequenceNumber
    /// Bytes of its file that are in use.
    package var byteCount: UInt64 = 0
    /// Bytes of its file that hold nothing yet.
    package var spareByteCount: UInt64 = 0
    package var eventCount: UInt64 = 0
    package var commitCount: UInt64 = 0
    /// Bytes of its commits and events before compression.
    package var rawByteCount: UInt64 = 0
    /// Set if the segment was begun by an opening after an unclean stop.
    package var recovery: RecoveryEntry?
}

/// What an opening after an unclean stop has written down.
package struct RecoveryEntry: Hashable, Codable, Sendable {
    /// Bytes that were cut off the segment before, none of them acknowledged; mostly zero.
    package var discardedByteCount: UInt64
    /// Where in that segment they began; zero if there were none.
    package var discardedOffset: UInt64
}

extension LogReader {
    /// Adds up what the log holds, as of the last look at it.
    ///
    /// Two small reads for each sealed segment; one without a footer is walked and decoded. Damage
    /// is noted as in any other reading, and what cannot be read is not counted.
    package func figures() throws(LogError) -> LogFigures {
        for _ in 0..<Self.lookLimit {
            var found: [LogError] = []
            let figures = try figures { found.append($0) }
            if found.isEmpty { return figures }
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

    /// What the segment's first frame says, if that is one of recovery.
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

    /// Where the last frame of a file ends that can be found.
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

    /// Where a manifest's frames end; `nil` for one that cannot be read.
    private func manifestByteCount(_ path: String) throws(LogError) -> UInt64? {
        guard let file = try? fileSystem.open(path, .read),
            let header = try? FileHeader.read(from: file, kind: .manifest)
        else { return nil }
        return try framesEnd(of: file, header, limit: nil)
    }

    private func names(in directory: String) throws(LogError) -> [String] {
        try LogError.wrapping { () throws(FileError) in try fileSystem.list(directory) }
    }

    /// The length of a file; 0 for one that a writer has removed meanwhile.
    private func byteCount(of path: String) throws(LogError) -> UInt64 {
        try LogError.wrapping { () throws(FileError) in
            do throws(FileError) {
                return try fileSystem.open(path, .read).byteCount()
            } catch {
                if error.isMissing { return 0 }
                throw error
            }
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
