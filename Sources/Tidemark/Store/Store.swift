// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLock
public import TidemarkLog
public import TidemarkModel

/// A store: a folder that holds databases, their zones and records, and the history of all changes.
///
/// Every change is one entry in an append-only log, from which all results are computed. One process
/// at a time writes a store; any number may read it.
///
/// ```swift
/// let store = try Store.open(at: "notes.tide", access: .creating)
/// let notes = try await store.database(of: "anna", device: "phone").createZone("notes")
/// try await notes.save("first", type: "Note", fields: ["text": "Hello"])
/// try store.close()
/// ```
///
/// Apps use its handles, ``Database`` and ``ZoneHandle``. Handles and servers use the calls of
/// ``DatabaseService``: each request names its caller, and each result has the outcome of every item.
///
/// Calls return once their changes are on disk: a reported change survives a power failure, and no
/// reader sees a change before it is durable. Calls may be made from any task; writes share the disk's
/// syncs.
public final class Store: Sendable {
    /// The unique id of the store.
    public let id: StoreID
    /// The options with which the store was opened.
    public let options: StoreOptions
    /// The access with which the store was opened.
    public let access: StoreAccess
    /// The findings of recovery at open; `nil` for a store that is open for reading.
    package let recovery: RecoveryReport?
    /// The time by which the machine's clock was behind the last commit when the store was opened;
    /// zero if it was not.
    ///
    /// Times never go back, so all commits get the time of the last commit until the clock has
    /// reached it.
    public let clockLag: Duration
    /// The means to erase from the open store; `nil` in a store that is open for reading.
    let reopening: Reopening?
    /// The number of erasures that run, or wait for readers of the files.
    let erasureCount = Lock(0)
    private let opened: Lock<Opened>
    /// Held while the parts are closed or replaced, so that only one thread at a time does that.
    ///
    /// No part of the store takes this lock, so the parts can work on files while it is held.
    private let closing = Lock(())

    /// The parts of the store, or the reason why there are none.
    private enum Opened: Sendable {
        case open(OpenStore)
        /// The state during an erasure, with the last position before it.
        case erasing(SequenceNumber)
        case closed
    }

    init(
        _ parts: OpenStore,
        access: StoreAccess,
        recovery: RecoveryReport?,
        clockLag: Duration,
        reopening: Reopening? = nil
    ) {
        id = parts.reader.id
        options = parts.reader.options
        self.access = access
        self.recovery = recovery
        self.clockLag = clockLag
        self.reopening = reopening
        opened = Lock(.open(parts))
    }

    /// The parts of the store; throws once it is closed, and while something is erased.
    var parts: OpenStore {
        get throws(SyncError) {
            switch opened.withLock({ $0 }) {
            case .open(let parts): return parts
            case .erasing: throw Self.isErasing
            case .closed:
                throw SyncError(
                    .serviceUnavailable,
                    "The store has been closed.",
                    remedy: "Open the store again, and use what that returns."
                )
            }
        }
    }

    private static let isErasing = SyncError(
        .serviceUnavailable,
        "Data is being erased from the store.",
        retryAfter: .seconds(5)
    )

    /// Throws `serviceUnavailable` if something is being erased, or will be once nobody reads the
    /// files.
    ///
    /// A reader of the files calls this after it has opened them, and then from time to time. If
    /// this throws, it must close them.
    package func checkNotErasing() throws(SyncError) {
        if erasureCount.withLock({ $0 > 0 }) { throw Self.isErasing }
    }

    /// The last position that is durable and visible; zero once the store is closed.
    public var lastSequence: SequenceNumber {
        switch opened.withLock({ $0 }) {
        case .open(let parts): parts.reader.source.durableSequence
        case .erasing(let last): last
        case .closed: .zero
        }
    }

    /// Lets other processes that read the store's files see everything that is durable.
    ///
    /// Otherwise they see the last commit some 20 ms after it.
    package func letOthersRead() async {
        guard case .open(let parts) = opened.withLock({ $0 }), let writer = parts.writer.ifAny
        else { return }
        await writer.log.letOthersRead()
    }

    /// Makes everything durable, brings the zone views on disk up to date, and closes the store.
    ///
    /// Running calls may fail; later ones do. Closing again does nothing. If a store is not closed,
    /// nothing is lost: the next open recovers it.
    ///
    /// If something is being erased, this waits for the end of the erasure. Throws if the disk
    /// failed. The store is closed in either case.
    public func close() throws(LogError) {
        try closing.withLock { (_) throws(LogError) in
            // Taken out under the lock and closed outside of it: closing waits for background work,
            // and calls on other threads read `parts` meanwhile.
            let before = opened.withLock { opened in
                defer { opened = .closed }
                return opened
            }
            if case .open(let parts) = before { try parts.close() }
        }
    }
}

// MARK: - Work on the files

extension Store {
    /// Closes the store, runs a closure, and opens the store again, even if the closure throws.
    ///
    /// Meanwhile calls fail with `serviceUnavailable`, and listeners wait. Calls that have begun get
    /// some seconds to end; after that, they may fail. Nothing is closed if `check` throws. If the
    /// store cannot be opened again, this throws that error, and the store is closed.
    func whileClosed<Answer: Sendable>(
        if check: (SegmentLog) throws(LogError) -> Void,
        _ body: () throws(LogError) -> Answer
    ) throws(LogError) -> Answer {
        guard let reopening else { throw .closed }
        return try closing.withLock { (_) throws(LogError) -> Answer in
            let left = try leave(if: check)
            reopening.waitForCalls(left.isInUse)
            let result = Result { () throws(LogError) -> Answer in
                if let failure = left.failure { throw failure }
                return try body()
            }
            var hasFailed = false
            if case .failure = result { hasFailed = true }
            do throws(LogError) {
                let parts = try reopening.open(left.listeners, left.quotas, hasFailed)
                opened.withLock { $0 = .open(parts) }
            } catch {
                opened.withLock { $0 = .closed }
                left.listeners.close()
                throw error
            }
            left.listeners.tellAll()
            return try result.get()
        }
    }

    /// The remains of parts that were closed.
    private struct Left {
        let listeners: Listeners
        let quotas: QuotaSettings
        /// The error with which they were closed.
        let failure: LogError?
        /// Returns true if a call still uses them.
        let isInUse: () -> Bool
    }

    /// Closes the parts, and releases them.
    private func leave(if check: (SegmentLog) throws(LogError) -> Void) throws(LogError) -> Left {
        guard case .open(let parts) = opened.withLock({ $0 }), let writer = parts.writer.ifAny
        else { throw .closed }
        try check(writer.log)
        opened.withLock { $0 = .erasing(writer.log.durableSequence) }
        var failure: LogError?
        do throws(LogError) {
            try parts.close(keepsListeners: true)
        } catch {
            failure = error
        }
        // A call that still runs keeps the files of the views open, until long after these are
        // removed.
        parts.reader.views.index.setAside()
        return Left(
            listeners: parts.listeners,
            quotas: writer.quotas,
            failure: failure,
            isInUse: { [weak reader = parts.reader] in reader != nil }
        )
    }
}

extension Store: DatabaseService {
    /// Saves and deletes records.
    ///
    /// Every item reported as done is durable. In custom zones a request is atomic per zone unless
    /// it specifies otherwise; in default zones every item is independent. A repeated request id
    /// gets the first result again.
    ///
    /// Throws `limitExceeded` for a request that is too large, `invalidArguments` for one that
    /// names a record twice or reuses the id of another request, and any error that makes the
    /// request as a whole fail.
    public func modifyRecords(
        _ request: ModifyRecordsRequest,
        as caller: Caller
    ) async throws(SyncError) -> ModifyRecordsResult {
        let parts = try parts
        return try await parts.reader.answer(.modifyRecords, caller, about: request.items) {
            () throws(SyncError) in
            try await parts.writer().write(in: request.zones, as: caller) { () throws(SyncError) in
                try await parts.writer().modifyRecords(request, as: caller)
            }
        }
    }

    /// Fetches records by identity: for each, in order, the record or why there is none.
    ///
    /// Records in one block of the log cost one decoding.
    public func fetchRecords(
        _ request: FetchRecordsRequest,
        as caller: Caller
    ) async throws(SyncError) -> [Result<Record, SyncError>] {
        let parts = try parts
        return try parts.reader.answerAtOnce(
            .fetchRecords,
            caller,
            about: request.recordIDs.map { .record($0) }
        ) { () throws(SyncError) in try parts.reader.fetchRecords(request, as: caller) }
    }

    /// Returns one page of a zone's changes after a token: each record at most once, by its last
    /// change, oldest first.
    ///
    /// Without a token the result is all current records, without deletions. A page ends at the end
    /// of a commit where possible. The cost depends on the number of changes, not on the size of
    /// the zone or the log.
    ///
    /// Throws `zoneNotFound`; `changeTokenExpired` for a token that cannot be answered exactly, which may
    /// be one of another participant of a share; `invalidArguments` for a damaged token, or one of
    /// another zone or kind of changes.
    public func zoneChanges(
        _ request: ZoneChangesRequest,
        as caller: Caller
    ) async throws(SyncError) -> ZoneChanges {
        let parts = try parts
        return try parts.reader.answerAtOnce(
            .zoneChanges,
            caller,
            about: [.zone(request.zone)],
            since: request.since
        ) { () throws(SyncError) in try parts.reader.zoneChanges(request, as: caller) }
    }

    /// Returns a token after everything that a zone holds now, as far as the caller may see it.
    ///
    /// A client that begins with it receives only later changes. Throws `zoneNotFound`.
    public func currentToken(of zone: ZoneID, as caller: Caller) throws(SyncError) -> ChangeToken {
        try parts.reader.currentToken(of: zone, as: caller)
    }

    /// Returns one page of the newest changes of a zone up to a token: every record at most once,
    /// by its last change, oldest first.
    ///
    /// The page's token is before the page: a request for the changes up to it returns the next,
    /// older page. After the last page everything between `request.since` and `end` has been
    /// reported.
    ///
    /// Throws the errors of ``zoneChanges(_:as:)``; `changeTokenExpired` also in a shared database
    /// if the caller joined or left shares since `request.since`.
    package func newestChanges(
        _ request: ZoneChangesRequest,
        through end: ChangeToken,
        as caller: Caller
    ) async throws(SyncError) -> ZoneChanges {
        let parts = try parts
        return try parts.reader.answerAtOnce(
            .zoneChanges,
            caller,
            about: [.zone(request.zone)],
            since: request.since
        ) { () throws(SyncError) in
            try parts.reader.newestChanges(request, through: end, as: caller)
        }
    }

    /// Returns one page of the zones of the caller's database that changed after a token.
    ///
    /// A zone that was deleted and created again is reported twice: first its deletion, then the
    /// new zone. Without a token the result is all current zones.
    public func databaseChanges(
        _ request: DatabaseChangesRequest,
        as caller: Caller
    ) async throws(SyncError) -> DatabaseChanges {
        let parts = try parts
        return try parts.reader.answerAtOnce(.databaseChanges, caller, since: request.since) {
            () throws(SyncError) in try parts.reader.databaseChanges(request, as: caller)
        }
    }

    /// Creates and deletes zones.
    ///
    /// Each zone is done alone; creating one that exists succeeds. What is in the answer as done is
    /// durable. Deleting a zone deletes all that is in it; created again it is a new zone, which
    /// tokens of the old one do not fit.
    public func modifyZones(
        _ request: ModifyZonesRequest,
        as caller: Caller
    ) async throws(SyncError) -> ModifyZonesResult {
        let parts = try parts
        // `answer` notes the rejection of the whole call. The items are noted below.
        let result = try await parts.reader.answer(.modifyZones, caller, about: request.items) {
            () throws(SyncError) in
            try await parts.writer().write(in: request.saves + request.deletions, as: caller) {
                () throws(SyncError) in
                try await parts.writer().modifyZones(request, as: caller)
            }
        }
        parts.reader.note(
            result.partialFailure(of: request)?.partialErrors ?? [],
            of: .modifyZones,
            by: caller
        )
        return result
    }

    /// The zones of the caller's database, in the order of their names' bytes.
    ///
    /// The default zone is among them in private and public databases, whether or not something was
    /// written to it. O(zones of the database).
    public func zones(as caller: Caller) async throws(SyncError) -> [Zone] {
        let parts = try parts
        return try parts.reader.answerAtOnce(.zones, caller) { () throws(SyncError) in
            try parts.reader.zones(as: caller)
        }
    }
}
