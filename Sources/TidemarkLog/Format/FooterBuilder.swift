// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Gathers the footer of a segment from its blocks, in the order of the file.
struct FooterBuilder: Sendable {
    private(set) var summary: Footer.Summary
    private(set) var directory: [BlockEntry] = []
    private var postings = ZonePostings.Builder()

    /// Starts the footer of a segment whose first position is `first`.
    init(first: SequenceNumber) {
        summary = Footer.Summary(offset: 0, first: first)
    }

    /// Returns the footer for a place in the file: the end of the frames.
    consuming func footer(at offset: UInt64) -> Footer {
        summary.offset = offset
        return Footer(summary: summary, directory: directory, postings: postings.postings())
    }

    /// Adds the positions and commits of a frame, whose blocks follow.
    mutating func addFrame(last: SequenceNumber, commitCount: Int) {
        summary.last = last
        summary.commitCount += UInt64(commitCount)
    }

    /// Adds a block, whose events follow, and returns its index.
    ///
    /// The maps of stripes hold no raw bytes of events.
    mutating func add(_ entry: BlockEntry) -> UInt32 {
        directory.append(entry)
        if !entry.isMap { summary.rawByteCount += UInt64(entry.rawByteCount) }
        return UInt32(directory.count - 1)
    }

    /// Adds an event of the block with an index.
    mutating func add(_ event: LogEvent, index: UInt32) {
        let payload = event.payload
        add(event.sequence, event.zone, event.commit, payload.span.bytes, index: index)
    }

    @inline(__always)
    private mutating func add(
        _ sequence: SequenceNumber,
        _ zone: ZoneKey,
        _ commit: LogCommit,
        _ payload: RawSpan,
        index: UInt32
    ) {
        postings.add(zone: zone, block: index)
        summary.eventCount += 1
        summary.eventHash.add(sequence, zone: zone, payload)
        summary.firstTime = min(summary.firstTime, commit.time)
        summary.lastTime = max(summary.lastTime, commit.time)
        summary.firstReceived = min(summary.firstReceived, commit.received)
        summary.lastReceived = max(summary.lastReceived, commit.received)
    }

    /// Adds a frame that was just written, from the bytes that its blocks were compressed from.
    ///
    /// Throws if those are not what the format allows.
    mutating func add(_ frame: WrittenFrame) throws(BlockCursor.Malformed) {
        addFrame(last: frame.last, commitCount: frame.commitCount)
        for (entry, rawBlock) in zip(frame.blocks, frame.rawBlocks) {
            let block = rawBlock.raw.span.bytes
            let index = add(entry)
            try BlockCursor.visit(block, from: entry.first) { (sequence, zone, commit, payload) in
                add(sequence, zone, commit, block.extracting(payload), index: index)
            }
        }
    }
}

/// A frame that was written: its blocks, and the bytes that they were compressed from.
struct WrittenFrame: Sendable {
    /// The last position in the frame.
    var last: SequenceNumber
    var commitCount: Int
    var blocks: [BlockEntry]
    /// The blocks before they were compressed.
    var rawBlocks: [RawFrame.Block]
}
