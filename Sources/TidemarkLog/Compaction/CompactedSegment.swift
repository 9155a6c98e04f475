// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// A segment that compaction writes in one pass, from its first frame to its footer, and that never
/// changes afterwards.
///
/// It has ordinary frames or stripes. Positions whose events are left out become gaps.
struct CompactedSegment: ~Copyable {
    private let path: String
    private let file: any LogFile
    private let header: FileHeader
    private let compressor: FrameCompressor
    /// Estimates the length of frames in a twentieth of the time that writing them takes.
    private let measure: FrameCompressor
    /// The frame in progress, unless events are grouped by zone.
    private var builder: FrameBuilder
    /// The stripe in progress, if events are grouped by zone.
    private var stripe: StripeBuilder?
    private var offset: UInt64
    private var chain: UInt64
    private var syncedOffset: UInt64 = 0
    /// The commit of the last event.
    private var lastCommit = SequenceNumber.zero
    /// The sum of the hashes of all written events.
    private(set) var eventHash = EventHash()
    private(set) var eventCount: UInt64 = 0

    /// Creates a file under a temporary name that is never taken for a segment's.
    ///
    /// Only a segment that is grouped by zone needs a reader that knows stripes.
    init(
        _ id: SegmentID,
        incarnation: Incarnation,
        store: StoreID,
        sample: DictionarySample,
        groupsByZone: Bool = false,
        at path: String,
        environment: LogEnvironment
    ) throws(LogError) {
        self.path = path
        var header = FileHeader(
            kind: .segment,
            store: store,
            incarnation: incarnation,
            first: id.first,
            generation: id.generation,
            created: environment.now(),
            salt: environment.random()
        )
        if groupsByZone { header.version = Layout.formatVersion }
        let stored = header.setDictionary(sample, level: .high)
        self.header = header
        compressor = FrameCompressor(dictionary: sample.bytes, level: .high)
        measure = FrameCompressor(dictionary: sample.bytes, level: .fast)
        builder = FrameBuilder(
            first: id.first,
            blockByteCount: Layout.compactedBlockByteCount
        )
        stripe = groupsByZone ? StripeBuilder(first: id.first) : nil
        offset = UInt64(header.framesOffset)
        chain = header.chain
        let encoded = header.encoded()
        let fileSystem = environment.fileSystem
        file = try LogError.wrapping { () throws(FileError) -> any LogFile in
            if try fileSystem.exists(path) { try fileSystem.remove(path) }
            let file = try fileSystem.open(path, .create)
            try file.write(encoded.span.bytes, at: 0)
            if !stored.isEmpty {
                try file.write(stored.span.bytes, at: UInt64(Layout.fileHeaderByteCount))
            }
            return file
        }
    }

    /// Adds an event after all previous ones, or an event of the store itself in its place.
    ///
    /// Returns true if a frame was written to the file.
    mutating func append(_ event: LogEvent, payload: [UInt8]? = nil) throws(LogError) -> Bool {
        let isFirst = event.commit.first != lastCommit
        let start = offset
        if isFirst {
            // Frames and stripes hold whole commits, so they end only before the first event of a
            // commit.
            if stripe.map({ $0.byteCount >= Layout.stripeByteCount }) ?? false { try writeStripe() }
            if builder.isFull { try writeFrame() }
            try coverPositions(before: event.sequence)
        }
        if stripe != nil {
            stripe?.append(event, payload: payload)
        } else {
            builder.append(event, isFirst: isFirst, payload: payload)
        }
        lastCommit = event.commit.first
        if let payload {
            // A replacement is an event of the store itself, whose zone is 0 in the new segment.
            eventHash.add(event.sequence, zone: 0, payload.span.bytes)
        } else {
            eventHash.add(event)
        }
        eventCount += 1
        return offset > start
    }

    /// Writes the gathered frames and the gap after them while they and the event at a position
    /// cover too many positions for one frame.
    private mutating func coverPositions(before position: SequenceNumber) throws(LogError) {
        guard stripe != nil else {
            while let frame = builder.takeFrame(before: position) { try write(frame) }
            return
        }
        while let last = stripe?.lastPosition(before: position) {
            stripe?.cover(through: last)
            try writeStripe()
        }
    }

    /// Adds a whole commit, to a segment that is not grouped by zone.
    mutating func append(_ draft: CommitDraft) {
        var position = builder.next
        var start = 0
        for event in draft.events {
            eventHash.add(
                position,
                zone: event.zone(at: position),
                draft.payloads.span.bytes.extracting(start..<event.payloadEnd)
            )
            position = position.next
            start = event.payloadEnd
        }
        eventCount += UInt64(draft.events.count)
        lastCommit = builder.next
        builder.append(draft)
    }

    /// The maximum number of bytes written between two syncs, so that a concurrent commit does not
    /// wait for a whole segment.
    private static let syncByteCount = 1 << 20

    /// Writes the gathered stripe, or ordinary frames if a stripe would have no benefit or be much
    /// longer.
    private mutating func writeStripe() throws(LogError) {
        guard let gathered = stripe else { return }
        stripe = StripeBuilder(first: gathered.next)
        // For the comparison of lengths, and for the case that the stripe is rejected.
        let frames = gathered.frames()
        if gathered.isWorthwhile {
            let grouped = gathered.frame()
            let ungroupedByteCount = frames.reduce(0) { $0 + $1.byteCount(by: measure) }
            let growth = grouped.byteCount(by: measure) - ungroupedByteCount
            if growth <= ungroupedByteCount / Layout.stripeGrowthDivisor {
                return try write(grouped)
            }
        }
        for frame in frames { try write(frame) }
    }

    private mutating func writeFrame() throws(LogError) {
        let frame = builder.frame()
        builder = FrameBuilder(
            first: builder.next,
            blockByteCount: Layout.compactedBlockByteCount
        )
        try write(frame)
    }

    private mutating func write(_ frame: consuming RawFrame) throws(LogError) {
        // No frame needs to vouch for those before it: the whole file is synced before a manifest
        // names it.
        let place = FramePlace(salt: header.salt, offset: offset, syncedOffset: 0, chain: chain)
        let frame = frame.encoded(at: place, compressor: compressor).bytes
        let file = file
        for start in stride(from: 0, to: frame.count, by: Self.syncByteCount) {
            let end = min(start + Self.syncByteCount, frame.count)
            let place = offset
            try LogError.wrapping { () throws(FileError) in
                try file.write(frame.span.bytes.extracting(start..<end), at: place)
            }
            offset += UInt64(end - start)
            guard offset - syncedOffset >= UInt64(Self.syncByteCount) else { continue }
            try LogError.wrapping { () throws(FileError) in try file.sync() }
            syncedOffset = offset
        }
        chain = chainWord(after: frame.span.bytes)
    }

    /// Ends the segment at a position, reads all of it back, and makes its content durable.
    ///
    /// Throws `corrupted` if the bytes read differ from the bytes written.
    consuming func finish(
        through last: SequenceNumber
    ) throws(LogError) -> (framesEnd: UInt64, fileByteCount: UInt64) {
        try coverPositions(before: last.next)
        if stripe == nil {
            builder.appendGap(before: last.next)
            if !builder.isEmpty { try writeFrame() }
        } else {
            stripe?.cover(through: last)
            try writeStripe()
        }
        let (file, framesEnd, path) = (file, offset, path)
        var fold = try SegmentFold(file, header: header)
        try fold.walk(framesEnd: framesEnd, meet: { (error) throws(LogError) in throw error })
        guard fold.summary.eventHash == eventHash, fold.summary.eventCount == eventCount,
            fold.summary.last == last
        else {
            throw LogError(
                .corrupted,
                "The compacted segment holds \(fold.summary.eventCount) events up to "
                    + "\(fold.summary.last), or other events than were written to it; expected "
                    + "\(eventCount) up to \(last). The log is unchanged; check the disk and the "
                    + "memory of this machine.",
                path: path
            )
        }
        let footer = fold.footer().encoded(for: header)
        try LogError.wrapping { () throws(FileError) in
            // The file has no zeros behind its frames, so the footer ends it without a truncation.
            try file.write(footer.span.bytes, at: framesEnd)
            try file.sync()
        }
        return (framesEnd, framesEnd + UInt64(footer.count))
    }
}
