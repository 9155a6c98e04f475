// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkLog
import TidemarkViews

extension Store {
    /// Opens a store.
    ///
    /// A store that was not closed is recovered: everything that was acknowledged is there. Missing
    /// or damaged zone views are rebuilt from the log. Only then does opening take time
    /// proportional to the log; `progress` reports the rebuild. An `observer` is notified of the
    /// store's work, for logs, metrics and traces.
    ///
    /// Throws `notAStore`, `locked` (another process has it open for writing), `corrupted` (open it
    /// for reading, or salvage it), `newerVersion`, `foreignFile`, `unreadable` or `full`.
    public static func open(
        at path: String,
        access: StoreAccess = .writing,
        options: StoreOptions = StoreOptions(),
        observer: (any StoreObserver)? = nil,
        progress: (RebuildProgress) -> Void = { _ in }
    ) throws(LogError) -> Store {
        try open(
            at: path,
            access: access,
            options: options,
            environment: StoreEnvironment(),
            observer: observer,
            progress: progress
        )
    }

    /// Opens a store with effects of the caller's.
    package static func open(
        at path: String,
        access: StoreAccess,
        options: StoreOptions = StoreOptions(),
        environment: StoreEnvironment,
        observer: (any StoreObserver)? = nil,
        progress: (RebuildProgress) -> Void = { _ in }
    ) throws(LogError) -> Store {
        var options = options
        if options.isStrict { options.limits.requiresASCIINames = true }
        let opening = StoreOpening(
            folder: StoreFolder(path),
            options: options,
            environment: environment.observed(by: observer),
            observer: observer
        )
        let work = observer?.begins(.opening)
        do throws(LogError) {
            let store = try opening.open(access, progress)
            observer?.notes(
                .opened(last: store.lastSequence, wasClean: store.recovery?.wasClean ?? true)
            )
            work?.ends(nil)
            return store
        } catch {
            work?.ends(error)
            throw error
        }
    }
}

/// Puts a store together from its folder.
struct StoreOpening {
    let folder: StoreFolder
    let options: StoreOptions
    let environment: StoreEnvironment
    /// The observer of the store's work.
    var observer: (any StoreObserver)?

    fileprivate func open(
        _ access: StoreAccess,
        _ progress: (RebuildProgress) -> Void
    ) throws(LogError) -> Store {
        switch access {
        case .writing: try openForWriting(creating: false, progress)
        case .creating: try openForWriting(creating: true, progress)
        case .reading: try openForReading(progress)
        }
    }

    func openForWriting(
        creating: Bool,
        _ progress: (RebuildProgress) -> Void
    ) throws(LogError) -> Store {
        let (parts, log, report) = try openParts(
            creating: creating,
            Listeners(),
            QuotaSettings(limits: options.limits),
            progress
        )
        // An empty log has the lowest of all times.
        let ahead = log.lastTime.subtractingSaturated(log.environment.now())
        return Store(
            parts,
            access: creating ? .creating : .writing,
            recovery: report,
            clockLag: .milliseconds(max(0, ahead)),
            reopening: Reopening(folder: folder, environment: environment) {
                (listeners, quotas, hasFailed) throws(LogError) in
                try reopen(for: listeners, quotas, hasFailed)
            }
        )
    }

    /// Attempts to open the store again while another process has it open, 20 milliseconds apart.
    private static let attemptLimit = 1_500

    /// Opens the parts of a store again that this process has closed.
    private func reopen(
        for listeners: Listeners,
        _ quotas: QuotaSettings,
        _ hasFailed: Bool
    ) throws(LogError) -> OpenStore {
        var attemptCount = 1
        while true {
            do throws(LogError) {
                let opened = try openParts(
                    creating: false,
                    listeners,
                    quotas,
                    removingViews: hasFailed
                ) { _ in }
                observer?.notes(.opened(last: opened.log.durableSequence, wasClean: true))
                return opened.parts
            } catch {
                // Another process may have waited for the moment in which the store was closed.
                guard error.code == .locked, attemptCount < Self.attemptLimit else { throw error }
                attemptCount += 1
                Reopening.pause()
            }
        }
    }

    private func openParts(
        creating: Bool,
        _ listeners: Listeners,
        _ quotas: QuotaSettings,
        removingViews: Bool = false,
        _ progress: (RebuildProgress) -> Void
    ) throws(LogError) -> (parts: OpenStore, log: SegmentLog, report: RecoveryReport) {
        try checkAddressSpace(writing: true)
        let notifier = Notifier(listeners.news)
        let compactor = Compactor()
        // `notifier` and `compactor` ignore these calls until they begin below.
        let (log, report) = try openLog(
            creating: creating,
            onDurable: {
                notifier.ring()
                listeners.arrivals.tellAll()
            },
            onFinished: { compactor.ring() }
        )
        // A call that still runs may use their files, which LMDB must not open twice. Only now, with the
        // lock: another process may have had the store open meanwhile.
        if removingViews { try? environment.removeIndex(folder.views) }
        let line = log.line
        let views: ZoneViews
        do throws(LogError) {
            views = try openViews(of: log, progress)
        } catch {
            // Or else every attempt would be an unclean stop, and leave a segment.
            try? log.close()
            throw error
        }
        let checkpointer = makeCheckpointer(views.index, log)
        checkpointer.begin(views)
        log.sealLeftovers()
        let reader = Reader(
            options: options,
            source: log,
            views: views,
            line: line,
            blobs: BlobStore(folder, log.environment.fileSystem),
            journalReader: JournalReader(folder, of: log.store, log.environment.fileSystem),
            journal: OpenJournal(folder, of: log.store, line.current, options, log.environment),
            environment: log.environment,
            observer: observer,
            listeners: listeners
        )
        let writer = Writer(
            reader,
            log: log,
            committer: Committer(
                log: log,
                views: views,
                checkpointer: checkpointer,
                clock: ClockWatch(log.environment, limit: options.clockJumpLimit?.inMilliseconds)
            ),
            checkpointer: checkpointer,
            quotas: quotas
        )
        let parts = OpenStore(
            reader,
            writer,
            indexes: queries(of: log, views),
            notifier,
            compactor,
            listeners,
            environment.idleSweep
        )
        beginWork(notifier, compactor, parts)
        return (parts, log, report)
    }

    private func openViews(
        of log: SegmentLog,
        _ progress: (RebuildProgress) -> Void
    ) throws(LogError) -> ZoneViews {
        let opening = ViewsOpening(
            folder: folder,
            options: options,
            environment: environment,
            source: log,
            line: log.line
        )
        // LMDB opens its files by their path.
        guard try log.isInPlace() else { throw .movedMeanwhile(folder) }
        let views: ZoneViews
        do throws(LogError) {
            views = try opening.openForWriting(besideReaders: log.hasOlderReaders, progress)
        } catch {
            // On a full disk the views need space too, so that the store can be compacted.
            // The reserve is given back after the attempt, whether the views could be opened or
            // not.
            guard error.code == .full, try log.useReserve() else { throw error }
            defer { log.restoreReserve() }
            views = try opening.openForWriting(besideReaders: log.hasOlderReaders, progress)
        }
        // Again: if the folder was moved in between, these are the views of a store that took its
        // place.
        guard try log.isInPlace() else { throw .movedMeanwhile(folder) }
        return views
    }

    /// Opens the log for writing, after completing an interrupted erasure.
    func openLog(
        creating: Bool,
        onDurable: @escaping @Sendable () -> Void = {},
        onFinished: @escaping @Sendable () -> Void = {}
    ) throws(LogError) -> (log: SegmentLog, report: RecoveryReport) {
        func open() throws(LogError) -> (log: SegmentLog, report: RecoveryReport) {
            try SegmentLog.open(
                folder.path,
                creating: creating,
                configuration: logConfiguration,
                environment: environment.log,
                onDurable: { _ in onDurable() },
                onFinished: onFinished
            )
        }
        // The log is opened before the pending erasure is looked up, because only the holder of its
        // lock may complete one.
        let opened = try open()
        do throws(LogError) {
            var held = environment
            held.log = opened.log.environment
            guard let subject = try ErasureFiles(folder, held).pending() else { return opened }
            _ = try Erasure(of: subject, in: folder, held).run(on: opened.log)
        } catch {
            // Report the original failure.
            try? opened.log.close()
            throw error
        }
        // Spare segments were made before, and go with it.
        try opened.log.close()
        // Opened again, because the erasure has replaced all segments. The report is that of the
        // first open, which did the recovery.
        return (try open().log, opened.report)
    }

    func openForReading(_ progress: (RebuildProgress) -> Void) throws(LogError) -> Store {
        try checkAddressSpace(writing: false)
        let reader = try LogReader(
            folder.path,
            fileSystem: environment.log.fileSystem,
            cacheByteCount: options.cacheByteCount,
            marker: environment.log.marker
        )
        let line = reader.line
        let views = try ViewsOpening(
            folder: folder,
            options: options,
            environment: environment,
            source: reader,
            line: line
        ).openForReading(reader, progress)
        let listeners = Listeners()
        let parts = OpenStore(
            Reader(
                options: options,
                source: reader,
                views: views,
                line: line,
                blobs: BlobStore(folder, reader.fileSystem),
                journalReader: JournalReader(folder, of: reader.store, reader.fileSystem),
                journal: nil,
                environment: environment.log,
                observer: observer,
                listeners: listeners
            ),
            nil,
            indexes: nil,
            nil,
            nil,
            listeners,
            nil
        )
        // Only to find the clock's lag.
        // Damage is reported by the operations that need the damaged part.
        let last = try? reader.event(at: reader.durableSequence)
        let ahead = last?.commit.time.subtractingSaturated(environment.log.now()) ?? 0
        return Store(parts, access: .reading, recovery: nil, clockLag: .milliseconds(max(0, ahead)))
    }

    /// Checks that a limited address space has room for the threads and their heaps, the caches, and the
    /// map of the views.
    private func checkAddressSpace(writing: Bool) throws(LogError) {
        let views = (try? ViewFiles(folder.views).dataByteCount()) ?? 0
        var needed: UInt64 = writing ? 256 << 20 : 64 << 20
        needed += UInt64(clamping: options.cacheByteCount) + views
        if writing { needed += max(UInt64(LMDBOpening.smallestMapByteCount), 4 * views) }
        try AddressSpace.check(has: needed, path: folder.path)
    }

    private func queries(of log: SegmentLog, _ views: ZoneViews) -> StoreQueries {
        // SQLite knows the machine's own files alone, and those by their path.
        let isPosix = environment.log.fileSystem is PosixFileSystem
        return StoreQueries(
            source: log,
            line: log.line,
            folder: { [folder, environment] in
                if let folder = environment.queryFolder { return folder }
                return isPosix && (try? log.isInPlace()) == true ? folder.queries : nil
            },
            permissions: (try? log.environment.fileSystem.status(of: folder.segments))?.permissions
                ?? .owner,
            nearCount: environment.queryIndexNearCount,
            zones: { (zone) throws(SyncError) in
                // Events of the store itself are in no zone.
                if zone == 0 { return nil }
                let standing = try SyncError.wrapping { () throws(ViewIndexError) in
                    try views.picture(.visible).knownZone(zone)
                }
                return standing.map { standing in
                    ChangeReader.QueriedZone(
                        container: views.hash.key(ofContainerOf: standing.identity.database),
                        isQueried: standing.end == nil && !standing.identity.isSystem
                    )
                }
            }
        )
    }

    /// Starts background work; in a simulation nothing runs by itself.
    private func beginWork(_ notifier: Notifier, _ compactor: Compactor, _ parts: OpenStore) {
        begin(notifier, parts.notifications)
        guard !environment.log.writesInline else { return }
        compactor.begin(parts.upkeep)
        parts.queries.indexes?.begin()
        environment.idleSweep.watch(parts.parking)
    }

    /// Starts making notifications in the background; in a simulation they are made when a caller
    /// waits for them.
    private func begin(_ notifier: Notifier, _ store: Notifications) {
        if !environment.log.writesInline { notifier.wakeup.connect(store) }
        // If it is not known whether there are subscriptions, that is found out when it rings.
        if (try? notifier.begin(store)) == nil { notifier.wakeup.arm(true) }
    }

    private var logConfiguration: LogConfiguration {
        var configuration = LogConfiguration()
        configuration.durability = options.durability
        configuration.cacheByteCount = options.cacheByteCount
        configuration.segmentByteCount = options.segmentByteCount
        configuration.permissions = options.permissions
        return configuration
    }

    private func makeCheckpointer(_ index: any ViewIndex, _ log: SegmentLog) -> Checkpointer {
        Checkpointer(
            index: index,
            source: log,
            budget: options.checkpointWeight,
            runsInline: environment.log.writesInline,
            awaitDurable: { (sequence) throws(LogError) in try log.blockUntilDurable(sequence) },
            observer: observer
        )
    }
}

extension LogError {
    /// The store that was being opened is not at its path any more.
    fileprivate static func movedMeanwhile(_ folder: StoreFolder) -> LogError {
        LogError(
            .unreadable,
            "The store's folder was moved while it was being opened. Open it where it is now.",
            path: folder.path
        )
    }
}
