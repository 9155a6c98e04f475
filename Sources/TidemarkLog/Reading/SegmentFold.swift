// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Computes a segment's footer from its frames, decoding every block and every event.
///
/// Sealing writes the result, verifying compares it, and salvaging copies the visited events. One
/// implementation keeps them consistent.
struct SegmentFold {
    private var built: FooterBuilder
    /// The end of the walked frames, which is the place of the footer.
    private var framesEnd: UInt64 = 0
    /// The last position that a sound frame or footer names, even if its event is unreadable.
    private(set) var lastKnown = SequenceNumber.zero
    /// The positions up to `lastKnown` whose content could not be read, ascending.
    ///
    /// A position that a frame declares empty is not included.
    private(set) var unread: [ClosedRange<SequenceNumber>] = []
    /// The first position that no frame has covered yet.
    private var next: SequenceNumber
    private let reader: SegmentReader

    /// The reaction to damage: throws it, or records it and returns.
    typealias Meeting = (LogError) throws(LogError) -> Void

    init(_ file: any LogFile, header: FileHeader) throws(LogError) {
        self.init(
            file,
            header: header,
            dictionary: try SegmentReader.dictionary(of: file, header: header)
        )
    }

    /// Creates a fold with a dictionary, or with an empty one if the dictionary is unreadable.
    init(_ file: any LogFile, header: FileHeader, dictionary: [UInt8]) {
        reader = SegmentReader(
            id: SegmentID(first: header.first, generation: header.generation),
            file: file,
            header: header,
            dictionary: dictionary,
            blocks: []
        )
        built = FooterBuilder(first: header.first)
        next = header.first
    }

    /// Returns the footer of the walked frames.
    consuming func footer() -> Footer { built.footer(at: framesEnd) }

    /// The totals of the events that were read.
    var summary: Footer.Summary { built.summary }

    /// The blocks of the walked frames.
    var directory: [BlockEntry] { built.directory }

    /// Walks all frames up to where they end.
    ///
    /// `meet` throws to end the walk at damage, or returns to continue after it. If a frame's
    /// header or block table is damaged, its blocks are taken from `known`.
    mutating func walk(
        framesEnd: UInt64,
        known: [BlockEntry] = [],
        meet: Meeting,
        visit: (LogEvent) -> Void = { _ in }
    ) throws(LogError) {
        var scan = try FrameScan(reader.file, header: reader.header, limit: framesEnd)
        self.framesEnd = framesEnd
        while true {
            switch try scan.step() {
            case .frame(let frame):
                try add(frame, meet: meet, visit: visit)
            // The limit comes earlier if the file is shorter than its frames; `tail` then reports
            // the missing bytes.
            case .stop(.limit) where scan.offset == framesEnd:
                return
            case .stop(let stop):
                if case .corrupted(let error) = try scan.tail(after: stop, promised: framesEnd) {
                    try meet(error)
                } else {
                    try meet(
                        LogError(
                            .corrupted,
                            "Expected frames up to offset \(framesEnd), found their end here. "
                                + "`tidemark log salvage` copies what is sound.",
                            path: reader.file.path,
                            offset: scan.offset
                        )
                    )
                }
                let start = scan.offset
                let next = try scan.goOn(behind: stop)
                if let frame = next.frame {
                    // The damage of this frame has been met above.
                    try add(frame, meet: { _ in }, visit: visit)
                } else {
                    let lost = start..<max(start, next.goesOn ? scan.offset : framesEnd)
                    try add(known.filter { lost.contains(UInt64($0.offset)) }, meet, visit)
                }
                guard next.goesOn else { return }
            }
        }
    }

    /// Walks the frames of the segment that takes events, as far as they are known to be on disk.
    mutating func walkActive(
        through last: SequenceNumber,
        meet: Meeting,
        visit: (LogEvent) -> Void
    ) throws(LogError) {
        var scan = try FrameScan(reader.file, header: reader.header)
        while true {
            switch try scan.step() {
            case .frame(let frame):
                guard frame.header.first <= last else { return }
                try add(frame, meet: meet, visit: visit)
            case .stop(let stop):
                // The open has already decided whether the end is damaged or only torn.
                let next = try scan.goOn(behind: stop)
                if let frame = next.frame { try add(frame, meet: { _ in }, visit: visit) }
                guard next.goesOn else { return }
            }
        }
    }

    /// Walks all sound parts of the file, regardless of how it ends.
    ///
    /// `promised` is the end of the frames, if it is known.
    mutating func walkAll(
        promised: UInt64? = nil,
        meet: Meeting,
        visit: (LogEvent) -> Void = { _ in }
    ) throws(LogError) {
        if let footer = try? SegmentReader.footerSummary(of: reader.file, header: reader.header) {
            lastKnown = footer.last
            // The summary can be sound while the directory is not. The walk then lacks only the
            // blocks of frames with damaged headers or tables.
            let known = try? SegmentReader.footer(of: reader.file, header: reader.header).directory
            try walk(framesEnd: footer.offset, known: known ?? [], meet: meet, visit: visit)
        } else {
            try walkUnfinished(promised, meet: meet, visit: visit)
        }
        // The frames at the end may be lost although the footer names their positions.
        noteUnread(before: lastKnown.next)
    }

    private mutating func walkUnfinished(
        _ promised: UInt64?,
        meet: Meeting,
        visit: (LogEvent) -> Void
    ) throws(LogError) {
        var scan = try FrameScan(reader.file, header: reader.header)
        while true {
            switch try scan.step() {
            case .frame(let frame):
                try add(frame, meet: meet, visit: visit)
            case .stop(let stop):
                if case .corrupted(let error) = try scan.tail(after: stop, promised: promised) {
                    try meet(error)
                }
                let next = try scan.goOn(behind: stop)
                if let frame = next.frame { try add(frame, meet: meet, visit: visit) }
                guard next.goesOn else { return }
            }
        }
    }

    private mutating func add(
        _ frame: FrameScan.Frame,
        meet: Meeting,
        visit: (LogEvent) -> Void
    ) throws(LogError) {
        lastKnown = max(lastKnown, frame.header.last)
        // Frames are contiguous, so positions before this one were in lost frames.
        noteUnread(before: frame.header.first)
        guard frame.header.kind.holdsEvents else { return }
        built.addFrame(last: frame.header.last, commitCount: Int(frame.header.commitCount))
        try add(frame.blocks, isStripe: frame.header.kind == .stripe, meet, visit)
    }

    /// Adds the blocks that the footer lists for frames whose headers or tables are lost.
    private mutating func add(
        _ blocks: [BlockEntry],
        _ meet: Meeting,
        _ visit: (LogEvent) -> Void
    ) throws(LogError) {
        var rest = blocks[...]
        while let first = rest.first {
            noteUnread(before: first.first)
            // A stripe begins with its maps; its blocks lie within the maps' positions.
            let maps = rest.prefix { $0.isMap }
            // Without maps, these are blocks of ordinary frames up to the next stripe.
            let last = maps.last?.last ?? SequenceNumber(rawValue: .max)
            let events = rest.dropFirst(maps.count).prefix { !$0.isMap && $0.last <= last }
            let count = maps.count + events.count
            try add(Array(rest.prefix(count)), isStripe: first.isMap, meet, visit)
            rest = rest.dropFirst(count)
        }
    }

    private mutating func add(
        _ blocks: [BlockEntry],
        isStripe: Bool,
        _ meet: Meeting,
        _ visit: (LogEvent) -> Void
    ) throws(LogError) {
        if isStripe { return try addStripe(blocks, meet: meet, visit: visit) }
        for entry in blocks {
            let index = built.add(entry)
            do throws(LogError) {
                try add(reader.decode(entry), index: index, visit: visit)
                next = entry.last.next
            } catch {
                noteUnread(before: entry.last.next)
                try meet(error)
            }
        }
    }

    /// Records positions as unread, from the first open one up to a given one.
    private mutating func noteUnread(before end: SequenceNumber) {
        guard end > next else { return }
        unread.append(next...end.previous)
        next = end
    }

    private mutating func add(
        _ block: DecodedBlock,
        index: UInt32,
        visit: (LogEvent) -> Void
    ) throws(LogError) {
        var cursor = BlockCursor(block)
        do throws(BlockCursor.Malformed) {
            while try cursor.advance() {
                let event = cursor.event
                built.add(event, index: index)
                visit(event)
                next = event.sequence.next
            }
        } catch {
            throw reader.malformed(block.entry, error)
        }
    }
}

// MARK: - Stripes

extension SegmentFold {
    /// Adds the events of a stripe in order, from its readable blocks.
    private mutating func addStripe(
        _ blocks: [BlockEntry],
        meet: Meeting,
        visit: (LogEvent) -> Void
    ) throws(LogError) {
        let base = directory.count
        for entry in blocks { _ = built.add(entry) }
        var stripe = DecodedStripe()
        let ahead = BlocksAhead(blocks.map { SegmentBlock($0, of: self.reader) })
        while let entry = ahead.advance() {
            do throws(LogError) {
                stripe.add(try ahead.take(), entry)
            } catch {
                stripe.add(nil, entry)
                try meet(error)
            }
        }
        let reader = reader
        var malformed: [BlockEntry] = []
        func meetMalformed(
            _ entry: BlockEntry,
            _ error: BlockCursor.Malformed
        ) throws(LogError) {
            malformed.append(entry)
            try meet(reader.malformed(entry, error))
        }
        var rows = stripe.rows
        var cursor = try StripeCursor(stripe.sound.map(\.block), meet: meetMalformed)
        while try cursor.advance(meet: meetMalformed) {
            let event = cursor.event
            let number = stripe.sound[cursor.block].number
            if let map = rows.contradicting(event.sequence, block: number) {
                try meet(reader.damaged(map, "does not lead to event \(event.sequence)"))
            }
            // Postings have indexes of the directory, in which the maps come before the blocks.
            built.add(event, index: UInt32(base + stripe.mapCount + number))
            visit(event)
        }
        for entry in malformed { stripe.fail(entry) }
        unread += try stripe.unread()
        next = max(next, (blocks.prefix { $0.isMap }.last?.last ?? .zero).next)
    }
}

extension SegmentFold {
    /// Writes the footer of a segment that takes no more events, and returns the file's new length.
    ///
    /// `built` is the footer that the writer of the segment has gathered; without it, the frames
    /// are read.
    static func seal(
        _ segment: Manifest.Segment,
        framesEnd: UInt64,
        built: FooterBuilder?,
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
        let footer: Footer
        if let built {
            footer = built.footer(at: framesEnd)
        } else {
            var fold = try SegmentFold(file, header: header)
            try fold.walk(framesEnd: framesEnd, meet: { (error) throws(LogError) in throw error })
            footer = fold.footer()
        }
        let bytes = footer.encoded(for: header)
        let fileByteCount = framesEnd + UInt64(bytes.count)
        try LogError.wrapping { () throws(FileError) in
            // If a crash prevents the manifest edit, the next sealing computes the same footer from
            // the frames and writes it to the same place.
            try file.write(bytes.span.bytes, at: framesEnd)
            try file.truncate(to: fileByteCount)
            try file.sync()
        }
        return fileByteCount
    }
}
