// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLock
package import TidemarkLog

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The access mode of an open view index.
package enum ViewAccess: Sendable {
    /// Access by the store's one writer, which creates a missing index.
    case writing
    /// Read access while a process has the index open for writing, possibly this one.
    ///
    /// The reader joins LMDB's table of readers, for which the user needs write permission.
    case readingLive
    /// Read access while no process has the store open; writes nothing at all.
    ///
    /// The caller must ensure that no writer changes this folder meanwhile.
    case readingStill
}

/// The view index in a folder of its own, in LMDB, with a file of checksums.
package final class LMDBViewIndex: ViewIndex {
    let access: ViewAccess
    /// The path by which it was opened.
    let path: String
    let store: StoreID
    /// Held while the environment is parked or opened again, since all users need it then.
    ///
    /// Opening calls back for the path. The callback must not use the index.
    let progress: Lock<Progress>
    private let shared = Lock(SharedSnapshot())

    /// The snapshot that readers share when many are in use.
    private struct SharedSnapshot {
        // Weak, so that the last reader ends the transaction: LMDB reuses no pages that a running
        // transaction may read.
        weak var snapshot: LMDBViewSnapshot?
    }

    /// The state of the last commit, if no other process commits.
    struct Progress {
        /// The open environment; `nil` while it is parked.
        var environment: LMDBEnvironment?
        /// True if the environment was used since the last call of `park`.
        var isUsed = true
        /// The way back to a parked environment.
        var parked: Parked?
        var state: ViewState?
        /// The last snapshot of the commit of `state`, which the next reader gets if nobody uses it.
        ///
        /// Its transaction keeps no pages from reuse: the next commit keeps those of the last one
        /// in any case, and removes this. A snapshot that is removed under the lock takes only its
        /// own lock and that of the environment's transactions.
        var kept: LMDBViewSnapshot?
        /// The checks on disk; `nil` if this process writes none.
        var checks: ViewChecks?
        /// True if other files have replaced the open ones.
        var isReplaced = false
    }

    init(
        _ environment: LMDBEnvironment,
        _ access: ViewAccess,
        _ store: StoreID,
        state: ViewState? = nil,
        checks: ViewChecks? = nil
    ) {
        self.access = access
        self.store = store
        path = environment.path
        progress = Lock(Progress(environment: environment, state: state, checks: checks))
    }

    deinit {
        let parked = progress.withLock { $0.parked }
        parked?.end()
    }

    /// Opens the index in a folder; for `writing`, creates an empty one if there is none.
    ///
    /// All pages are verified before LMDB uses them, which takes as long as reading the file: about
    /// 25 ms for 100 MB in memory.
    /// - Throws: `damaged` if it is not exactly what was written, of another store or format, or
    ///   missing: ``remove(_:)`` it and fold the log.
    package static func open(
        _ path: String,
        access: ViewAccess,
        store: StoreID
    ) throws(ViewIndexError) -> LMDBViewIndex {
        let files = ViewFiles(path)
        if access == .writing, try !files.exist() { return try create(path, store) }
        if access == .readingLive {
            let environment = try openBesideWriter(path, store)
            return LMDBViewIndex(environment, .readingLive, store)
        }
        let (checks, newest) = try files.verify(store)
        let environment = try LMDBEnvironment(path, access)
        if access == .writing {
            // The remains of an interrupted copy.
            try? files.renewed.remove()
            try environment.noticeDeadWriter()
        }
        let state = try environment.readNewestState()
        try expect(store, state, path)
        // LMDB chooses one of the two roots by itself. It must be the root whose pages were
        // verified.
        guard state.transaction == newest else {
            throw .damaged("\(path): it is at commit \(state.transaction), expected \(newest)")
        }
        let index = LMDBViewIndex(environment, access, store, state: state, checks: checks)
        if access == .writing { try index.bringChecksForward() }
        return index
    }

    /// Opens the environment of an index while a writer has it open.
    ///
    /// A writer that opens the store may replace the files with a copy between any two steps of
    /// this function. With the reader table of one file and the pages of another, no writer would
    /// know of this reader. The files are then opened again.
    static func openBesideWriter(
        _ path: String,
        _ store: StoreID
    ) throws(ViewIndexError) -> LMDBEnvironment {
        let files = ViewFiles(path)
        var failure: ViewIndexError?
        for attempt in 0..<openingLimit {
            let identity = files.identity
            do throws(ViewIndexError) {
                try files.verifyWhileWritten(store)
                let environment = try LMDBEnvironment(path, .readingLive)
                if identity != nil, files.identity == identity {
                    try expect(store, try environment.readNewestState(), path)
                    guard environment.hasReaderTable else { throw .noReaderTable(path) }
                    return environment
                }
            } catch {
                // While files are being replaced, some are missing or do not match. Real damage
                // persists.
                guard error.reason == .damaged else { throw error }
                failure = error
            }
            usleep(openingDelay << UInt32(attempt))
        }
        throw failure
            ?? ViewIndexError(
                .system,
                "\(path): writers kept replacing the view index while it was opened. Try again when fewer "
                    + "processes open the store."
            )
    }

    /// The maximum number of attempts to open the files, and the first delay in microseconds; each
    /// delay doubles, up to two seconds in total.
    private static let openingLimit = 10
    private static let openingDelay: UInt32 = 2_000

    private static func create(
        _ path: String,
        _ store: StoreID
    ) throws(ViewIndexError) -> LMDBViewIndex {
        try ViewFiles(path).createFolder()
        let environment = try LMDBEnvironment(path, .writing)
        // An empty commit. It writes the state, which every open reads.
        let state = try environment.write(ViewBatch(), store: store, checkpoint: nil)
        let index = LMDBViewIndex(environment, .writing, store, state: state)
        try index.bringChecksForward()
        return index
    }

    private static func expect(
        _ store: StoreID,
        _ state: ViewState,
        _ path: String
    ) throws(ViewIndexError) {
        guard state.store == store else {
            throw .damaged("\(path): it belongs to store \(state.store), not \(store)")
        }
    }

    /// Copies an index into another folder without an index, leaving out spare pages; returns the
    /// copy's checkpoint, or `nil` if the index is missing or empty.
    @discardableResult
    package static func copy(
        from path: String,
        to target: String,
        access: ViewAccess = .readingStill,
        store: StoreID
    ) throws(ViewIndexError) -> SequenceNumber? {
        guard try ViewFiles(path).exist() else { return nil }
        let source = try open(path, access: access, store: store)
        return try source.compactCopy(to: target)?.sequence
    }

    /// Replaces an index that has no writer with a copy of itself; does nothing if there is none.
    ///
    /// For a writer that must not change pages under readers without locks: such readers keep the
    /// files that they have open. If the call is interrupted, the index is unchanged, or counts as
    /// damaged.
    package static func renew(_ path: String, store: StoreID) throws(ViewIndexError) {
        let files = ViewFiles(path)
        guard try files.exist() else { return }
        let copy = files.renewed
        try copy.createFolder()
        // The remains of an interrupted copy.
        try copy.remove()
        do throws(ViewIndexError) {
            try Self.copy(from: path, to: copy.folder, store: store)
        } catch {
            try? copy.remove()
            throw error
        }
        try files.replace(by: copy)
    }

    /// Writes the current index into a folder without an index, leaving out spare pages.
    @discardableResult
    package func compactCopy(to target: String) throws(ViewIndexError) -> ViewCheckpoint? {
        try ViewFiles(target).createFolder()
        try use().environment.copy(to: target)
        // The copy counts its commits from the start, and its state has to name its own commit.
        let copy = try LMDBEnvironment(target, .writing)
        let state = try copy.readCopiedState()
        try copy.write(ViewBatch(), store: store, checkpoint: state.checkpoint)
        try ViewFiles(target).write(try copy.makeChecks(store, after: nil))
        return state.checkpoint
    }

    /// Rewrites the index into new files with full pages in key order, if the current files are
    /// more than half as long again as necessary or have more unused bytes than a limit.
    ///
    /// For a writer's last call: processes that have the old files open keep them, and no batch can
    /// be applied afterwards. If the call is interrupted, the index is unchanged, or counts as
    /// damaged.
    package func condense(spareLimit: UInt64 = .max) throws(ViewIndexError) {
        guard access == .writing else { return }
        let environment = try use().environment
        if spareByteCount <= spareLimit {
            guard try environment.isSparse() else { return }
        }
        let files = environment.files
        let copy = files.renewed
        do throws(ViewIndexError) {
            try copy.createFolder()
            try copy.remove()
            let target = try LMDBEnvironment(copy.folder, .writing)
            let checkpoint = try environment.writeInOrder(into: target)
            // The state comes last. An interrupted copy has none, and no checks either.
            try target.write(ViewBatch(), store: store, checkpoint: checkpoint)
            try copy.write(try target.makeChecks(store, after: nil))
        } catch {
            try? copy.remove()
            throw error
        }
        // Before the files change places: a later batch would go to the old file, and its checks
        // next to the new one. A reader of this process must not join the old environment either.
        progress.withLock { $0.isReplaced = true }
        environment.setAside()
        try files.replace(by: copy)
    }

    package func setAside() {
        progress.withLock { progress in
            progress.isReplaced = true
            progress.environment?.setAside()
            // A parked environment is not opened again: other files will be in its folder.
            progress.parked?.end()
            progress.parked = nil
        }
    }

    /// Removes the files of an index that no process has open.
    package static func remove(_ path: String) throws(ViewIndexError) {
        try ViewFiles(path).remove()
    }

    package var checkpoint: ViewCheckpoint? {
        if let state = progress.withLock({ $0.state }) { return state.checkpoint }
        return try? use().environment.readNewestState().checkpoint
    }

    /// Returns an immutable snapshot of the last commit.
    ///
    /// Each user has its own read transaction, so that lookups do not wait for each other. A
    /// snapshot that nobody uses is handed out again, as starting a transaction costs more than a
    /// lookup. Above a limit, all users of one commit share a transaction, since LMDB has room for
    /// a fixed number only.
    package func snapshot() throws(ViewIndexError) -> any ViewSnapshot {
        do throws(ViewIndexError) {
            return try newestSnapshot()
        } catch {
            guard error.reason == .outgrown, closeOutgrown() else { throw error }
            return try newestSnapshot()
        }
    }

    private func newestSnapshot() throws(ViewIndexError) -> any ViewSnapshot {
        if let snapshot = unusedSnapshot() { return snapshot }
        let (environment, newest) = try use()
        // `isCrowded` is a hint. The limit is far below LMDB's own, so a few more transactions are
        // harmless.
        guard environment.isCrowded else {
            let snapshot = try ownSnapshot(environment, newest)
            progress.withLock { progress in
                // One of an older commit would keep pages from reuse.
                if progress.state?.transaction == snapshot.number { progress.kept = snapshot }
            }
            return snapshot
        }
        return try shared.withLock { (shared) throws(ViewIndexError) in
            // A snapshot of an older commit is not shared further, so that its pages become free.
            if let snapshot = shared.snapshot, snapshot.number == environment.newestTransaction {
                return snapshot
            }
            let snapshot = try ownSnapshot(environment, newest)
            shared.snapshot = snapshot
            return snapshot
        }
    }

    /// Returns the kept snapshot if nobody uses it.
    private func unusedSnapshot() -> LMDBViewSnapshot? {
        progress.withLock { progress in
            // It is handed out under this lock only, so nobody begins to use it meanwhile.
            guard isKnownUniquelyReferenced(&progress.kept) else { return nil }
            progress.isUsed = true
            return progress.kept
        }
    }

    /// Begins a transaction, usually of the newest commit, whose state is known without reading.
    private func ownSnapshot(
        _ environment: LMDBEnvironment,
        _ newest: ViewState?
    ) throws(ViewIndexError) -> LMDBViewSnapshot {
        let transaction = try environment.beginReading()
        // Another number is normal: a checkpoint commits a moment before it stores its state here.
        if let newest, newest.transaction == transaction.number {
            return LMDBViewSnapshot(environment, transaction, newest.checkpoint)
        }
        do throws(ViewIndexError) {
            let state = try environment.readState(transaction)
            return LMDBViewSnapshot(environment, transaction, state.checkpoint)
        } catch {
            environment.endReading(transaction)
            throw error
        }
    }

    package func apply(
        _ batch: consuming ViewBatch,
        checkpoint: ViewCheckpoint
    ) throws(ViewIndexError) {
        let environment = try use().environment
        guard access == .writing, !progress.withLock({ $0.isReplaced }) else {
            throw ViewIndexError(
                .system,
                "\(environment.path): the view index is open for reading only."
            )
        }
        // The checks may be one commit behind, never two: see below.
        try bringChecksForward()
        note(try environment.write(batch, store: store, checkpoint: checkpoint))
        // The checkpoint is already committed. Checks that could not be written now are written
        // before the next checkpoint, and an open before that accepts the index as it is.
        try? finish(checkpoint, in: environment)
    }

    /// The number of unused bytes from which the pages that a checkpoint freed are made usable for
    /// the next one.
    private static let reusedByteCount: UInt64 = 1 << 20

    /// Writes the checks of a checkpoint, and a commit without changes after a large one.
    ///
    /// LMDB reuses a page only in the second commit after the one that freed it. Because of the
    /// empty commit, that is the next checkpoint. The file then has as many free pages as one
    /// checkpoint changes, not as two.
    private func finish(
        _ checkpoint: ViewCheckpoint,
        in environment: LMDBEnvironment
    ) throws(ViewIndexError) {
        try bringChecksForward()
        guard spareByteCount > Self.reusedByteCount else { return }
        note(try environment.write(ViewBatch(), store: store, checkpoint: checkpoint))
        try bringChecksForward()
    }

    /// Takes over the state of a new commit, and drops the snapshot of the one before.
    private func note(_ state: ViewState) {
        progress.withLock { progress in
            progress.state = state
            progress.kept = nil
        }
    }

    /// Writes the checks of the last commit, unless they are on disk.
    private func bringChecksForward() throws(ViewIndexError) {
        let (state, old) = progress.withLock { ($0.state, $0.checks) }
        if let old, old.transaction == state?.transaction { return }
        let environment = try use().environment
        // Without old checks, as in a new index, all pages in use are read.
        let checks = try environment.makeChecks(store, after: old)
        try environment.files.write(checks)
        progress.withLock { $0.checks = checks }
    }

    package var byteCount: UInt64 {
        (try? use().environment.files.byteCount()) ?? 0
    }

    /// The number of bytes in the file that are free for later checkpoints.
    package var spareByteCount: UInt64 {
        guard let files = try? use().environment.files else { return 0 }
        let checks = progress.withLock { $0.checks } ?? (try? files.readChecks())
        guard let used = checks?.usedByteCount, let all = try? files.dataByteCount(), all > used
        else { return 0 }
        return all - used
    }
}
