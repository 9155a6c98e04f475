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
    /// Positions that hold nothing in the copy, first and last of each run.
    ///
    /// Positions after the last event that could be read are not known of.
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
        for segment in ours {
            try copyEvents(of: segment, with: &gathering)
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

    private mutating func copyEvents(
        of segment: Source,
        with gathering: inout Gathering
    ) throws(LogError) {
        var found: [LogError] = []
        var fold = Self.fold(of: segment, meet: { found.append($0) })
        try fold.walkAll(meet: { found.append($0) }, visit: { gathering.add($0) })
        gathering.finish(through: fold.lastKnown)
        damage += found
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
        if event.commit.first != commit?.first || event.sequence != next {
            finish()
            if event.sequence > next {
                lost.append(next...SequenceNumber(rawValue: event.sequence.rawValue - 1))
            }
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

    /// Appends what is left of a segment, and counts as lost what it spoke of behind that.
    mutating func finish(through last: SequenceNumber) {
        finish()
        guard failure == nil, next <= last else { return }
        lost.append(next...last)
        // The copy passes over it with the next event: a gap that nothing follows is never written,
        // and closing would wait for it.
        next = last.next
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
        commitCount += 1
        if draft.events.count != commit.eventCount, incomplete.last != commit.first {
            incomplete.append(commit.first)
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
