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

/// The log of a store, for reading only: whether it is open elsewhere, closed, or damaged.
///
/// A store that a writer has open is read up to the synced position, which frames tell; one that
/// nobody has open is read by recovery's rules. Nothing is written and no writer is kept waiting:
/// the reader holds a shared lock on the manifest it reads, which only keeps files from being
/// removed. Damage is passed over and can be asked for; what is sound is read.
package final class LogReader: EventSource {
    package let store: StoreID
    let folder: StoreFolder
    /// With the store's folder held on to.
    package let fileSystem: any FileSystem
    let files: LogFiles
    private let state: Lock<State>

    private struct State {
        var loaded: LoadedManifest
        var durable = SequenceNumber.zero
        var isLive: Bool
        /// The walk of the segment that takes events, and its id.
        var walk: FrameScan?
        var active: SegmentID?
        /// Where the frames of that segment end that readers find.
        var framesEnd: UInt64 = 0
        /// Frames that no later frame has vouched for yet.
        var unvouched: [FrameScan.Frame] = []
        var tornByteCount: UInt64 = 0
        /// Tells whether a writer ended or removed a file while it was read, so that it has to be read anew.
        var isOutdated = false
    }

    /// Opens a store's folder for reading.
    ///
    /// Throws `notAStore`, `newerVersion`, `unreadable`, or `corrupted` if not even the manifest
    /// can be read.
    package init(
        _ directory: String,
        fileSystem: any FileSystem,
        cacheByteCount: Int = 16 << 20
    ) throws(LogError) {
        let folder = StoreFolder(directory)
        try AddressSpace.check(has: Self.neededByteCount, path: directory)
        let fileSystem = try LogError.wrapping { () throws(FileError) -> any FileSystem in
            do throws(FileError) {
                return try fileSystem.holding(directory)
            } catch {
                // Nothing is there, or a file: said below.
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
            isTolerant: true
        )
        state = Lock(State(loaded: loaded, isLive: isLive))
        for damage in [loaded.damage, stray] {
            if let damage { try files.meet(damage) }
        }
        try state.withLock { (state) throws(LogError) in try advance(&state) }
        for _ in 0..<Self.lookLimit where state.withLock({ $0.isOutdated }) { _ = try refresh() }
        if !isLive { try checkNewerManifests(than: loaded) }
    }

    /// Notes as damage that a newer manifest names more than the log has.
    private func checkNewerManifests(than loaded: LoadedManifest) throws(LogError) {
        do throws(LogError) {
            try folder.checkNewerManifests(
                than: loaded.number,
                of: loaded.manifest,
                logEndsWith: durableSequence,
                fileSystem
            )
        } catch {
            // A writer that came meanwhile makes its manifest current before it writes events.
            let current = try LoadedManifest.currentNumber(in: folder, fileSystem: fileSystem)
            if current == loaded.number { try files.meet(error) }
        }
    }

    /// The manifest that counts, whether a writer has the store open, and the error with which a writer
    /// would reject segments that the manifest does not list.
    ///
    /// While a writer lives its manifest is the right one, and it makes and removes files that the
    /// manifest does not list. A writer that opened the store between two looks has written a manifest
    /// of its own: then the folder is looked at again.
    private static func look(
        _ folder: StoreFolder,
        _ fileSystem: any FileSystem
    ) throws(LogError) -> (loaded: LoadedManifest, isLive: Bool, stray: LogError?) {
        while true {
            let loaded = try load(folder, fileSystem)
            // After the manifest: a writer that starts later has another one, and shows as live.
            if try isLive(folder, fileSystem: fileSystem) { return (loaded, true, nil) }
            do throws(LogError) {
                // The end of a damaged manifest may have listed what the rest of it does not.
                if loaded.damage == nil { _ = try folder.orphans(of: loaded.manifest, fileSystem) }
                return (loaded, false, nil)
            } catch {
                if try isLive(folder, fileSystem: fileSystem) { continue }
                let number = try LoadedManifest.currentNumber(in: folder, fileSystem: fileSystem)
                if number == loaded.number { return (loaded, false, error) }
            }
        }
    }

    /// Address space for what reading takes besides the views and the cache: threads and the heaps that
    /// the C library reserves for them.
    private static let neededByteCount: UInt64 = 64 << 20

    /// The manifest that counts, or an error that says what is there instead.
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
            // Somebody may have made it meanwhile.
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

    /// Whether another process had the store open for writing when it was last looked at.
    package var isLive: Bool { state.withLock { $0.isLive } }

    /// Whether another process has the store open for writing at this moment.
    package func isLiveNow() throws(LogError) -> Bool {
        try Self.isLive(folder, fileSystem: fileSystem)
    }

    /// What is damaged, as far as it has been met; ``verify()`` meets all of it.
    package var damage: [LogError] { files.damage }

    /// Adds damage that was found beside the log.
    package func meet(_ damage: LogError) throws(LogError) { try files.meet(damage) }

    /// Bytes behind the last sound frame that the next writer will discard.
    package var tornByteCount: UInt64 { state.withLock { $0.tornByteCount } }

    /// The folder where the store's views are, if it has any.
    package var viewsPath: String { folder.views }

    /// The manifest as it was last looked at.
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

    /// Looks again at what a writer has done since; returns whether the watermark has moved.
    package func refresh() throws(LogError) -> Bool {
        let before = durableSequence
        guard let loaded = try LoadedManifest.load(from: folder, fileSystem: fileSystem) else {
            throw LogError(.notAStore, "The store has been removed.", path: folder.path)
        }
        let isLive = try Self.isLive(folder, fileSystem: fileSystem)
        try state.withLock { (state) throws(LogError) in
            state.loaded = loaded
            state.isLive = isLive
            if state.isOutdated { state.active = nil }
            state.isOutdated = false
            files.update { segments in
                var fresh = LogFiles.segments(of: loaded.manifest)
                for index in fresh.indices {
                    guard let known = segments.first(where: { $0.id == fresh[index].id }) else {
                        continue
                    }
                    // A segment that has ended has blocks that this reader did not walk to, and one
                    // that has a footer now is worth opening again.
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

    /// How often reading begins anew because a writer moved on meanwhile.
    static let lookLimit = 20

    /// Tells whether a writer has opened the store, or ended, sealed or replaced segments, since this reader
    /// last looked.
    package func hasMoved() throws(LogError) -> Bool {
        try hasMoved(since: state.withLock { $0.loaded })
    }

    /// Tells whether a writer has the store open or moved on since this reader last looked.
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

    /// Notes damage, unless a writer has moved on since this reader last looked: then it is no damage,
    /// and the reader has to look again.
    private func meet(_ error: LogError, _ state: inout State) throws(LogError) {
        if try hasMoved(since: state.loaded) {
            state.isOutdated = true
        } else {
            try files.meet(error)
        }
    }

    /// Waits until the writer has vouched for all that it had written when this was opened, which it
    /// does soon after it has become idle.
    ///
    /// Compaction puts segments in place only after what it forgets is in the log. So afterwards this
    /// reader, which knows of the segments, knows that too. Throws `locked` if it takes too long.
    package func settle() throws(LogError) {
        guard let last = state.withLock({ $0.unvouched.last?.header.last }) else { return }
        for _ in 0..<Self.settlingLimit where durableSequence < last {
            if try !refresh() { usleep(Self.settlingDelay) }
        }
        guard durableSequence >= last else {
            throw LogError(
                .locked,
                "The process that has the store open does not say how much of its log is on disk. "
                    + "Try again, or end it.",
                path: folder.path
            )
        }
    }

    private static let settlingLimit = 250
    /// In microseconds.
    private static let settlingDelay: UInt32 = 4_000

    /// Whether a writer holds the store: the lock is looked at and given back at once.
    private static func isLive(
        _ folder: StoreFolder,
        fileSystem: any FileSystem
    ) throws(LogError) -> Bool {
        try LogError.wrapping { () throws(FileError) in
            guard try fileSystem.exists(folder.lock) else { return false }
            let file = try fileSystem.open(folder.lock, .read)
            defer { file.close() }
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
            state.unvouched = []
        }
        guard var walk = state.walk else { return }
        try walk.lookAgain()
        try advance(&state, &walk, promised: manifest.closing?.framesEnd)
        state.walk = walk
    }

    /// Opens the active segment, to be filled as the walk finds frames.
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
        // Their writer may have ended without another frame.
        if !state.isLive { accept(&state) { _ in true } }
        while true {
            switch try walk.step() {
            case .frame(let frame):
                state.unvouched.append(frame)
                if state.isLive {
                    accept(&state) { $0.end <= frame.header.syncedOffset }
                } else {
                    accept(&state) { _ in true }
                }
            case .stop(let stop):
                // What a writer is writing right now looks torn, and is not: nor where it has come
                // since the lock was looked at.
                if !state.isLive { state.isLive = try isLiveNow() }
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

    /// Moves frames that are known to be on disk to where readers find them.
    private func accept(_ state: inout State, _ isSynced: (FrameScan.Frame) -> Bool) {
        guard let reader = files.segments.last?.reader else { return }
        var acceptedCount = 0
        for frame in state.unvouched {
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
    /// Forgets what was read before, since a writer may have gone on.
    mutating func lookAgain() throws(LogError) {
        window = try FileWindow(window.file)
        limit = window.fileByteCount
    }
}
