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

/// How a view index is opened.
package enum ViewAccess: Sendable {
    /// By the one writer of the store, who creates it if it is missing.
    case writing
    /// For reading while a process has it open for writing, this one included.
    ///
    /// Joins LMDB's table of readers, which the user must be allowed to write.
    case readingLive
    /// For reading while nobody has the store open: writes nothing at all.
    ///
    /// The caller sees to it that no writer changes this folder meanwhile.
    case readingStill
}

/// The view index in a folder of its own, in LMDB, with checksums beside it.
package final class LMDBViewIndex: ViewIndex {
    private let environment: LMDBEnvironment
    private let access: ViewAccess
    private let store: StoreID
    private let progress: Lock<Progress>
    private let shared = Lock(SharedSnapshot())

    /// The snapshot that all get where many are in use.
    private struct SharedSnapshot {
        weak var snapshot: LMDBViewSnapshot?
    }

    /// What the last commit says, where no other process commits.
    private struct Progress {
        var state: ViewState?
        /// The checks on disk; `nil` where this process writes none.
        var checks: ViewChecks?
        /// Whether other files are in the place of those that are open.
        var isReplaced = false
    }

    private init(
        _ environment: LMDBEnvironment,
        _ access: ViewAccess,
        _ store: StoreID,
        _ progress: Progress
    ) {
        self.environment = environment
        self.access = access
        self.store = store
        self.progress = Lock(progress)
    }

    /// Opens the index in a folder; for `writing`, makes an empty one if there is none.
    ///
    /// Everything is verified before LMDB sees it, which takes as long as reading the file: about
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
        if access == .readingLive { return try openBesideWriter(path, store) }
        let (checks, newest) = try files.verify(store)
        let environment = try LMDBEnvironment(path, access)
        let state = try environment.readNewestState()
        try expect(store, state, path)
        guard state.transaction == newest else {
            throw .damaged("\(path): it is at commit \(state.transaction), expected \(newest)")
        }
        let index = LMDBViewIndex(
            environment,
            access,
            store,
            Progress(state: state, checks: checks)
        )
        if access == .writing { try index.bringChecksForward() }
        return index
    }

    /// Opens the index while a writer has it open.
    ///
    /// A writer that opens the store may put a copy in the place of the files, between any two steps
    /// here. With the table of readers of one and the pages of another, no writer would know of this
    /// reader: so the files are opened again.
    private static func openBesideWriter(
        _ path: String,
        _ store: StoreID
    ) throws(ViewIndexError) -> LMDBViewIndex {
        let files = ViewFiles(path)
        var failure: ViewIndexError?
        for attempt in 0..<openingLimit {
            let identity = files.identity
            do throws(ViewIndexError) {
                try files.verifyWhileWritten(store)
                let environment = try LMDBEnvironment(path, .readingLive)
                if identity != nil, files.identity == identity {
                    try expect(store, try environment.readNewestState(), path)
                    return LMDBViewIndex(environment, .readingLive, store, Progress())
                }
            } catch {
                // While files are replaced, some are missing or fit no others. Damage stays.
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

    /// How often a reader opens the files, and how long it waits after the first time, in microseconds; each
    /// wait is twice as long as the one before, two seconds in all.
    private static let openingLimit = 10
    private static let openingDelay: UInt32 = 2_000

    private static func create(
        _ path: String,
        _ store: StoreID
    ) throws(ViewIndexError) -> LMDBViewIndex {
        try ViewFiles(path).createFolder()
        let environment = try LMDBEnvironment(path, .writing)
        let state = try environment.write(ViewBatch(), store: store, checkpoint: nil)
        let index = LMDBViewIndex(environment, .writing, store, Progress(state: state))
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

    /// Copies an index into another folder, which holds none, without its spare pages; returns where
    /// the copy stands, or nothing if there is no index or nothing in it.
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

    /// Puts a copy of an index that nobody writes in its place; does nothing if there is none.
    ///
    /// For a writer who must not touch the pages under readers without locks: they keep the files
    /// that they have open. If it is cut short, the index is as it was, or counts as damaged.
    package static func renew(_ path: String, store: StoreID) throws(ViewIndexError) {
        let files = ViewFiles(path)
        guard try files.exist() else { return }
        let copy = files.renewed
        try copy.createFolder()
        try copy.remove()
        try Self.copy(from: path, to: copy.folder, store: store)
        try files.replace(by: copy)
    }

    /// Writes what the index is now into a folder that holds no index, without spare pages.
    @discardableResult
    package func compactCopy(to target: String) throws(ViewIndexError) -> ViewCheckpoint? {
        try ViewFiles(target).createFolder()
        try environment.copy(to: target)
        // The copy's commits are counted anew, and its state has to name its own commit.
        let copy = try LMDBEnvironment(target, .writing)
        let state = try copy.readCopiedState()
        try copy.write(ViewBatch(), store: store, checkpoint: state.checkpoint)
        try ViewFiles(target).write(try copy.makeChecks(store, after: nil))
        return state.checkpoint
    }

    /// Puts what the index holds into new files, full pages in the order of keys, if those at hand are
    /// more than twice as long as that takes.
    ///
    /// For a writer's last call: those who have the old files open keep them, and nothing can be
    /// applied afterwards. If it is cut short, the index is as it was, or counts as damaged.
    package func condense() throws(ViewIndexError) {
        let files = environment.files
        guard access == .writing, try environment.isSparse() else { return }
        let copy = files.renewed
        do throws(ViewIndexError) {
            try copy.createFolder()
            try copy.remove()
            let target = try LMDBEnvironment(copy.folder, .writing)
            let checkpoint = try environment.writeInOrder(into: target)
            try target.write(ViewBatch(), store: store, checkpoint: checkpoint)
            try copy.write(try target.makeChecks(store, after: nil))
        } catch {
            try? copy.remove()
            throw error
        }
        progress.withLock { $0.isReplaced = true }
        environment.setAside()
        try files.replace(by: copy)
    }

    /// Removes the files of an index that nobody has open.
    package static func remove(_ path: String) throws(ViewIndexError) {
        try ViewFiles(path).remove()
    }

    package var checkpoint: ViewCheckpoint? {
        if let state = progress.withLock({ $0.state }) { return state.checkpoint }
        return try? environment.readNewestState().checkpoint
    }

    /// The last commit, as it stays.
    ///
    /// Each has a read transaction to itself, so that nobody waits for another's look-ups, until there
    /// are many: then all of one commit share one, since LMDB has room for a number only.
    package func snapshot() throws(ViewIndexError) -> any ViewSnapshot {
        guard environment.isCrowded else { return try ownSnapshot() }
        return try shared.withLock { (shared) throws(ViewIndexError) in
            if let snapshot = shared.snapshot, snapshot.number == environment.newestTransaction {
                return snapshot
            }
            let snapshot = try ownSnapshot()
            shared.snapshot = snapshot
            return snapshot
        }
    }

    private func ownSnapshot() throws(ViewIndexError) -> LMDBViewSnapshot {
        let transaction = try environment.beginReading()
        do throws(ViewIndexError) {
            let state = try state(of: transaction)
            return LMDBViewSnapshot(environment, transaction, state.checkpoint)
        } catch {
            environment.endReading(transaction)
            throw error
        }
    }

    /// What a transaction shows: mostly the newest commit, which is known without looking.
    private func state(of transaction: LMDBReadTransaction) throws(ViewIndexError) -> ViewState {
        if let newest = progress.withLock({ $0.state }), newest.transaction == transaction.number {
            return newest
        }
        return try environment.readState(transaction)
    }

    package func apply(
        _ batch: consuming ViewBatch,
        checkpoint: ViewCheckpoint
    ) throws(ViewIndexError) {
        guard access == .writing, !progress.withLock({ $0.isReplaced }) else {
            throw ViewIndexError(.system, "\(environment.path): it is open for reading only")
        }
        // The checks may be one commit behind, never two: see below.
        try bringChecksForward()
        let state = try environment.write(batch, store: store, checkpoint: checkpoint)
        progress.withLock { $0.state = state }
        // The checkpoint is there already; the checks that could not follow it do so before the
        // next one, and an opening before that takes the index as it is.
        try? bringChecksForward()
    }

    /// Writes the checks of the last commit, unless they are on disk.
    private func bringChecksForward() throws(ViewIndexError) {
        let (state, old) = progress.withLock { ($0.state, $0.checks) }
        if let old, old.transaction == state?.transaction { return }
        let checks = try environment.makeChecks(store, after: old)
        try environment.files.write(checks)
        progress.withLock { $0.checks = checks }
    }

    package var byteCount: UInt64 {
        (try? environment.files.byteCount()) ?? 0
    }

    /// Bytes of the file that hold nothing now and are used by checkpoints to come.
    package var spareByteCount: UInt64 {
        let files = environment.files
        let checks = progress.withLock { $0.checks } ?? (try? files.readChecks())
        guard let used = checks?.usedByteCount, let all = try? files.dataByteCount(), all > used
        else { return 0 }
        return all - used
    }
}
