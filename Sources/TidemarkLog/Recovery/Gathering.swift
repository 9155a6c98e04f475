// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Reassembles events into their original commits.
struct Gathering {
    let copy: SegmentLog
    private(set) var eventCount: UInt64 = 0
    private(set) var commitCount: UInt64 = 0
    private(set) var positions = LostPositions()
    private(set) var incomplete: [SequenceNumber] = []
    /// Commits that lack events, which were dropped or lost.
    private var partial: [LogCommit] = []
    private(set) var mendedZones: [ZoneKey] = []
    private(set) var failure: LogError?
    /// Zones whose creation event must be recreated, ascending; a zone is removed when that is
    /// done.
    var lostZones: [ZoneKey] = []
    /// The last position whose event compaction may have dropped; zero without a compaction.
    let droppedThrough: SequenceNumber
    /// The end of the segments that may lack events which compaction dropped, once the next one has
    /// begun; zero before.
    private(set) var compactedThrough = SequenceNumber.zero
    private var hasAppended = false
    private var lastTime = Int64.min
    private let mending: (any SalvageMending)?
    private var draft: CommitDraft?
    private var commit: LogCommit?
    /// The part of its commit that the draft holds.
    private var part = CommitDraft.Part(eventCount: 0, firstIndex: 0)
    private var next: SequenceNumber
    /// The number of bytes that were appended and not yet waited for.
    private var waitingByteCount = 0
    /// The maximum of those bytes, which are in memory until they are on disk.
    private static let leadByteCount = 8 << 20

    init(
        copy: SegmentLog,
        droppedThrough: SequenceNumber,
        _ mending: (any SalvageMending)?
    ) {
        self.copy = copy
        self.droppedThrough = droppedThrough
        self.mending = mending
        next = copy.lastSequence.next
    }

    /// Returns true if all lost events up to a position are known.
    func hasSurveyed(through end: SequenceNumber) -> Bool { positions.surveyed >= end }

    mutating func add(_ event: LogEvent) {
        // A segment may exist twice under two names; copied events are not copied again.
        guard failure == nil, event.sequence >= next else { return }
        if draft == nil || event.commit.first != commit?.first || mends(before: event) {
            begin(with: event)
        } else if let draft, event.sequence > next {
            // Compaction may have dropped the missing events: the commit is still one.
            let gap = UInt32(event.sequence.rawValue - next.rawValue)
            part.gaps.append((before: draft.events.count, count: gap))
        }
        let payload = mending?.amended(event).map { $0[...] } ?? event.payload
        draft?.append(zone: event.zone) { $0 += payload }
        eventCount += 1
        next = event.sequence.next
    }

    private mutating func begin(with event: LogEvent) {
        // A commit that a recreated zone splits in two counts once.
        if event.commit.first != commit?.first { commitCount += 1 }
        finish()
        mendZones(before: event)
        // After a recreated event in the middle of a commit, the rest becomes a commit of its own.
        let first = max(event.commit.first, copy.lastSequence.next)
        part = CommitDraft.Part(
            eventCount: Int(event.commit.last.rawValue - first.rawValue) + 1,
            firstIndex: Int(event.sequence.rawValue - first.rawValue)
        )
        skip(to: event.sequence)
        commit = event.commit
        draft = CommitDraft(
            time: event.commit.time,
            received: event.commit.received,
            envelope: Array(event.envelope)
        )
    }

    /// Returns true if a zone's creation must be recreated between an event and the previous one.
    private func mends(before event: LogEvent) -> Bool {
        lostZones.first.map { $0.creation < event.sequence } ?? false
    }

    /// Recreates the creation events of lost zones at their positions, as far as they precede an
    /// event.
    private mutating func mendZones(before event: LogEvent) {
        while let zone = lostZones.first, zone.creation < event.sequence, failure == nil {
            lostZones.removeFirst()
            guard zone.creation > copy.lastSequence,
                let draft = mending?.creation(of: zone, before: event.commit)
            else { continue }
            skip(to: zone.creation)
            do throws(LogError) {
                try append(draft)
                mendedZones.append(zone)
            } catch {
                failure = error
            }
        }
    }

    /// Appends the rest of a stretch, and records its lost events.
    mutating func finish(
        from first: SequenceNumber,
        through end: SequenceNumber,
        missing: [ClosedRange<SequenceNumber>]
    ) {
        finish()
        positions.survey(from: first, through: end, missing: missing)
        // The copy skips these positions with the next event. A gap that no event follows is never
        // written, and closing would wait for it.
        next = max(next, positions.surveyed.next)
        for commit in partial where incomplete.last != commit.first {
            if positions.runs.overlap(commit.first...commit.last) {
                incomplete.append(commit.first)
            }
        }
        partial = []
    }

    /// Appends a commit after all others, if the copy needs one: no event of it records what compaction
    /// has dropped, or the last commit names positions after its end, which would be given out again as
    /// if they were its own.
    mutating func close() throws(LogError) {
        let end = max(positions.surveyed, commit?.last ?? .zero)
        guard hasAppended,
            let draft = mending?.closing(
                droppedThrough: droppedThrough,
                isCutOff: commit.map { $0.last > copy.lastSequence } ?? false,
                notBefore: lastTime
            )
        else { return }
        // The positions up to here were given out.
        if copy.lastSequence < end { skip(to: end.next) }
        try append(draft)
    }

    /// Appends a commit; the first one after the events of which compaction may have dropped some begins
    /// a segment, so that the segments before can be listed as compacted.
    @discardableResult
    private mutating func append(
        _ draft: consuming CommitDraft
    ) throws(LogError) -> SequenceNumber {
        let last = copy.lastSequence
        let isNext =
            hasAppended && compactedThrough == .zero && droppedThrough > .zero
            && last >= droppedThrough
        if isNext { compactedThrough = last }
        hasAppended = true
        lastTime = max(lastTime, draft.time)
        return try copy.append(draft, beginsSegment: isNext)
    }

    private mutating func skip(to sequence: SequenceNumber) {
        var gap = sequence.rawValue - copy.lastSequence.rawValue - 1
        while gap > 0 {
            // A frame counts its positions in 32 bits (`Docs/formats/segment.md`, "Frame header"),
            // so a longer gap takes several frames.
            let step = UInt32(min(gap, UInt64(Layout.framePositionCount)))
            copy.appendGap(step)
            gap -= UInt64(step)
        }
    }

    /// Appends the gathered events of one commit.
    mutating func finish() {
        guard var draft, let commit else { return }
        self.draft = nil
        // A commit that was split for a recreated zone comes here twice, and counts once.
        if draft.events.count != commit.eventCount, partial.last?.first != commit.first {
            partial.append(commit)
        }
        if draft.events.count != part.eventCount { draft.part = part }
        do throws(LogError) {
            let byteCount = draft.payloads.count + draft.envelope.count
            let first = try append(draft)
            waitingByteCount += byteCount
            if waitingByteCount > Self.leadByteCount {
                waitingByteCount = 0
                // Otherwise the queue would hold in memory all that the source yields faster than
                // the disk takes it.
                try copy.blockUntilDurable(first)
            }
        } catch {
            failure = error
        }
    }
}
