// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkDelegate

/// Keeps an app in sync with a private or shared database.
///
/// The engine fetches changes, sends the changes that the app names, and retries if that may help.
/// For its decisions and the order of its calls to the delegate, see `SyncLoop`.
public final class CKSyncEngine: Sendable {
    /// The database that it was made for.
    public let database: CKDatabase
    /// The changes that the engine has to send, and the state of its fetches.
    public let state: State

    private let driver: SyncEngineDriver

    /// Creates an engine, which begins at once if it syncs automatically.
    ///
    /// The public database has no changes to fetch: an engine for it is a programming error and
    /// stops the program.
    public init(_ configuration: Configuration) {
        precondition(
            configuration.database.databaseScope != .public,
            "A sync engine works with a private or shared database, not with the public one."
        )
        database = configuration.database
        driver = SyncEngineDriver(configuration)
        state = State(driver)
        // Last, because the run may call the delegate with this engine at once.
        driver.begin(for: self)
    }

    deinit {
        // The run retains the engine during a callback, so this may run in the run's own task.
        // `end()` waits for nothing.
        driver.end()
    }

    /// Fetches changes, and returns when the delegate has received all of them.
    ///
    /// Throws the `CKError` that ended the fetch. If awaited in a callback of the delegate, it
    /// would wait for itself: it then throws `invalidArguments`.
    public func fetchChanges(_ options: FetchChangesOptions = .init()) async throws {
        try await driver.fetch(options)
    }

    /// Sends pending changes, and returns when the delegate has received all results.
    ///
    /// Throws `partialFailure` if some of the changes were refused, and the `CKError` of any other
    /// failure. If awaited in a callback of the delegate, it would wait for itself: it then throws
    /// `invalidArguments`.
    public func sendChanges(_ options: SendChangesOptions = .init()) async throws {
        try await driver.send(options)
    }

    /// Cancels the current operations, and returns when they have ended.
    ///
    /// Waiting calls throw `operationCancelled`.
    public func cancelOperations() async {
        await driver.cancel()
    }
}

extension CKSyncEngine: CustomStringConvertible {
    /// The database.
    public var description: String { "<CKSyncEngine: \(database)>" }
}

// MARK: - Configuration

extension CKSyncEngine {
    /// The parameters of an engine.
    public struct Configuration: Sendable {
        /// The database to keep in step with.
        public var database: CKDatabase
        /// The last state that the engine gave the app to keep; `nil` starts from nothing.
        public var stateSerialization: State.Serialization?
        /// The delegate of the engine; the engine does not keep it alive.
        public var delegate: any CKSyncEngineDelegate
        /// True if the engine fetches and sends by itself.
        public var automaticallySync = true
        /// The app's subscription through which the engine is notified of changes.
        ///
        /// If `nil`, the engine creates its own, unless the app has one for the whole database.
        public var subscriptionID: CKSubscription.ID?

        /// Creates a configuration.
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

/// The delegate of a sync engine: it receives events and provides the changes to send.
///
/// An engine calls its delegate once at a time, and continues when the call returns.
///
/// Its requirements are in a module of their own, for the reason stated there.
public protocol CKSyncEngineDelegate: SyncEngineRequirements
where
    TidemarkEngine == CKSyncEngine,
    TidemarkEvent == CKSyncEngine.Event,
    TidemarkSendContext == CKSyncEngine.SendChangesContext,
    TidemarkBatch == CKSyncEngine.RecordZoneChangeBatch,
    TidemarkFetchContext == CKSyncEngine.FetchChangesContext,
    TidemarkFetchOptions == CKSyncEngine.FetchChangesOptions
{}

extension CKSyncEngineDelegate {
    /// Returns the options of the context.
    @concurrent
    public func nextFetchChangesOptions(
        _ context: CKSyncEngine.FetchChangesContext,
        syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.FetchChangesOptions {
        context.options
    }
}
