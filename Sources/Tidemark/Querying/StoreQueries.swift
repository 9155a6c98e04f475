// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import TidemarkEvents
import TidemarkLock
public import TidemarkLog
import TidemarkModel
import TidemarkQuery

/// The owner of a store's query index.
///
/// It opens the index at the first query, or with a store that was queried before. It updates the
/// index from the log, and rebuilds it if it is missing, damaged or of another log.
///
/// Writers never wait for the index: it reads durable events, as any reader does.
final class StoreQueries: Sendable {
    private let source: any EventSource
    private let line: IncarnationLine
    private let changes: ChangeReader
    /// Returns the folder of the index now; `nil` for memory.
    private let place: @Sendable () -> String?
    /// The permissions of a folder that is created for the index.
    private let permissions: FilePermissions
    /// The number of events that can be added in an imperceptible time.
    private let nearCount: UInt64
    private let queue = WorkQueue(label: "tidemark.queries")
    private let state = Lock(State())

    private struct State {
        var opened: QueryIndex?
        /// True if the opened index has no files, so that the store's folder does not matter.
        var isInMemory = false
        /// The number of indexes that were discarded.
        var discardCount = 0
        /// The task that updates the index; one at a time.
        var catchingUp: Task<Void, any Error>?
        /// The progress of that task.
        var progress: QueryIndexProgress?
        /// True if the store is being closed.
        var isStopping = false
    }

    /// The group by which closing the store waits for the index update, which reads the log.
    private let working = DispatchGroup()

    /// The number of changes from which on an update ends with ``QueryIndex/settle()``.
    private static let longCount = 16_384
    /// The number of times that one query rebuilds an index found to be damaged.
    private static let attemptLimit = 3

    init(
        source: any EventSource,
        line: IncarnationLine,
        folder place: @escaping @Sendable () -> String?,
        permissions: FilePermissions,
        nearCount: UInt64,
        zones: @escaping ChangeReader.Zones
    ) {
        self.source = source
        self.line = line
        self.place = place
        self.permissions = permissions
        self.nearCount = nearCount
        changes = ChangeReader(source, line, zones)
    }

    /// Queries the index once it has reached a position.
    ///
    /// A damaged index is deleted and rebuilt. `isPlaceKnown` is true directly after ``isNear(_:)``
    /// has found that the store was not moved.
    func ask<Answer: Sendable>(
        through bound: SequenceNumber,
        isPlaceKnown: Bool = false,
        _ body: (QueryIndex) async throws -> Answer
    ) async throws(SyncError) -> Answer {
        var attemptCount = 0
        while true {
            attemptCount += 1
            // One index serves all callers: the first that meets the damage replaces it.
            let discardCount = state.withLock(\.discardCount)
            do {
                return try await body(try await index(through: bound, isPlaceKnown: isPlaceKnown))
            } catch let error as QueryIndexError {
                guard error.reason == .damaged || error.reason == .unavailable && isLost,
                    attemptCount < Self.attemptLimit
                else { throw SyncError(error) }
                try discard(ifStill: discardCount)
            } catch let error as SyncError {
                throw error
            } catch is CancellationError {
                throw SyncError(
                    .operationCancelled,
                    "The task was cancelled before the query was answered."
                )
            } catch {
                throw SyncError(.internalError, "The query could not be answered: \(error)")
            }
        }
    }

    /// Updates the index to a position, if there is one; discards an index that cannot be updated.
    ///
    /// Throws while the store is being closed: the index is kept, and is not at the position.
    func advance(through bound: SequenceNumber) async throws(SyncError) {
        let discardCount = state.withLock(\.discardCount)
        do {
            guard try isThere else { return }
            _ = try await index(through: bound)
        } catch {
            if state.withLock(\.isStopping) { throw Self.closing }
            if let error = error as? QueryIndexError, error.reason == .unavailable, !isLost {
                throw SyncError(error)
            }
            try discard(ifStill: discardCount)
        }
    }

    /// True if a file of the index is gone, or may not be opened, so that waiting does not help.
    private var isLost: Bool {
        guard let folder = place() else { return false }
        let files = PosixFileSystem()
        do throws(FileError) {
            let names = try files.list(folder).filter { $0.hasPrefix(StoreFolder.queryIndexName) }
            guard names.contains(StoreFolder.queryIndexName) else { return true }
            // Closing a file drops the locks that SQLite has on it in this process. No other process
            // uses the index.
            for name in names { try files.open(folder + "/" + name, .readWrite).close() }
            return false
        } catch {
            return !error.isOutOfDescriptors
        }
    }

    private var isThere: Bool {
        get throws {
            if state.withLock({ $0.opened != nil }) { return true }
            guard let folder = place() else { return false }
            return try PosixFileSystem().exists(folder + "/" + StoreFolder.queryIndexName)
        }
    }

    private func index(
        through bound: SequenceNumber,
        isPlaceKnown: Bool = false
    ) async throws -> QueryIndex {
        var isPlaceKnown = isPlaceKnown
        while true {
            let index = try open(isPlaceKnown: isPlaceKnown)
            if index.position.reached >= bound { return index }
            isPlaceKnown = false
            try await catchUp(through: bound, index).value
        }
    }

    /// The position that the opened index has reached; `nil` if none is open.
    var position: SequenceNumber? { state.withLock(\.opened)?.position.reached }

    /// Starts an index update, unless one is running.
    private func catchUp(
        through bound: SequenceNumber,
        _ index: QueryIndex
    ) throws(SyncError) -> Task<Void, any Error> {
        let task: Task<Void, any Error>? = state.withLock { state in
            // It may stop before `bound`. `index(through:)` then starts another one.
            if let catchingUp = state.catchingUp { return catchingUp }
            if state.isStopping { return nil }
            // Under the lock under which `stop` sets `isStopping`, so that `stop` waits for every
            // task that started.
            working.enter()
            // Not on the threads that all tasks share: it waits for the disk for long.
            let task = Task(executorPreference: queue) {
                // Before the task ends, so that a waiter does not find the ended task again.
                defer {
                    self.state.withLock { state in
                        state.catchingUp = nil
                        state.progress = nil
                    }
                    self.working.leave()
                }
                do {
                    try await self.takeIn(through: bound, index)
                } catch {
                    // Only `stop` cancels the task. The queries that wait for it then say so.
                    throw Task.isCancelled ? Self.closing : error
                }
            }
            state.catchingUp = task
            return task
        }
        guard let task else { throw Self.closing }
        return task
    }

    static let closing = SyncError(.serviceUnavailable, "The store is being closed.")

    /// Returns true if the index is at a position, or so near that a query need not use another
    /// way; `nil` if it cannot be opened, and a query that waits for it gets the error.
    ///
    /// If it is not near, an update of the index starts in the background, and no caller waits for it.
    func isNear(_ bound: SequenceNumber) -> Bool? {
        guard let index = try? open() else { return nil }
        if index.position.sequence + nearCount >= bound.rawValue { return true }
        _ = try? catchUp(through: bound, index)
        return false
    }

    /// Updates the index in the background if it exists, that is, if the store was queried before.
    func begin() {
        guard (try? isThere) == true else { return }
        _ = isNear(source.durableSequence)
    }

    /// The progress of the index update; `nil` if none is running.
    var progress: QueryIndexProgress? { state.withLock(\.progress) }

    /// Stops the index update, and waits for its end.
    func stop() {
        let task = state.withLock { state in
            state.isStopping = true
            return state.catchingUp
        }
        task?.cancel()
        working.wait()
        changes.close()
    }
}

/// The progress of building or updating a store's query index.
public struct QueryIndexProgress: Hashable, Sendable {
    /// The event up to which all events were added.
    public let position: SequenceNumber
    /// The event up to which they will be.
    public let last: SequenceNumber
}

// MARK: - Opening and throwing away

extension StoreQueries {
    private func open(isPlaceKnown: Bool = false) throws -> QueryIndex {
        // Under the lock, so that two queries do not open the file twice.
        try state.withLock { state in
            // One that was opened before the store was moved would open the rest by the old path.
            if let opened = state.opened, isPlaceKnown || state.isInMemory || place() != nil {
                return opened
            }
            let folder = place()
            let index = try read(folder)
            state.opened = index
            state.isInMemory = folder == nil
            return index
        }
    }

    /// Opens the index that is there, or makes it.
    private func read(_ folder: String?) throws -> QueryIndex {
        let index: QueryIndex
        if let folder {
            let files = PosixFileSystem()
            try files.permitting(permissions).createDirectory(folder)
            let path = folder + "/" + StoreFolder.queryIndexName
            // SQLite gives this file's permissions to the files that it creates with it.
            if try !files.exists(path) {
                _ = try files.permitting(asIn: folder).open(path, .create)
            }
            index = try QueryIndex(path: path, identity: "\(source.store)")
        } else {
            index = try QueryIndex(path: nil, identity: "\(source.store)")
        }
        guard try isOfThisLog(index.position) else {
            index.close()
            throw QueryIndexError(
                .damaged,
                "The query index is ahead of the log, or belongs to another log."
            )
        }
        return index
    }

    /// Returns true if the log has the events that an index has read: the position is on this line
    /// of the store, and the event there has the same time.
    private func isOfThisLog(_ position: IndexPosition) throws -> Bool {
        let sequence = position.reached
        if sequence == .zero { return true }
        // Behind a compaction, deletions may be missing between the index and the log.
        guard sequence <= source.durableSequence, sequence >= source.compactedThrough,
            line.contains(sequence, of: Incarnation(rawValue: position.incarnation))
        else { return false }
        return try source.event(at: sequence)?.commit.received == position.received
    }

    /// Closes the files of an index that no query and no update uses, until the next query.
    func park() {
        state.withLock { state in
            // Every user has a reference, and gets it under this lock.
            guard !state.isInMemory, isKnownUniquelyReferenced(&state.opened) else { return }
            state.opened?.close()
            state.opened = nil
        }
    }

    /// Discards the index, unless it was discarded meanwhile.
    private func discard(ifStill discardCount: Int) throws(SyncError) {
        do throws(FileError) {
            try state.withLock { state throws(FileError) in
                guard state.discardCount == discardCount else { return }
                state.discardCount += 1
                state.opened?.close()
                state.opened = nil
                guard let folder = place() else { return }
                let files = PosixFileSystem()
                guard try files.exists(folder) else { return }
                // The prefix includes SQLite's `-wal` and `-shm` files, which must not stay next to
                // a new database.
                for name in try files.list(folder) where name.hasPrefix(StoreFolder.queryIndexName)
                {
                    try files.remove(folder + "/" + name)
                }
            }
        } catch {
            throw SyncError(LogError(error))
        }
    }
}

extension SyncError {
    /// Creates the error for a query index that could not perform an operation.
    fileprivate init(_ error: QueryIndexError) {
        let code: Code =
            switch error.reason {
            case .full: .quotaExceeded
            case .unavailable: .serviceUnavailable
            case .damaged, .failed: .internalError
            }
        self.init(code, error.message, isDiskFull: error.reason == .full)
    }
}

// MARK: - Catching up

extension StoreQueries {
    private func takeIn(through bound: SequenceNumber, _ index: QueryIndex) async throws {
        // Another update may have passed the bound after this one was found to be needed.
        guard index.position.reached < bound else { return }
        guard index.position.sequence > 0 else { return try await make(through: bound, index) }
        let count = Int(clamping: bound.rawValue - index.position.sequence)
        try await index.prepare(for: count)
        try await forEachBatch(after: index.position, through: bound) { batch in
            try await index.apply(batch.changes, through: batch.position)
        }
        // Only after a long update, whose cost hides that of settling.
        if count >= Self.longCount { try await index.settle() }
    }

    /// Builds an index from the last versions alone.
    ///
    /// During the build some last versions are missing, so the index is unusable until the end, and
    /// is discarded if the build fails.
    private func make(through bound: SequenceNumber, _ index: QueryIndex) async throws {
        let discardCount = state.withLock(\.discardCount)
        do {
            let replaced = try changes.replacedVersions(through: bound)
            var last = IndexPosition()
            try await forEachBatch(after: last, through: bound, without: replaced) { batch in
                try await index.apply(batch.changes, through: nil)
                last = batch.position
            }
            // The position is set last. An index without one was not finished, and is made again.
            try await index.apply([], through: last)
            try await index.settle()
        } catch {
            try discard(ifStill: discardCount)
            throw error
        }
    }

    /// Passes the changes between two positions on, batch by batch; the next batch is read while
    /// one is being written.
    private func forEachBatch(
        after start: IndexPosition,
        through bound: SequenceNumber,
        without replaced: PositionSet? = nil,
        _ take: (ChangeReader.Batch) async throws -> Void
    ) async throws {
        var last = start
        var batch: ChangeReader.Batch? =
            try changes.batch(after: last, through: bound, without: replaced)
        while let current = batch {
            try Task.checkCancellation()
            let progress = QueryIndexProgress(position: last.reached, last: bound)
            state.withLock { $0.progress = progress }
            // Without progress, `index(through:)` would start this again forever.
            guard current.position.sequence > last.sequence else {
                throw SyncError.missingEvent(last.reached.next)
            }
            last = current.position
            // At most two batches are in memory: the one that is written and the one that is read.
            async let next =
                current.position.reached < bound
                ? changes.batch(after: current.position, through: bound, without: replaced) : nil
            try await take(current)
            batch = try await next
        }
    }
}

extension IndexPosition {
    /// The last position that is contained.
    var reached: SequenceNumber { SequenceNumber(rawValue: sequence) }
}
