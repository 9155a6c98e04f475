// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Copies every readable event of a damaged log into a new store.
///
/// Positions are kept, since records and zones refer to each other by position; lost events leave
/// gaps. The copy is the same store in a new incarnation that begins at the first event. Every
/// change token of the damaged store is therefore expired, so that no device hears that nothing
/// is new after events were lost.
///
/// The log does not interpret events. A ``SalvageMending`` can correct events that refer to lost
/// ones.
package struct Salvage: Sendable {
    /// The damage that was found, in log order.
    package private(set) var damage: [LogError] = []
    package private(set) var eventCount: UInt64 = 0
    package private(set) var commitCount: UInt64 = 0
    /// Positions whose events are lost, as runs; positions that compaction has dropped are not
    /// included.
    ///
    /// The end of the log is the last position that a sound frame, the manifest or the views name.
    /// Losses after it are unknown.
    package private(set) var lost: [ClosedRange<SequenceNumber>] = []
    /// The first positions of commits of which only a part could be read.
    package private(set) var incomplete: [SequenceNumber] = []

    /// The keys of zones whose creation event was lost and has been recreated.
    package private(set) var mendedZones: [ZoneKey] = []

    private let source: StoreFolder
    private let fileSystem: any FileSystem
    /// Open while segments are read, so that a concurrent writer removes none of them.
    private var manifest: LoadedManifest?

    /// Reads a store's folder, with or without a readable manifest, and writes a new store.
    ///
    /// `complete` adds the store's files outside of the log. Before it returns, the folder is not a
    /// store, and a new run starts over. There is one exception: directly after the new store's
    /// first file is written, the folder is an empty store, which a new run rejects. If two runs
    /// use one folder at the same time, neither result may be used.
    ///
    /// Throws if there is nothing to read, if the destination is not free, or if writing it fails.
    /// The source is not changed.
    package static func run(
        from source: String,
        to destination: String,
        environment: LogEnvironment,
        mending: (any SalvageMending)? = nil,
        complete: () throws(LogError) -> Void = {}
    ) throws(LogError) -> Salvage {
        var salvage = Salvage(
            source: StoreFolder(source),
            fileSystem: environment.fileSystem
        )
        let copy = UnfinishedStore(
            folder: StoreFolder(destination),
            fileSystem: environment.fileSystem
        )
        try salvage.run(to: copy, environment: environment, mending)
        try complete()
        try copy.finish()
        return salvage
    }

    private init(source: StoreFolder, fileSystem: any FileSystem) {
        self.source = source
        self.fileSystem = fileSystem
    }

    private mutating func run(
        to unfinished: UnfinishedStore,
        environment: LogEnvironment,
        _ mending: (any SalvageMending)?
    ) throws(LogError) {
        let segments = try readableSegments()
        let header = (segments.first(where: \.isListed) ?? segments.first)?.header
        let nothing = LogError(
            .notAStore,
            "The folder holds no segment with a sound header, so there is nothing to copy. Check "
                + "the path.",
            path: source.segments
        )
        guard let store = header?.store ?? manifest?.manifest.store else { throw nothing }
        mending?.begin(store: store)
        let promised = try source.newestEnd(of: store, from: 0, fileSystem).last
        // Positions up to here were given out, so those without a readable event are lost.
        let end = max(promised, mending?.lastKnown ?? .zero)
        // If all segments are lost, the copy is empty, and the result lists every position as lost.
        if segments.isEmpty, end == .zero { throw nothing }
        // Before the open, which would write into an existing store.
        try unfinished.folder.checkFree(forCopyOf: store, environment.fileSystem)
        try unfinished.clear()
        let copy = try makeCopy(unfinished, of: store, environment)
        let ours = segments.filter { $0.header.store == store }
        let dropped = try droppedThrough(ours)
        var gathering = Gathering(copy: copy, droppedThrough: dropped, mending)
        let stretches = try stretches(of: ours)
        if let mending {
            let losses = try losses(in: stretches)
            gathering.lostZones = losses.zones
            mending.take(lost: losses.positions, droppedThrough: dropped)
        }
        // An unlisted segment whose positions are all accounted for can add no event, and its
        // damage does not matter.
        for stretch in stretches
        where stretch.source.isListed || !gathering.hasSurveyed(through: stretch.last) {
            try copyEvents(of: stretch, with: &gathering)
        }
        if !gathering.hasSurveyed(through: end) {
            gathering.finish(from: end.next, through: end, missing: [])
        }
        try gathering.close()
        eventCount = gathering.eventCount
        commitCount = gathering.commitCount
        lost = gathering.positions.runs
        incomplete = gathering.incomplete
        mendedZones = gathering.mendedZones
        // Releases the lock on the source's manifest. All segments have been read.
        manifest = nil
        // As in the damaged store, what lacks events is listed as compacted.
        if gathering.compactedThrough > .zero {
            try copy.blockUntilDurable(copy.lastSequence)
            try copy.noteCompacted(through: gathering.compactedThrough)
        }
        try copy.close()
    }

    /// Creates the empty log of the copy, which is not a store yet.
    private func makeCopy(
        _ unfinished: UnfinishedStore,
        of store: StoreID,
        _ environment: LogEnvironment
    ) throws(LogError) -> SegmentLog {
        var configuration = LogConfiguration()
        configuration.permissions = try LogError.wrapping { () throws(FileError) in
            try fileSystem.status(of: source.segments)?.permissions ?? .owner
        }
        let opening = try LogOpening(
            folder: unfinished.folder,
            configuration: configuration,
            environment: environment
        )
        .holdingFolder(creating: true)
        let opened = try opening.open(creating: true, asCopyOf: store)
        guard opened.report.isNew else {
            throw LogError(
                .notAStore,
                "A store is already here. Give a path that does not exist yet.",
                path: unfinished.folder.path
            )
        }
        try unfinished.hide()
        return SegmentLog(
            opened: opened,
            configuration: configuration,
            environment: opening.environment,
            onDurable: { _ in }
        )
    }

    /// Returns the last position whose event compaction may have dropped; zero without a compaction.
    private func droppedThrough(_ segments: [Source]) throws(LogError) -> SequenceNumber {
        var last = manifest?.manifest.compactedThrough ?? .zero
        if let manifest, manifest.damage == nil { return last }
        // Without a manifest, only the names tell: compaction gives a new segment the next generation.
        // So does an open that replaces an empty segment, which then counts as compacted too.
        for segment in segments where segment.header.generation > 0 {
            last = max(last, try lastKnown(of: segment))
        }
        return last
    }

    /// Returns the keys of zones that events refer to and no event creates, and the positions whose
    /// events are lost; both ascend.
    private func losses(
        in stretches: [Stretch]
    ) throws(LogError) -> (zones: [ZoneKey], positions: [ClosedRange<SequenceNumber>]) {
        var named: Set<ZoneKey> = []
        var created: Set<ZoneKey> = []
        var positions = LostPositions()
        for stretch in stretches {
            var fold = Self.fold(of: stretch.source, meet: { _ in })
            try fold.walkAll(
                promised: stretch.source.framesEnd,
                meet: { _ in },
                visit: { event in
                    guard stretch.holds(event) else { return }
                    if event.zone.creation == event.sequence {
                        created.insert(event.zone)
                    } else if event.zone != 0 {
                        named.insert(event.zone)
                    }
                }
            )
            // As in the copying that follows.
            if stretch.source.isListed || positions.surveyed < stretch.last {
                var errors: [LogError] = []
                var (fillers, missing) = try fillers(of: stretch, &errors)
                if stretch.others.isEmpty { missing = fold.unread }
                positions.survey(from: stretch.first, through: stretch.last, missing: missing)
                for event in fillers where event.zone.creation == event.sequence {
                    created.insert(event.zone)
                }
            }
        }
        return (named.subtracting(created).sorted(), positions.runs)
    }

    /// A segment whose header is sound.
    private struct Source {
        var file: any LogFile
        var header: FileHeader
        /// The end of the segment's frames, if the manifest contains it.
        var framesEnd: UInt64?
        /// True if a fully readable manifest lists the segment.
        var isListed: Bool
    }

    /// Returns all segment files: unlisted ones may hold events that are missing from listed ones.
    ///
    /// If the manifest is not fully readable, no segment counts as listed: the damaged part may
    /// have listed replacements.
    private mutating func readableSegments() throws(LogError) -> [Source] {
        var ids: [SegmentID] = []
        var ends: [SegmentID: UInt64] = [:]
        do throws(LogError) {
            if let loaded = try LoadedManifest.load(from: source, fileSystem: fileSystem) {
                manifest = loaded
                for segment in loaded.manifest.segments { ends[segment.id] = segment.framesEnd }
                if let error = loaded.damage {
                    damage.append(error)
                } else {
                    ids = loaded.manifest.segments.map(\.id)
                }
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
                    "The manifest names this segment, but the file is missing.",
                    path: source.segment(id)
                )
            )
        }
        let known = Set(ids)
        var sources: [Source] = []
        for id in present.sorted() {
            do throws(LogError) {
                let file = try LogError.wrapping { () throws(FileError) in
                    try fileSystem.open(source.segment(id), .read)
                }
                let header = try FileHeader.read(from: file, kind: .segment)
                let isNamed = header.first == id.first && header.generation == id.generation
                sources.append(
                    Source(
                        file: file,
                        header: header,
                        framesEnd: isNamed ? ends[id] : nil,
                        isListed: isNamed && known.contains(id)
                    )
                )
                if known.contains(id) { try checkListed(file, header, isNamed, isSealed(id)) }
            } catch {
                // An unlisted segment may be damaged: it was no longer needed.
                if ids.isEmpty || known.contains(id) { damage.append(error) }
            }
        }
        return sources
    }

    private func isSealed(_ id: SegmentID) -> Bool {
        manifest?.manifest.segments.contains { $0.id == id && $0.fileByteCount != nil } ?? false
    }

    /// Throws the damage of a listed segment that does not keep its events from being read: another
    /// segment's file under its name, or an unreadable footer.
    private func checkListed(
        _ file: any LogFile,
        _ header: FileHeader,
        _ isNamed: Bool,
        _ isSealed: Bool
    ) throws(LogError) {
        guard isNamed else {
            throw LogError(
                .foreignFile,
                "The file is that of the segment that begins with event \(header.first), generation "
                    + "\(header.generation). Its events are used where no other segment has them.",
                path: file.path
            )
        }
        if isSealed { _ = try SegmentReader.footer(of: file, header: header) }
    }

    /// The positions that are read from one segment, and other segments that hold or held some of
    /// them.
    ///
    /// After an interrupted compaction, or while readers use the old segments, replaced segments
    /// still exist, as do new ones that are not yet in place. They only supply events that are
    /// unreadable in the main segment: compaction has dropped their other events.
    private struct Stretch {
        var source: Source
        var first: SequenceNumber
        var last: SequenceNumber
        var others: [Source]

        func holds(_ event: LogEvent) -> Bool { first <= event.sequence && event.sequence <= last }
    }

    /// Returns the stretches to read, in log order: listed segments, and unlisted ones between
    /// them.
    ///
    /// Positions in two stretches are read from the first.
    private func stretches(of segments: [Source]) throws(LogError) -> [Stretch] {
        // Newest first: compaction merges neighbors and never splits, so its output begins no later
        // than its input.
        let sorted = segments.sorted {
            ($0.header.first, $1.header.generation) < ($1.header.first, $0.header.generation)
        }
        let unlisted = sorted.filter { !$0.isListed }
        let ends = unlisted.map(footerEnd)
        func others(
            from index: Int,
            _ first: SequenceNumber,
            _ last: SequenceNumber
        ) -> [Source] {
            let overlapping = zip(unlisted[index...], ends[index...]).prefix { other, _ in
                other.header.first <= last
            }
            return overlapping.filter { _, end in end.map { $0 >= first } ?? true }.map(\.0)
        }
        var stretches: [Stretch] = []
        var gaps: [ClosedRange<SequenceNumber>] = []
        var next = SequenceNumber(rawValue: 1)
        for source in sorted where source.isListed {
            let first = source.header.first
            let last = try lastKnown(of: source)
            let others = others(from: 0, first, last)
            stretches.append(Stretch(source: source, first: first, last: last, others: others))
            // No listed segment covers these positions. Unlisted ones may.
            if next < first { gaps.append(next...first.previous) }
            next = max(next, last.next)
        }
        // If the manifest is older than the segments, unlisted ones may follow the last listed one.
        gaps.append(next...SequenceNumber(rawValue: .max))
        for (index, source) in unlisted.enumerated() {
            let last = try lastKnown(of: source)
            for gap in gaps where source.header.first <= gap.upperBound && gap.lowerBound <= last {
                let first = max(source.header.first, gap.lowerBound)
                let last = min(last, gap.upperBound)
                let others = others(from: index + 1, first, last)
                stretches.append(Stretch(source: source, first: first, last: last, others: others))
            }
        }
        // In order of creation if they begin at the same position.
        return stretches.enumerated().sorted { ($0.1.first, $0.0) < ($1.1.first, $1.0) }.map(\.1)
    }

    /// Returns the last position that a sound part of a segment names.
    private func lastKnown(of segment: Source) throws(LogError) -> SequenceNumber {
        if let end = footerEnd(of: segment) { return end }
        var fold = Self.fold(of: segment, meet: { _ in })
        try fold.walkAll(promised: segment.framesEnd, meet: { _ in })
        return fold.lastKnown
    }

    private func footerEnd(of segment: Source) -> SequenceNumber? {
        try? SegmentReader.footerSummary(of: segment.file, header: segment.header).last
    }

    /// Copies the events of a stretch that have not been copied yet.
    private mutating func copyEvents(
        of stretch: Stretch,
        with gathering: inout Gathering
    ) throws(LogError) {
        var found: [LogError] = []
        var (fillers, missing) = try fillers(of: stretch, &found)
        var fold = Self.fold(of: stretch.source, meet: { found.append($0) })
        try fold.walkAll(
            promised: stretch.source.framesEnd,
            meet: { found.append($0) },
            visit: { event in
                guard stretch.holds(event) else { return }
                // Both sources ascend, so the copy gets the events in the order of the log.
                while let filler = fillers.first, filler.sequence < event.sequence {
                    gathering.add(filler)
                    fillers.removeFirst()
                }
                gathering.add(event)
            }
        )
        for filler in fillers where stretch.holds(filler) { gathering.add(filler) }
        // Without other segments, `fillers` does not walk the segment in advance, and this walk is
        // the only one.
        if stretch.others.isEmpty { missing = fold.unread }
        gathering.finish(
            from: stretch.first,
            through: stretch.last,
            missing: missing
        )
        for error in found where !damage.contains(error) { damage.append(error) }
        if let failure = gathering.failure { throw failure }
    }

    /// Reads the unreadable events of a stretch from its other segments, in order, and returns the
    /// positions that remain unknown.
    ///
    /// The result is in memory at once, and is empty without damage.
    private func fillers(
        of stretch: Stretch,
        _ found: inout [LogError]
    ) throws(LogError) -> (events: ArraySlice<LogEvent>, missing: [ClosedRange<SequenceNumber>]) {
        if stretch.others.isEmpty { return ([], []) }
        var fold = Self.fold(of: stretch.source, meet: { _ in })
        try fold.walkAll(meet: { _ in })
        var missing = fold.unread
        var events: [LogEvent] = []
        for source in stretch.others where !missing.isEmpty {
            var errors: [LogError] = []
            var old = Self.fold(of: source, meet: { errors.append($0) })
            try old.walkAll(
                promised: source.framesEnd,
                meet: { errors.append($0) },
                visit: { if missing.overlap($0.sequence...$0.sequence) { events.append($0) } }
            )
            // A position that a sound part of the other segment covers is known now, even if it
            // held no event there.
            missing = missing.removing(
                from: source.header.first,
                through: old.lastKnown,
                except: old.unread
            )
            found += errors
        }
        return (events.sorted { $0.sequence < $1.sequence }[...], missing)
    }

    private static func fold(of segment: Source, meet: (LogError) -> Void) -> SegmentFold {
        do throws(LogError) {
            return try SegmentFold(segment.file, header: segment.header)
        } catch {
            // Blocks that do not use the dictionary can be read without it.
            meet(error)
            return SegmentFold(segment.file, header: segment.header, dictionary: [])
        }
    }
}

/// The corrections of a damaged log by code that interprets events.
package protocol SalvageMending: AnyObject {
    /// Receives the log's store, before any other call.
    func begin(store: StoreID)

    /// Receives the positions of the lost events, and the last one whose event compaction may have
    /// dropped, before any event.
    func take(lost: [ClosedRange<SequenceNumber>], droppedThrough: SequenceNumber)

    /// The last known position of the store, by its files outside of the log; zero if unknown.
    var lastKnown: SequenceNumber { get }

    /// Returns a replacement for an event's payload; `nil` to keep it.
    ///
    /// Called for every readable event, in log order.
    func amended(_ event: LogEvent) -> [UInt8]?

    /// Returns the commit that follows all events; `nil` if none is needed.
    ///
    /// It records what compaction has dropped up to a position, if no event does. Otherwise it has no
    /// effect, and is only needed if the last commit is cut off.
    func closing(
        droppedThrough last: SequenceNumber,
        isCutOff: Bool,
        notBefore time: Int64
    ) -> CommitDraft?

    /// Returns a commit of one event that recreates a lost zone; `nil` to leave the position empty.
    ///
    /// The commit has the times of the next readable commit.
    func creation(of zone: ZoneKey, before commit: LogCommit) -> CommitDraft?
}
