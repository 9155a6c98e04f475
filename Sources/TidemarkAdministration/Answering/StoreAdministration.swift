// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Dispatch
public import Tidemark
import TidemarkLog
public import TidemarkModel

/// The administration of a store in a folder of this machine.
///
/// Calls work on threads of their own: many of them read the log for long, which the threads that
/// all tasks share must not do.
public struct StoreAdministration: AdministrationService {
    /// The store's folder.
    public let path: String
    /// The store, if it is open here.
    let openStore: Store?
    /// The id of the administrator's credential; `nil` for a process that has the files.
    let administrator: String?
    /// Returns true once calls that follow the log should end.
    let isEnding: @Sendable () -> Bool

    /// Describes the administration of a store, or of its files alone.
    ///
    /// Without an open store calls are answered that read files: of the log, and backups.
    /// `administrator` is the id of a credential.
    ///
    /// A call that follows the log ends soon after `isEnding` has begun to return true.
    public init(
        of store: Store?,
        at path: String,
        by administrator: String? = nil,
        isEnding: @escaping @Sendable () -> Bool = { false }
    ) {
        openStore = store
        self.path = path
        self.administrator = administrator
        self.isEnding = isEnding
    }

    /// The store; throws where it is not open here.
    public var store: Store {
        get throws(SyncError) {
            if let openStore { return openStore }
            throw SyncError(.internalError, "The store \(path) is not open in this process.")
        }
    }

    /// Opens the files of the log for reading, with or without an open store.
    ///
    /// Throws the errors of ``checkNotErasing()``: the reader would keep the files.
    func openLog() throws -> LogReader {
        let reader = try LogReader(path, fileSystem: PosixFileSystem())
        try checkNotErasing()
        return reader
    }

    /// Throws `serviceUnavailable` while something is erased.
    ///
    /// An erasure that has begun fails if somebody begins to read the files.
    func checkNotErasing() throws(SyncError) { try openStore?.checkNotErasing() }

    /// A caller for whom the administrator vouches.
    func vouching(for caller: Caller) -> Caller {
        var caller = caller
        // The authentication is that of the connection, whatever the call says.
        if let administrator { caller.authentication = .administrator(id: administrator) }
        return caller
    }

    /// See `AdministrationService`.
    public func answer<Call: AdministrationCall>(
        _ call: Call,
        report: @escaping @Sendable (UInt64, UInt64) -> Void,
        receive: (Call.Piece) async throws -> Void
    ) async throws -> Call.Answer {
        // Dynamic casts: the protocol of services admits any call, and only those that conform to
        // `StoreCall` can be answered by a store.
        guard let type = Call.self as? any StoreCall.Type,
            let handler = type.handler as? CallHandler<Self, Call>
        else { throw SyncError.noCall(Call.name) }
        return try await withTaskExecutorPreference(Self.threads) {
            try await LongWork.reporting { progress in
                report(progress.done, progress.total)
            } during: {
                if call.writes { return try await handler.answer(call, self, receive) }
                return try await LongWork.watching {
                    try await handler.answer(call, self, receive)
                }
            }
        }
    }

    private static let threads = AdministrationThreads()
}

/// A call that a store answers.
public protocol StoreCall: AdministrationCall {
    /// Answers the call.
    func answer(
        from administration: StoreAdministration,
        receive: (Piece) async throws -> Void
    ) async throws -> Answer
}

/// A call whose answer has no parts before it.
public protocol SingleAnswerCall: StoreCall where Piece == Never {
    /// Answers the call.
    func answer(from administration: StoreAdministration) async throws -> Answer
}

extension SingleAnswerCall {
    /// See `StoreCall`; there are no parts to receive.
    public func answer(
        from administration: StoreAdministration,
        receive: (Never) async throws -> Void
    ) async throws -> Answer {
        try await answer(from: administration)
    }
}

extension StoreCall {
    /// The handler of the call, as a `CallHandler`.
    fileprivate static var handler: any Sendable {
        CallHandler<StoreAdministration, Self> { call, administration, receive in
            try await call.answer(from: administration, receive: receive)
        }
    }
}

/// Threads for work that waits for disks.
private final class AdministrationThreads: TaskExecutor {
    private let queue = DispatchQueue(
        label: "tidemark.administration",
        qos: .utility,
        // Jobs block their threads. On a serial queue, one long call would stop all others.
        attributes: .concurrent
    )

    func enqueue(_ job: consuming ExecutorJob) {
        // An `ExecutorJob` cannot be copied, so an escaping closure cannot capture it.
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
