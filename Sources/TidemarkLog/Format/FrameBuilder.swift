// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Gathers commits into the raw blocks of one frame, then encodes the frame.
///
/// Gathering copies bytes and happens inside the serialization point; compressing happens later.
/// Both begin before for a large commit (``EarlyFrame``).
struct FrameBuilder: Sendable {
    /// The first position in the frame.
    private(set) var first: SequenceNumber
    private(set) var positionCount = 0
    private(set) var commitCount = 0
    private(set) var lastTime = Int64.min
    private(set) var lastReceived = Int64.min
    /// The commit of the last entry in the last block, if events are gathered one by one.
    private var openCommit: SequenceNumber?
    private var blocks: [RawFrame.Block] = []
    /// The raw bytes of all blocks but the last one.
    private var completeByteCount = 0
    /// The first blocks, if another thread compresses them already.
    private var begun: SharedBlocks?
    /// The maximum number of raw bytes in a block, unless one event alone is longer.
    private let blockByteCount: Int

    init(first: SequenceNumber, blockByteCount: Int = Layout.blockByteCount) {
        self.first = first
        self.blockByteCount = blockByteCount
    }

    /// True if nothing has been gathered.
    var isEmpty: Bool { positionCount == 0 }

    /// Raw bytes gathered so far.
    var rawByteCount: Int { completeByteCount + (blocks.last?.raw.count ?? 0) }

    /// True if the next commit belongs to another frame.
    var isFull: Bool {
        rawByteCount >= Layout.frameByteCountTarget || positionCount >= Layout.framePositionCount
    }

    /// The position after the last one gathered.
    var next: SequenceNumber {
        first + positionCount
    }

    /// The last position gathered, or the one before `first`.
    var last: SequenceNumber {
        (first + positionCount).previous
    }

    /// Returns the maximum number of bytes that a draft can add to the encoded frame, regardless of
    /// compression.
    static func byteCountBound(of draft: borrowing CommitDraft) -> Int {
        // The head of a commit entry is a tag and five varints of at most 10 bytes each: 51 bytes,
        // rounded up to 64. An event's head is a tag and two varints: 21 bytes.
        let commitHeader = 64 + draft.envelope.count
        let entryCount = draft.events.count + (draft.part?.gaps.count ?? 0)
        // Gaps count as events: their entries are shorter.
        let events = draft.payloads.count + entryCount * 21
        // Every block repeats the commit's header, and holds an event at least. A block ends where
        // the next event has no room, so two neighbours hold more events than would fill one.
        let room = max(1, Layout.blockByteCount - commitHeader)
        let blocks = min(draft.events.count, 2 + 2 * events / room)
        return Layout.frameHeaderByteCount + Layout.frameAlignment + events
            + blocks * (commitHeader + Layout.blockEntryByteCount)
    }

    /// Gathers a commit, whose first event gets the position `next`.
    mutating func append(_ draft: borrowing CommitDraft) {
        let eventCount = draft.part?.eventCount ?? draft.events.count
        gather(draft, CommitHead(draft, eventCount: eventCount), from: 0)
    }

    /// Gathers those events of a draft that were not gathered before, in a frame with no other
    /// commit, whose head is known before its events.
    mutating func append(eventsOf draft: borrowing CommitDraft, _ head: CommitHead) {
        gather(draft, head, from: positionCount)
    }

    /// Moves a frame that begins at position zero, whose first blocks another thread compresses.
    mutating func move(to position: SequenceNumber, _ begun: SharedBlocks) {
        self.begun = begun
        first = position
        for index in blocks.indices {
            blocks[index].first = position + Int(blocks[index].first.rawValue)
        }
    }

    /// The blocks that no later event is added to.
    var completeBlocks: ArraySlice<RawFrame.Block> { blocks.dropLast() }

    private mutating func gather(
        _ draft: borrowing CommitDraft,
        _ head: CommitHead,
        from start: Int
    ) {
        if start == 0 { commitCount += 1 }
        lastTime = head.time
        lastReceived = head.received
        var payloadStart = start == 0 ? 0 : draft.events[start - 1].payloadEnd
        // The commit's first event would have this place among the frame's positions.
        let commitStart = positionCount - start
        var gaps = (draft.part?.gaps ?? [])[...]
        for index in start..<draft.events.count {
            let event = draft.events[index]
            let payload = payloadStart..<event.payloadEnd
            payloadStart = event.payloadEnd
            // The gap comes before the commit's entry. A reader computes the first position of the
            // commit from the position that it has reached at the entry, minus `index`.
            if let gap = gaps.first, gap.before == index {
                appendGap(gap.count)
                gaps.removeFirst()
            }
            makeRoom(
                payload.count + 21,
                for: head,
                eventIndex: (draft.part?.firstIndex ?? 0) + positionCount - commitStart,
                isFirst: index == 0,
                of: draft.payloads.count
            )
            blocks[blocks.count - 1].raw.append(
                eventOf: event.zone(at: next),
                draft.payloads.span.bytes.extracting(payload)
            )
            positionCount += 1
            blocks[blocks.count - 1].positionCount += 1
        }
    }

    /// Gathers one event of another segment at its own position, which is not before `next`, or an
    /// event of the store itself in its place.
    ///
    /// Positions in between become a gap. `isFirst` is true if no event of its commit was gathered
    /// before, in any frame.
    mutating func append(_ event: LogEvent, isFirst: Bool, payload replacement: [UInt8]? = nil) {
        let payload = replacement.map { $0[...] } ?? event.payload
        // Before the entry of the commit, for the reason given in `append(_:)`.
        appendGap(before: event.sequence)
        if isFirst { commitCount += 1 }
        lastTime = max(lastTime, event.commit.time)
        lastReceived = max(lastReceived, event.commit.received)
        let envelope = event.envelope
        let needed =
            payload.count + 21 + (openCommit == event.commit.first ? 0 : 64 + envelope.count)
        if blocks.last.map({ $0.raw.count + needed > blockByteCount }) ?? true,
            blocks.last?.positionCount != 0
        {
            beginBlock()
            openCommit = nil
        }
        if openCommit != event.commit.first {
            let index = event.sequence.rawValue - event.commit.first.rawValue
            blocks[blocks.count - 1].raw.append(
                commit: event.commit,
                envelope,
                eventIndex: Int(index)
            )
            openCommit = event.commit.first
        }
        // Zone 0 marks an event of the store itself.
        blocks[blocks.count - 1].raw.append(
            eventOf: replacement == nil ? event.zone : 0,
            payload.span.bytes
        )
        positionCount += 1
        blocks[blocks.count - 1].positionCount += 1
    }

    /// Gathers the empty positions before a position.
    mutating func appendGap(before end: SequenceNumber) {
        if end > next { appendGap(UInt32(end.rawValue - next.rawValue)) }
    }

    /// Ends the frame, with a part of the following gap, if the frame would cover too many
    /// positions with one more; otherwise returns `nil`.
    ///
    /// A further call ends the next frame.
    mutating func takeFrame(before position: SequenceNumber) -> RawFrame? {
        let end = first.rawValue + UInt64(Layout.framePositionCount)
        guard position.rawValue >= end else { return nil }
        appendGap(before: SequenceNumber(rawValue: end))
        let frame = self.frame()
        self = FrameBuilder(first: next, blockByteCount: blockByteCount)
        return frame
    }

    /// Gathers positions that hold no event.
    mutating func appendGap(_ gapCount: UInt32) {
        if blocks.isEmpty { beginBlock() }
        blocks[blocks.count - 1].raw.append(gap: UInt64(gapCount))
        positionCount += Int(gapCount)
        blocks[blocks.count - 1].positionCount += Int(gapCount)
    }

    /// Starts a block if the open one has no room, and repeats the commit's envelope in it, so
    /// that every block can be read alone.
    private mutating func makeRoom(
        _ byteCount: Int,
        for head: CommitHead,
        eventIndex: Int,
        isFirst: Bool,
        of payloadByteCount: Int
    ) {
        let needed = byteCount + (isFirst ? 64 + head.envelope.count : 0)
        if let block = blocks.last,
            block.raw.count + needed <= blockByteCount || block.positionCount == 0
        {
            if isFirst { blocks[blocks.count - 1].raw.append(head, eventIndex: eventIndex) }
        } else {
            beginBlock()
            let rest = payloadByteCount + 32 * head.eventCount + 64 + head.envelope.count
            blocks[blocks.count - 1].raw.reserveCapacity(max(needed, min(rest, blockByteCount)))
            blocks[blocks.count - 1].raw.append(head, eventIndex: eventIndex)
        }
    }

    private mutating func beginBlock() {
        completeByteCount = rawByteCount
        blocks.append(RawFrame.Block(first: next))
    }

    /// Returns the gathered frame.
    func frame() -> RawFrame {
        RawFrame(
            kind: .commits,
            first: first,
            positionCount: positionCount,
            commitCount: commitCount,
            lastTime: lastTime,
            lastReceived: lastReceived,
            blocks: blocks,
            begun: begun
        )
    }
}

/// The part of a commit that each of its blocks repeats.
struct CommitHead: Equatable, Sendable {
    var eventCount: Int
    var time: Int64
    var received: Int64
    var envelope: [UInt8]

    init(_ draft: borrowing CommitDraft, eventCount: Int) {
        self.eventCount = eventCount
        time = draft.time
        received = draft.received
        envelope = draft.envelope
    }
}

extension [UInt8] {
    /// Appends the entry of a commit that is being gathered.
    fileprivate mutating func append(_ head: CommitHead, eventIndex: Int) {
        let commit = LogCommit(
            // The entry does not contain this position. A reader computes it from the next event's
            // position and the index.
            first: .zero,
            eventCount: head.eventCount,
            time: head.time,
            received: head.received
        )
        append(commit: commit, head.envelope[...], eventIndex: eventIndex)
    }

    /// Appends the entry of a commit; the event at an index of the commit comes next.
    mutating func append(
        commit: LogCommit,
        _ envelope: ArraySlice<UInt8>,
        eventIndex: Int
    ) {
        append(EntryTag.commit)
        append(variableInteger: UInt64(commit.eventCount))
        append(variableInteger: UInt64(eventIndex))
        append(variableInteger: zigzag(commit.time))
        append(variableInteger: zigzag(commit.received &- commit.time))
        append(variableInteger: UInt64(envelope.count))
        append(contentsOf: envelope)
    }

    /// Appends the entry of an event.
    @inline(__always)
    mutating func append(eventOf zone: ZoneKey, _ payload: RawSpan) {
        append(EntryTag.event)
        append(variableInteger: zone.rawValue)
        append(variableInteger: UInt64(payload.byteCount))
        payload.withUnsafeBytes { append(contentsOf: $0) }
    }

    /// Appends the entry for positions that are empty here.
    mutating func append(gap positionCount: UInt64) {
        append(EntryTag.gap)
        append(variableInteger: positionCount)
    }
}

/// The place of a frame that is about to be written, and its statements about earlier frames.
struct FramePlace: Sendable {
    var salt: UInt64
    var offset: UInt64
    var syncedOffset: UInt64
    var chain: UInt64

    /// Writes header and table into the space reserved at the start of a frame's bytes.
    func fill(
        _ bytes: inout [UInt8],
        kind: FrameKind,
        entries: [BlockEntry],
        first: SequenceNumber,
        positionCount: Int,
        commitCount: Int,
        lastTime: Int64,
        lastReceived: Int64
    ) {
        let tableStart = Layout.frameHeaderByteCount
        let tableEnd = tableStart + entries.count * Layout.blockEntryByteCount
        bytes.withUnsafeMutableBytes { bytes in
            for (row, entry) in entries.enumerated() {
                entry.store(in: bytes, at: tableStart + row * Layout.blockEntryByteCount)
            }
        }
        let header = FrameHeader(
            kind: kind,
            byteCount: bytes.count,
            blockCount: entries.count,
            first: first,
            positionCount: positionCount,
            commitCount: commitCount,
            syncedOffset: syncedOffset,
            chain: chain,
            lastTime: lastTime,
            lastReceived: lastReceived,
            tableChecksum: xxh3(
                bytes.span.bytes.extracting(tableStart..<tableEnd),
                seed: Layout.seed(salt: salt, offset: offset + UInt64(tableStart))
            )
        )
        header.store(in: &bytes, salt: salt, offset: offset)
    }

    /// Returns a frame without commits: a marker, a closing frame, or one block of the log's own.
    func controlFrame(
        _ kind: FrameKind,
        next: SequenceNumber,
        lastTime: Int64,
        lastReceived: Int64,
        payload: [UInt8] = []
    ) -> [UInt8] {
        var entries: [BlockEntry] = []
        let blockStart =
            Layout.frameHeaderByteCount + (payload.isEmpty ? 0 : Layout.blockEntryByteCount)
        if !payload.isEmpty {
            let blockOffset = offset + UInt64(blockStart)
            entries.append(
                BlockEntry(
                    first: next,
                    offset: Int(blockOffset),
                    storedByteCount: payload.count,
                    rawByteCount: payload.count,
                    positionCount: 0,
                    checksum: xxh3(
                        payload.span.bytes,
                        seed: Layout.seed(salt: salt, offset: blockOffset)
                    )
                )
            )
        }
        var bytes = [UInt8](repeating: 0, count: blockStart)
        bytes.append(contentsOf: payload)
        bytes.pad(to: Layout.aligned(bytes.count))
        fill(
            &bytes,
            kind: kind,
            entries: entries,
            first: next,
            positionCount: 0,
            commitCount: 0,
            lastTime: lastTime,
            lastReceived: lastReceived
        )
        return bytes
    }
}

/// Returns the chain word of the following frame: the hash of a frame's header.
func chainWord(after frame: RawSpan) -> UInt64 {
    // The header stands for the whole frame: it has the hash of the block table, which has the hash
    // of each block.
    xxh3(frame.extracting(0..<Layout.frameHeaderByteCount), seed: 0)
}
