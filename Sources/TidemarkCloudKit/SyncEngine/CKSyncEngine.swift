// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkSync

/// Keeps what an app has in step with a private or shared database: it fetches what changed, sends what
/// the app says has changed, and does so again where that helps.
///
/// What it decides, and in which order it tells its delegate, is `SyncLoop`'s; see there.
public final class CKSyncEngine: Sendable {
    /// The database that it was made for.
    public let database: CKDatabase
    /// What it has to send, and has not fetched.
    public let state: State

    private let driver: SyncEngineDriver

    /// Makes an engine, which begins at once unless it is told not to synchronise by itself.
    ///
    /// The public database has no changes to fetch: an engine for it is a mistake in the program and stops
    /// it.
    public init(_ configuration: Configuration) {
        precondition(
            configuration.database.databaseScope != .public,
            "A sync engine works with a private or shared database, not with the public one."
        )
        database = configuration.database
        driver = SyncEngineDriver(configuration)
        state = State(driver)
        driver.begin(for: self)
    }

    deinit {
        driver.end()
    }

    /// Fetches what changed, and returns when the delegate has been told of all.
    ///
    /// Throws the `CKError` that kept it from fetching everything. Not to be awaited in a callback of the
    /// delegate, which it would wait for: that throws `invalidArguments`.
    public func fetchChanges(_ options: FetchChangesOptions = .init()) async throws {
        try await driver.fetch(options)
    }

    /// Sends what waits to be sent, and returns when the delegate has been told of all.
    ///
    /// Throws `partialFailure` if some of it was refused, and the `CKError` that kept everything else
    /// from being sent. Not to be awaited in a callback of the delegate, which it would wait for: that
    /// throws `invalidArguments`.
    public func sendChanges(_ options: SendChangesOptions = .init()) async throws {
        try await driver.send(options)
    }

    /// Ends what goes on, and returns when it has ended; calls that wait throw `operationCancelled`.
    public func cancelOperations() async {
        await driver.cancel()
    }
}

extension CKSyncEngine: CustomStringConvertible {
    /// The database.
    public var description: String { "<CKSyncEngine: \(database)>" }
}

// MARK: - What an engine is made from

extension CKSyncEngine {
    /// What an engine is made from.
    public struct Configuration: Sendable {
        /// The database to keep in step with.
        public var database: CKDatabase
        /// What the engine last told the app to keep; `nil` to begin from nothing.
        public var stateSerialization: State.Serialization?
        /// What is told and asked; the engine does not keep it alive.
        public var delegate: any CKSyncEngineDelegate
        /// Whether the engine fetches and sends without being asked.
        public var automaticallySync = true
        /// A subscription of the app's by which the engine hears of changes; `nil` for one of its own,
        /// unless the app has one for the whole database.
        public var subscriptionID: CKSubscription.ID?

        /// Describes an engine.
        public init(
            database: CKDatabase,
            stateSerialization: State.Serialization?,
            delegate: any CKSyncEngineDelegate
        ) {
            self.database = database
            self.stateSerialization = stateSerialization
            self.delegate = delegate
        }
    }
}

/// What a sync engine tells of what happens, and asks for what to send.
///
/// An engine calls its delegate for one thing after another, and goes on when the call returns.
public protocol CKSyncEngineDelegate: AnyObject, Sendable {
    /// Something happened.
    @concurrent
    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async

    /// Which records to send next; `nil` when there are none.
    @concurrent
    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext,
        syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch?

    /// What to fetch; without an implementation, what the context says.
    @concurrent
    func nextFetchChangesOptions(
        _ context: CKSyncEngine.FetchChangesContext,
        syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.FetchChangesOptions
}

extension CKSyncEngineDelegate {
    /// What the context says.
    @concurrent
    public func nextFetchChangesOptions(
        _ context: CKSyncEngine.FetchChangesContext,
        syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.FetchChangesOptions {
        context.options
    }
}
