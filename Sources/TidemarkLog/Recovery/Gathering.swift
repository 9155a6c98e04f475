// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Reassembles events into their original commits.
struct Gathering {
    let copy: SegmentLog
    private(set) var eventCount: UInt64 = 0
    private(set) var commitCount: UInt64 = 0
    private(set) var lost: [ClosedRange<SequenceNumber>] = []
    private(set) var incomplete: [SequenceNumber] = []
    /// Commits that lack events, which were dropped or lost.
    private var partial: [LogCommit] = []
    /// The position up to which the lost events are known.
    private var surveyed = SequenceNumber.zero
    private(set) var mendedZones: [ZoneKey] = []
    private(set) var failure: LogError?
    /// Zones whose creation event must be recreated, ascending; a zone is removed when that is
    /// done.
    var lostZones: [ZoneKey] = []
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

    init(copy: SegmentLog, _ mending: (any SalvageMending)?) {
        self.copy = copy
        self.mending = mending
        next = copy.lastSequence.next
    }

    /// Returns true if all lost events up to a position are known.
    func hasSurveyed(through end: SequenceNumber) -> Bool { surveyed >= end }

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
        if event.sequence > copy.lastSequence.next { mendZones(before: event) }
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
                _ = try copy.append(draft)
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
        note(lost: surveyed.next, through: min(first.previous, end))
        for run in missing { note(lost: run.lowerBound, through: min(run.upperBound, end)) }
        surveyed = max(surveyed, end)
        // The copy skips these positions with the next event. A gap that no event follows is never
        // written, and closing would wait for it.
        next = max(next, surveyed.next)
        for commit in partial where incomplete.last != commit.first {
            if lost.overlap(commit.first...commit.last) { incomplete.append(commit.first) }
        }
        partial = []
    }

    private mutating func note(lost first: SequenceNumber, through last: SequenceNumber) {
        let first = max(first, surveyed.next)
        guard first <= last else { return }
        surveyed = last
        if let run = lost.last, run.upperBound.next == first {
            lost[lost.count - 1] = run.lowerBound...last
        } else {
            lost.append(first...last)
        }
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
            let first = try copy.append(draft)
            waitingByteCount += draft.payloads.count + draft.envelope.count
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
