// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLock

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The log of a store, for reading only, whether the store is open elsewhere, closed, or damaged.
///
/// If a writer has the store open, the log is read up to the synced position, which frames record.
/// Otherwise it is read by the rules of recovery. The reader writes nothing and never blocks a
/// writer: it holds a shared lock on its manifest, which only keeps files from being removed.
/// Damage is skipped and recorded; sound parts are read.
package final class LogReader: EventSource {
    package let store: StoreID
    let folder: StoreFolder
    /// The file system, bound to the store's folder.
    package let fileSystem: any FileSystem
    let files: LogFiles
    // Held while frames are walked, and taken before the lock of `files`.
    private let state: Lock<State>

    private struct State {
        var loaded: LoadedManifest
        var durable = SequenceNumber.zero
        var isLive: Bool
        /// The walk of the segment that takes events, and its id.
        var walk: FrameScan?
        var active: SegmentID?
        /// The end of that segment's frames that are visible to readers.
        var framesEnd: UInt64 = 0
        /// The frames that no later frame has vouched for yet.
        var unvouched: [FrameScan.Frame] = []
        var tornByteCount: UInt64 = 0
        /// True if a writer ended or removed a file while it was read, so that the read must be
        /// repeated.
        var isOutdated = false
    }

    /// Opens a store's folder for reading.
    ///
    /// Throws `notAStore`, `newerVersion`, `unreadable`, or `corrupted` if not even the manifest
    /// can be read.
    package init(
        _ directory: String,
        fileSystem: any FileSystem,
        cacheByteCount: Int = 16 << 20,
        marker: EventMarker = .none
    ) throws(LogError) {
        let folder = StoreFolder(directory)
        try AddressSpace.check(has: Self.neededByteCount, path: directory)
        let fileSystem = try LogError.wrapping { () throws(FileError) -> any FileSystem in
            do throws(FileError) {
                return try fileSystem.holding(directory)
            } catch {
                // Nothing is there, or a file: the error is thrown below.
                if error.isMissing { return fileSystem }
                throw error
            }
        }
        self.folder = folder
        self.fileSystem = fileSystem
        let (loaded, isLive, stray) = try Self.look(folder, fileSystem)
        store = loaded.manifest.store
        files = LogFiles(
            store: store,
            folder: folder,
            fileSystem: fileSystem,
            segments: LogFiles.segments(of: loaded.manifest),
            cacheByteCount: cacheByteCount,
            marker: marker,
            isTolerant: true
        )
        state = Lock(State(loaded: loaded, isLive: isLive))
        for damage in [loaded.damage, stray] {
            if let damage { try files.meet(damage) }
        }
        try state.withLock { (state) throws(LogError) in try advance(&state) }
        // A writer changed the store while the active segment was walked, and the walk stopped at
        // what looked like damage.
        for _ in 0..<Self.lookLimit where state.withLock({ $0.isOutdated }) { _ = try refresh() }
        // While a writer has the store open, its manifest is right (`Docs/formats/segment.md`,
        // "Older files").
        if !isLive { try checkNewerManifests(than: loaded) }
    }

    /// Records damage if a newer manifest names a position after the end of the log.
    private func checkNewerManifests(than loaded: LoadedManifest) throws(LogError) {
        do throws(LogError) {
            try folder.checkNewerManifests(
                than: loaded.number,
                of: loaded.manifest,
                logEndsWith: durableSequence,
                fileSystem
            )
        } catch {
            // A writer that opened the store meanwhile makes its manifest current before it writes
            // events.
            let current = try LoadedManifest.currentNumber(in: folder, fileSystem: fileSystem)
            if current == loaded.number { try files.meet(error) }
        }
    }

    /// Reads the current manifest, and whether a writer has the store open, and the error with
    /// which a writer would reject unlisted segments.
    ///
    /// While a writer is running, its manifest is right, and it creates and removes files that the
    /// manifest does not list. If a writer opened the store between two reads, it has written a new
    /// manifest, and the folder is read again.
    private static func look(
        _ folder: StoreFolder,
        _ fileSystem: any FileSystem
    ) throws(LogError) -> (loaded: LoadedManifest, isLive: Bool, stray: LogError?) {
        while true {
            let loaded = try load(folder, fileSystem)
            // After the manifest: a writer that starts later has another manifest, and is detected
            // as live.
            if try isLive(folder, fileSystem: fileSystem) { return (loaded, true, nil) }
            do throws(LogError) {
                // The lost end of a damaged manifest may have listed segments that the rest does
                // not.
                if loaded.damage == nil { _ = try folder.orphans(of: loaded.manifest, fileSystem) }
                return (loaded, false, nil)
            } catch {
                if try isLive(folder, fileSystem: fileSystem) { continue }
                let number = try LoadedManifest.currentNumber(in: folder, fileSystem: fileSystem)
                if number == loaded.number { return (loaded, false, error) }
            }
        }
    }

    /// The address space that reading takes besides the views and the cache: threads, and the heaps
    /// that the C library reserves for them.
    private static let neededByteCount: UInt64 = 64 << 20

    /// Loads the current manifest, or throws an error that describes the folder's content.
    private static func load(
        _ folder: StoreFolder,
        _ fileSystem: any FileSystem
    ) throws(LogError) -> LoadedManifest {
        if let loaded = try LoadedManifest.load(from: folder, fileSystem: fileSystem) {
            return loaded
        }
        do throws(LogError) {
            let (isThere, isUnfinished) = try LogError.wrapping { () throws(FileError) in
                (
                    try fileSystem.exists(folder.segments),
                    try fileSystem.exists(folder.unfinishedCurrent)
                )
            }
            if isUnfinished { throw .unfinishedSalvage(folder) }
            if isThere {
                _ = try folder.names(fileSystem)
                try folder.checkHoldsNoCommits(fileSystem)
            }
        } catch {
            // Another process may have created the store meanwhile.
            if let loaded = try LoadedManifest.load(from: folder, fileSystem: fileSystem) {
                return loaded
            }
            throw error
        }
        throw LogError(
            .notAStore,
            "Expected a store's folder with a file CURRENT. Check the path, or create the store by "
                + "importing into it.",
            path: folder.path
        )
    }

    package var cacheUse: CacheUse { files.cache.use }

    package var line: IncarnationLine { state.withLock { $0.loaded.manifest.line } }

    package var compactedThrough: SequenceNumber {
        state.withLock { $0.loaded.manifest.compactedThrough }
    }

    package var durableSequence: SequenceNumber { state.withLock { $0.durable } }

    /// True if another process had the store open for writing at the last refresh.
    package var isLive: Bool { state.withLock { $0.isLive } }

    /// Returns true if another process has the store open for writing now.
    package func isLiveNow() throws(LogError) -> Bool {
        try Self.isLive(folder, fileSystem: fileSystem)
    }

    /// The damage that has been found so far.
    package var damage: [LogError] { files.damage }

    /// Adds damage that was found outside of the log.
    package func meet(_ damage: LogError) throws(LogError) { try files.meet(damage) }

    /// The number of bytes after the last sound frame that the next writer will discard.
    package var tornByteCount: UInt64 { state.withLock { $0.tornByteCount } }

    /// The path of the folder for the store's views.
    package var viewsPath: String { folder.views }

    /// The folder of the segments.
    package var segmentsPath: String { folder.segments }

    /// The manifest as of the last refresh.
    package var manifest: Manifest { state.withLock { $0.loaded.manifest } }

    package var finishedManifest: Manifest {
        state.withLock { state in
            var manifest = state.loaded.manifest
            manifest.finish(through: state.durable, framesEnd: state.framesEnd)
            return manifest
        }
    }

    package func read(
        _ sequences: [SequenceNumber],
        _ visit: (LogEvent) -> Bool
    ) throws(LogError) {
        try files.read(sequences, visit)
    }

    package func readRuns(
        _ sequences: [SequenceNumber],
        _ take: (EventRun) -> Bool
    ) throws(LogError) {
        try files.readRuns(sequences, take)
    }

    package func scan(
        from first: SequenceNumber,
        through last: SequenceNumber,
        _ visit: (LogEvent) -> Bool
    ) throws(LogError) {
        try files.scan(from: first, through: min(last, durableSequence), visit)
    }

    package func scan(
        zone: ZoneKey,
        from first: SequenceNumber,
        through last: SequenceNumber,
        _ visit: (LogEvent) -> Bool
    ) throws(LogError) {
        try files.scan(zone: zone, from: first, through: min(last, durableSequence), visit)
    }

    package func lastSequence(atOrBefore time: Int64) throws(LogError) -> SequenceNumber {
        try files.lastSequence(atOrBefore: time)
    }

    // MARK: Following

    /// Reads a writer's changes since the last refresh; returns true if the watermark has moved.
    package func refresh() throws(LogError) -> Bool {
        let before = durableSequence
        guard let loaded = try LoadedManifest.load(from: folder, fileSystem: fileSystem) else {
            throw LogError(
                .notAStore,
                "The store has been removed. Restore it from a backup, or open another one.",
                path: folder.path
            )
        }
        // The lock is checked after the manifest is read, for the reason given in `look`.
        let isLive = try Self.isLive(folder, fileSystem: fileSystem)
        try state.withLock { (state) throws(LogError) in
            // Releases the lock on the manifest that was read before. Its files may be removed from
            // here on.
            state.loaded = loaded
            state.isLive = isLive
            // Makes `advance` open the segment again: the last walk met bytes that were being
            // changed.
            if state.isOutdated { state.active = nil }
            state.isOutdated = false
            files.update { segments in
                var fresh = LogFiles.segments(of: loaded.manifest)
                for index in fresh.indices {
                    guard let known = segments.first(where: { $0.id == fresh[index].id }) else {
                        continue
                    }
                    // An ended segment has blocks that this reader did not walk to; a segment with
                    // a new footer is worth reopening.
                    if known.last == fresh[index].last, known.isSealed == fresh[index].isSealed {
                        fresh[index].reader = known.reader
                    }
                }
                segments = fresh
            }
            try advance(&state)
        }
        return durableSequence != before
    }

    /// The number of times that a read restarts because a writer changed the store meanwhile.
    static let lookLimit = 20

    /// Returns true if a writer has opened the store, or ended, sealed or replaced segments, since
    /// the last refresh.
    package func hasMoved() throws(LogError) -> Bool {
        try hasMoved(since: state.withLock { $0.loaded })
    }

    /// Returns true if a writer has the store open or changed it since the last refresh.
    package func isOvertaken() throws(LogError) -> Bool {
        if try isLiveNow() { return true }
        return try hasMoved()
    }

    private func hasMoved(since seen: LoadedManifest) throws(LogError) -> Bool {
        guard let loaded = try LoadedManifest.load(from: folder, fileSystem: fileSystem) else {
            return true
        }
        return loaded.number != seen.number || loaded.manifest != seen.manifest
    }

    /// Records damage, unless a writer has changed the store since the last refresh: then the
    /// reader must refresh.
    private func meet(_ error: LogError, _ state: inout State) throws(LogError) {
        if try hasMoved(since: state.loaded) {
            state.isOutdated = true
        } else {
            try files.meet(error)
        }
    }

    /// Waits until the writer has vouched for everything that it had written when this reader was
    /// opened.
    ///
    /// The writer does so soon after it becomes idle.
    ///
    /// Compaction replaces segments only after the record of dropped events is in the log. After
    /// this call, a reader that knows the new segments therefore also has that record. Throws
    /// `locked` if the wait takes too long.
    package func settle() throws(LogError) {
        guard let last = state.withLock({ $0.unvouched.last?.header.last }) else { return }
        // At most 250 times 4 ms. A writer vouches 20 ms after it becomes idle.
        for _ in 0..<Self.settlingLimit where durableSequence < last {
            if try !refresh() { usleep(Self.settlingDelay) }
        }
        guard durableSequence >= last else {
            throw LogError(
                .locked,
                "The process that has the store open does not report how much of its log is on "
                    + "disk. Try again, or end that process.",
                path: folder.path
            )
        }
    }

    private static let settlingLimit = 250
    /// The delay between two checks, in microseconds.
    private static let settlingDelay: UInt32 = 4_000

    /// Returns true if a writer holds the store's lock; the test lock is released at once.
    private static func isLive(
        _ folder: StoreFolder,
        fileSystem: any FileSystem
    ) throws(LogError) -> Bool {
        try LogError.wrapping { () throws(FileError) in
            guard try fileSystem.exists(folder.lock) else { return false }
            let file = try fileSystem.open(folder.lock, .read)
            defer { file.close() }
            // A shared lock conflicts only with a writer's. A writer that opens the store at this
            // instant tries again (`LogOpening.lock`).
            return try !file.lock(.shared)
        }
    }

    /// Walks the active segment from where the last walk stopped.
    private func advance(_ state: inout State) throws(LogError) {
        let manifest = state.loaded.manifest
        let finished = manifest.segments.last { $0.last != nil }?.last ?? .zero
        state.durable = max(state.durable, finished)
        guard let active = manifest.active else { return }
        if state.active != active.id {
            state.active = active.id
            state.walk = try start(active.id, &state)
            // The manifest vouches for all frames of the segment that was active before.
            state.unvouched = []
        }
        guard var walk = state.walk else { return }
        try walk.lookAgain()
        try advance(&state, &walk, promised: manifest.closing?.framesEnd)
        state.walk = walk
    }

    /// Opens the active segment; its blocks are added as the walk finds frames.
    private func start(_ id: SegmentID, _ state: inout State) throws(LogError) -> FrameScan? {
        do throws(LogError) {
            let (file, header) = try SegmentReader.open(
                id,
                store: store,
                in: folder,
                fileSystem: fileSystem
            )
            let reader = SegmentReader(
                id: id,
                file: file,
                header: header,
                dictionary: try SegmentReader.dictionary(of: file, header: header),
                blocks: []
            )
            files.update { segments in
                guard let index = segments.firstIndex(where: { $0.id == id }) else { return }
                segments[index].reader = reader
            }
            return try FrameScan(file, header: header)
        } catch {
            try meet(error, &state)
            return nil
        }
    }

    private func advance(
        _ state: inout State,
        _ walk: inout FrameScan,
        promised: UInt64?
    ) throws(LogError) {
        while true {
            switch try walk.step() {
            case .frame(let frame):
                state.unvouched.append(frame)
                // What a frame says about earlier ones counts at once. Whether the frame itself is on
                // disk, a later one says, or that no writer has the store.
                accept(&state) { $0.end <= frame.header.syncedOffset }
            case .stop(let stop):
                // A write in progress looks torn but is not, and neither is anything written since
                // the lock was checked.
                if !state.isLive { state.isLive = try isLiveNow() }
                // Not before: a writer may have opened the store since the lock was checked.
                if !state.isLive { accept(&state) { _ in true } }
                let tail: Tail =
                    state.isLive
                    ? .clean
                    : try walk.tail(
                        after: stop,
                        promised: promised
                    )
                switch tail {
                case .clean: return
                case .torn(let byteCount):
                    state.tornByteCount = byteCount
                    return
                case .corrupted(let error):
                    try meet(error, &state)
                    if state.isOutdated { return }
                    let next = try walk.goOn(behind: stop)
                    if let frame = next.frame {
                        state.unvouched.append(frame)
                        accept(&state) { _ in true }
                    }
                    guard next.goesOn else { return }
                }
            }
        }
    }

    /// Makes frames that are known to be on disk visible to readers.
    private func accept(_ state: inout State, _ isSynced: (FrameScan.Frame) -> Bool) {
        guard let reader = files.segments.last?.reader else { return }
        var acceptedCount = 0
        for frame in state.unvouched {
            // Frames become visible in order, so that positions up to `durable` have no hole.
            guard isSynced(frame) else { break }
            if frame.header.kind.holdsEvents {
                reader.add(frame.blocks)
                state.durable = max(state.durable, frame.header.last)
            }
            state.framesEnd = frame.end
            acceptedCount += 1
        }
        state.unvouched.removeFirst(acceptedCount)
    }
}

extension FrameScan {
    /// Discards the results of earlier reads, since a writer may have continued.
    mutating func lookAgain() throws(LogError) {
        window = try FileWindow(window.file)
        limit = window.fileByteCount
    }
}
