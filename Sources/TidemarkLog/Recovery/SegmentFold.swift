// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Computes a segment's footer from its frames, decoding every block and every event.
///
/// Sealing writes the result, verifying compares it, salvaging copies what it visits: one walk, so
/// that they cannot disagree.
struct SegmentFold {
    private(set) var summary: Footer.Summary
    private(set) var directory: [BlockEntry] = []
    private var postings = ZonePostings.Builder()
    private let file: any LogFile
    private let header: FileHeader
    private let dictionary: [UInt8]

    init(_ file: any LogFile, header: FileHeader) throws(LogError) {
        self.file = file
        self.header = header
        dictionary = try SegmentReader.dictionary(of: file, header: header)
        summary = Footer.Summary(offset: 0, first: header.first)
    }

    /// The footer of what has been walked.
    consuming func footer() -> Footer {
        Footer(summary: summary, directory: directory, postings: postings.postings())
    }

    /// Walks all frames up to where they end.
    ///
    /// Whatever is not sound ends the walk with an error.
    mutating func walk(
        framesEnd: UInt64,
        _ visit: (LogEvent) -> Void = { _ in }
    ) throws(LogError) {
        var scan = try FrameScan(file, header: header, limit: framesEnd)
        while true {
            switch try scan.step() {
            case .frame(let frame):
                try add(frame, of: &scan, visit)
            case .stop(.limit) where scan.offset == framesEnd:
                summary.offset = framesEnd
                return
            case .stop(let stop):
                if case .corrupted(let error) = try scan.tail(after: stop, promised: framesEnd) {
                    throw error
                }
                throw LogError(
                    .corrupted,
                    "Expected frames up to offset \(framesEnd), found their end here. "
                        + "`tidemark log salvage` copies what is sound.",
                    path: file.path,
                    offset: scan.offset
                )
            }
        }
    }

    /// Adds one frame's commits.
    mutating func add(
        _ frame: FrameScan.Frame,
        of scan: inout FrameScan,
        _ visit: (LogEvent) -> Void
    ) throws(LogError) {
        guard frame.header.kind == .commits else { return }
        summary.last = frame.header.last
        summary.commitCount += UInt64(frame.header.commitCount)
        for entry in frame.blocks {
            let index = UInt32(directory.count)
            directory.append(entry)
            summary.rawByteCount += UInt64(entry.rawByteCount)
            let stored = try scan.stored(entry)
            try add(entry, stored: stored, index: index, visit)
        }
    }

    private mutating func add(
        _ entry: BlockEntry,
        stored: [UInt8],
        index: UInt32,
        _ visit: (LogEvent) -> Void
    ) throws(LogError) {
        func damaged(_ found: String) -> LogError {
            LogError(
                .corrupted,
                "The block of events \(entry.first) to \(entry.last) \(found).",
                path: file.path,
                offset: UInt64(entry.offset)
            )
        }
        guard
            let raw = BlockDecoder.decode(
                stored.span.bytes,
                rawByteCount: Int(entry.rawByteCount),
                dictionary: dictionary
            )
        else { throw damaged("cannot be decompressed") }
        var cursor = BlockCursor(DecodedBlock(bytes: raw, entry: entry))
        do throws(BlockCursor.Malformed) {
            while let event = try cursor.next() {
                postings.add(zone: event.zone, block: index)
                summary.eventCount += 1
                summary.eventHash.add(event)
                summary.firstTime = min(summary.firstTime, event.commit.time)
                summary.lastTime = max(summary.lastTime, event.commit.time)
                summary.firstReceived = min(summary.firstReceived, event.commit.received)
                summary.lastReceived = max(summary.lastReceived, event.commit.received)
                visit(event)
            }
        } catch {
            throw damaged("is malformed at its raw byte \(error.offset)")
        }
    }
}

extension SegmentFold {
    /// Gives a segment that takes no more events its footer, and returns the file's new length.
    static func seal(
        _ segment: Manifest.Segment,
        framesEnd: UInt64,
        store: StoreID,
        in folder: StoreFolder,
        fileSystem: any FileSystem
    ) throws(LogError) -> UInt64 {
        let (file, header) = try SegmentReader.open(
            segment.id,
            store: store,
            in: folder,
            fileSystem: fileSystem,
            mode: .readWrite
        )
        var fold = try SegmentFold(file, header: header)
        try fold.walk(framesEnd: framesEnd)
        let bytes = fold.footer().encoded(salt: header.salt)
        let fileByteCount = framesEnd + UInt64(bytes.count)
        try LogError.wrapping { () throws(FileError) in
            try file.write(bytes.span.bytes, at: framesEnd)
            try file.truncate(to: fileByteCount)
            try file.sync()
        }
        return fileByteCount
    }
}
