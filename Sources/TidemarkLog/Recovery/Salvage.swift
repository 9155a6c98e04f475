// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Copies everything that can be read of a damaged log into a new store.
///
/// Positions are kept, since records and zones refer to each other by position; what is lost
/// leaves a gap. The copy is the same store in a new incarnation that begins at the first event:
/// every change token of the damaged store is expired, so no device is told "nothing new" about
/// something that was lost.
///
/// The log does not know what events mean. Whoever does can mend, through a ``SalvageMending``,
/// what the survivors say about those that are lost.
package struct Salvage: Sendable {
    /// What could not be read, in the order of the log.
    package private(set) var damage: [LogError] = []
    package private(set) var eventCount: UInt64 = 0
    package private(set) var commitCount: UInt64 = 0
    /// Positions of which nobody can say any more what they held, first and last of each run; what
    /// compaction has dropped is not among them.
    ///
    /// Positions after the last one that anything sound speaks of are not known of.
    package private(set) var lost: [ClosedRange<SequenceNumber>] = []
    /// Commits of which only a part could be read, by their first position.
    package private(set) var incomplete: [SequenceNumber] = []

    /// Zones whose creation was lost and has been made up, by key.
    package private(set) var mendedZones: [UInt64] = []

    private let source: StoreFolder
    private let fileSystem: any FileSystem

    /// Reads a store's folder, with or without a readable manifest, and writes a new store.
    ///
    /// Throws if there is nothing to read, if the destination is not free, or if it cannot be
    /// written. The source is not changed.
    package static func run(
        from source: String,
        to destination: String,
        environment: LogEnvironment,
        mending: (any SalvageMending)? = nil
    ) throws(LogError) -> Salvage {
        var salvage = Salvage(
            source: StoreFolder(source),
            fileSystem: environment.fileSystem
        )
        try salvage.run(to: destination, environment: environment, mending)
        return salvage
    }

    private init(source: StoreFolder, fileSystem: any FileSystem) {
        self.source = source
        self.fileSystem = fileSystem
    }

    private mutating func run(
        to destination: String,
        environment: LogEnvironment,
        _ mending: (any SalvageMending)?
    ) throws(LogError) {
        let segments = try readableSegments()
        guard let store = segments.first?.header.store else {
            throw LogError(
                .notAStore,
                "No segment of a store with a sound header is here; there is nothing to copy.",
                path: source.segments
            )
        }
        let opening = LogOpening(
            folder: StoreFolder(destination),
            configuration: LogConfiguration(),
            environment: environment
        )
        let opened = try opening.open(creating: true, asCopyOf: store)
        guard opened.report.isNew else {
            throw LogError(
                .notAStore,
                "A store is already here. Give a path where nothing is yet.",
                path: destination
            )
        }
        let copy = SegmentLog(
            opened: opened,
            configuration: LogConfiguration(),
            environment: environment,
            onDurable: { _ in }
        )
        let ours = segments.filter { $0.header.store == store }
        mending?.begin(store: store)
        var gathering = Gathering(copy: copy, mending)
        if mending != nil { gathering.lostZones = try lostZones(in: ours) }
        for piece in try pieces(of: ours) {
            try copyEvents(of: piece, with: &gathering)
        }
        eventCount = gathering.eventCount
        commitCount = gathering.commitCount
        lost = gathering.lost
        incomplete = gathering.incomplete
        mendedZones = gathering.mendedZones
        try copy.close()
    }

    /// The keys of zones that events name and no event creates, ascending.
    private func lostZones(in segments: [Source]) throws(LogError) -> [UInt64] {
        var named: Set<UInt64> = []
        var created: Set<UInt64> = []
        for segment in segments {
            var fold = Self.fold(of: segment, meet: { _ in })
            try fold.walkAll(
                meet: { _ in },
                visit: { event in
                    if event.zone == event.sequence.rawValue {
                        created.insert(event.zone)
                    } else if event.zone != 0 {
                        named.insert(event.zone)
                    }
                }
            )
        }
        return named.subtracting(created).sorted()
    }

    /// A segment whose header is sound.
    private struct Source {
        var file: any LogFile
        var header: FileHeader
    }

    /// The segments that the manifest names, or, without one, every segment file there is.
    private mutating func readableSegments() throws(LogError) -> [Source] {
        var ids: [SegmentID] = []
        do throws(LogError) {
            if let loaded = try LoadedManifest.load(from: source, fileSystem: fileSystem) {
                if let error = loaded.damage { damage.append(error) }
                ids = loaded.manifest.segments.map(\.id)
            }
        } catch {
            damage.append(error)
        }
        let names = try LogError.wrapping { () throws(FileError) in
            try fileSystem.list(source.segments)
        }
        let present = names.compactMap(SegmentID.init(fileName:))
        for id in ids where !present.contains(id) {
            damage.append(
                LogError(
                    .corrupted,
                    "The manifest names this segment, and it is missing.",
                    path: source.segment(id)
                )
            )
        }
        // Beyond what a readable manifest knows there may be segments it has lost sight of.
        let known = Set(ids)
        let newest = ids.max()
        ids += present.filter { id in
            !known.contains(id) && (newest.map { id > $0 } ?? true)
        }
        var sources: [Source] = []
        for id in ids.sorted() where present.contains(id) {
            do throws(LogError) {
                let file = try LogError.wrapping { () throws(FileError) in
                    try fileSystem.open(source.segment(id), .read)
                }
                sources.append(
                    Source(file: file, header: try FileHeader.read(from: file, kind: .segment))
                )
            } catch {
                damage.append(error)
            }
        }
        return sources
    }

    /// A stretch of the log, and the segment to read it from.
    private struct Piece {
        var source: Source
        var range: ClosedRange<SequenceNumber>
    }

    /// What to read of which segment, in the order of the log.
    ///
    /// Where a compaction was cut off, or somebody read the old segments meanwhile, there are some
    /// whose place another has taken. Of these only what cannot be read there is wanted: the rest
    /// has been forgotten.
    private func pieces(of segments: [Source]) throws(LogError) -> [Piece] {
        var pieces: [Piece] = []
        // The newer first: compaction merges neighbours and never divides, so what it writes begins
        // no later than what it replaces.
        var rest = segments.sorted {
            ($0.header.first, $1.header.generation) < ($1.header.first, $0.header.generation)
        }[...]
        while let source = rest.popFirst() {
            let first = source.header.first
            var last = try? SegmentReader.footerSummary(of: source.file, header: source.header).last
            var unread: [ClosedRange<SequenceNumber>] = []
            if let next = rest.first?.header.first,
                next == first || last.map({ next <= $0 }) ?? true
            {
                var fold = Self.fold(of: source, meet: { _ in })
                try fold.walkAll(meet: { _ in })
                (last, unread) = (fold.lastKnown, fold.unread)
            }
            let replaced = rest.prefix {
                $0.header.first == first || $0.header.first <= last ?? .zero
            }
            rest.removeFirst(replaced.count)
            var start = first
            for run in unread where !replaced.isEmpty {
                if start < run.lowerBound {
                    pieces.append(Piece(source: source, range: start...run.lowerBound.previous))
                }
                pieces += replaced.map { Piece(source: $0, range: run) }
                start = run.upperBound.next
            }
            pieces.append(Piece(source: source, range: start...SequenceNumber(rawValue: .max)))
        }
        return pieces
    }

    /// Copies the events of a piece that were not copied before.
    private mutating func copyEvents(
        of piece: Piece,
        with gathering: inout Gathering
    ) throws(LogError) {
        var found: [LogError] = []
        var fold = Self.fold(of: piece.source, meet: { found.append($0) })
        try fold.walkAll(
            meet: { found.append($0) },
            visit: { if piece.range.contains($0.sequence) { gathering.add($0) } }
        )
        gathering.finish(piece.range, of: piece.source.header.first, fold)
        for error in found where !damage.contains(error) { damage.append(error) }
        if let failure = gathering.failure { throw failure }
    }

    private static func fold(of segment: Source, meet: (LogError) -> Void) -> SegmentFold {
        do throws(LogError) {
            return try SegmentFold(segment.file, header: segment.header)
        } catch {
            // Blocks that do not refer to the dictionary can be read without it.
            meet(error)
            return SegmentFold(segment.file, header: segment.header, dictionary: [])
        }
    }
}

/// What whoever knows the meaning of events makes of a damaged log.
package protocol SalvageMending: AnyObject {
    /// Tells whose log it is, before anything else is asked.
    func begin(store: StoreID)

    /// What is to stand in the place of an event's payload; `nil` to keep it.
    ///
    /// Asked for every event that could be read, in the order of the log.
    func amended(_ event: LogEvent) -> [UInt8]?

    /// A commit of one event that creates a zone, in the place of the one that was lost, with the
    /// times of the next commit that could be read; `nil` to leave the place empty.
    func creation(of zone: UInt64, before commit: LogCommit) -> CommitDraft?
}

/// Puts events back together into the commits they came from.
private struct Gathering {
    let copy: SegmentLog
    private(set) var eventCount: UInt64 = 0
    private(set) var commitCount: UInt64 = 0
    private(set) var lost: [ClosedRange<SequenceNumber>] = []
    private(set) var incomplete: [SequenceNumber] = []
    /// Commits that lack events, which may have been dropped or lost.
    private var partial: [LogCommit] = []
    /// How far it is known what was lost.
    private var surveyed = SequenceNumber.zero
    private(set) var mendedZones: [UInt64] = []
    private(set) var failure: LogError?
    /// Zones whose creation has to be made up, ascending; those that have been are gone.
    var lostZones: [UInt64] = []
    private let mending: (any SalvageMending)?
    private var draft: CommitDraft?
    private var commit: LogCommit?
    private var next: SequenceNumber

    init(copy: SegmentLog, _ mending: (any SalvageMending)?) {
        self.copy = copy
        self.mending = mending
        next = copy.lastSequence.next
    }

    mutating func add(_ event: LogEvent) {
        // A segment may be there twice under two names; what is copied is not copied again.
        guard failure == nil, event.sequence >= next else { return }
        if draft == nil || event.commit.first != commit?.first || event.sequence != next {
            if event.commit.first != commit?.first { commitCount += 1 }
            finish()
            if event.sequence > copy.lastSequence.next {
                mendZones(before: event)
                skip(to: event.sequence)
            }
            commit = event.commit
            draft = CommitDraft(
                time: event.commit.time,
                received: event.commit.received,
                envelope: Array(event.envelope)
            )
        }
        let payload = mending?.amended(event).map { $0[...] } ?? event.payload
        draft?.append(zone: event.zone) { $0 += payload }
        eventCount += 1
        next = event.sequence.next
    }

    /// Puts the creation of lost zones where it was, as far as that lies before an event.
    private mutating func mendZones(before event: LogEvent) {
        while let zone = lostZones.first, zone < event.sequence.rawValue, failure == nil {
            lostZones.removeFirst()
            guard zone > copy.lastSequence.rawValue,
                let draft = mending?.creation(of: zone, before: event.commit)
            else { continue }
            skip(to: SequenceNumber(rawValue: zone))
            do throws(LogError) {
                _ = try copy.append(draft)
                mendedZones.append(zone)
            } catch {
                failure = error
            }
        }
    }

    /// Appends what is left of a piece, and notes what of it was lost.
    mutating func finish(
        _ range: ClosedRange<SequenceNumber>,
        of first: SequenceNumber,
        _ fold: borrowing SegmentFold
    ) {
        finish()
        let start = max(range.lowerBound, first)
        let end = min(range.upperBound, fold.lastKnown)
        note(lost: surveyed.next, through: min(start.previous, end))
        for run in fold.unread {
            note(lost: max(run.lowerBound, start), through: min(run.upperBound, end))
        }
        surveyed = max(surveyed, end)
        // The copy passes over it with the next event: a gap that nothing follows is never written,
        // and closing would wait for it.
        next = max(next, surveyed.next)
        for commit in partial where incomplete.last != commit.first {
            let whole = commit.first...commit.last
            if lost.contains(where: whole.overlaps) { incomplete.append(commit.first) }
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
            let step = UInt32(min(gap, UInt64(Int32.max)))
            copy.appendGap(step)
            gap -= UInt64(step)
        }
    }

    /// Appends what has been gathered of one commit.
    mutating func finish() {
        guard let draft, let commit else { return }
        self.draft = nil
        if draft.events.count != commit.eventCount, partial.last?.first != commit.first {
            partial.append(commit)
        }
        do throws(LogError) {
            let first = try copy.append(draft)
            // One commit at a time keeps the memory of a copy small.
            if first.rawValue % 1_024 == 0 { try copy.blockUntilDurable(first) }
        } catch {
            failure = error
        }
    }
}

extension SequenceNumber {
    /// The position before this one.
    fileprivate var previous: SequenceNumber { SequenceNumber(rawValue: rawValue - 1) }
}
