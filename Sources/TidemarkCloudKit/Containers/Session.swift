// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TidemarkLock
import TidemarkModel

/// One call of a service.
typealias ServiceCall<Value> =
    @Sendable (any DatabaseService, Caller) async throws(SyncError) -> Value

/// The conditions for repeating an operation's calls, and the timeouts.
struct RetryRules: Sendable {
    /// True if calls are repeated when that may help.
    var retries: Bool
    /// Seconds for one call.
    var requestTimeout: TimeInterval
    /// Seconds for all calls of the operation.
    var resourceTimeout: TimeInterval

    /// The codes of errors after which the system repeats calls, if the operation is not urgent.
    private static let retried: Set<SyncError.Code> = [
        .networkUnavailable, .networkFailure, .serviceUnavailable, .requestRateLimited, .zoneBusy,
    ]

    /// Returns the error for a call that was not answered in time.
    func late(_ code: SyncError.Code) -> SyncError {
        SyncError(code, "The service did not answer within \(requestTimeout) seconds.")
    }

    /// Returns the seconds to wait before a call is repeated; `nil` if it is not repeated.
    func wait(after error: SyncError, attempt: Int, until end: ContinuousClock.Instant) -> Double? {
        guard retries, Self.retried.contains(error.code) else { return nil }
        // One second, then twice as long each time, up to a minute. A retry that would begin after
        // the end of the operation is not worth the wait.
        let wait = error.retryAfter?.inSeconds ?? min(pow(2, Double(attempt)), 60)
        return ContinuousClock.now + .clampedSeconds(wait) < end ? wait : nil
    }
}

extension Duration {
    /// Limits seconds to a hundred years: a program may pass any number.
    fileprivate static func clampedSeconds(_ seconds: Double) -> Duration {
        let limit = 100.0 * 365 * 24 * 60 * 60
        return .seconds(seconds.isNaN ? 0 : min(max(seconds, 0), limit))
    }
}

/// The service and the caller of an operation.
struct Session: Sendable {
    let device: TidemarkDevice
    let service: any DatabaseService
    let caller: Caller
    private let requestID: String
    private let rules: RetryRules
    private let end: ContinuousClock.Instant

    /// Opens the store if it is not open, and waits until the device receives notifications.
    static func begin(
        as device: TidemarkDevice,
        _ container: ContainerID,
        _ scope: CKDatabase.Scope,
        _ account: CheckedAccount?,
        requestID: String,
        _ rules: RetryRules
    ) async throws(CKError) -> Session {
        // Opening the store or reaching the server counts towards the time of the operation.
        let end = ContinuousClock.now + .clampedSeconds(rules.resourceTimeout)
        let user = (account ?? CheckedAccount(user: device.userID)).user
        let (service, caller) = try await repeated(rules, end, for: user) {
            () async throws(SyncError) in
            let late = rules.late(.networkFailure)
            return try await FirstOutcome.of(seconds: rules.requestTimeout, late: late) {
                () async throws(SyncError) in
                let service = try await device.cloud.service()
                let caller = try await device.caller(of: container, scope.model, user)
                await device.listen(to: container, service)
                return (service, caller)
            }
        }
        return Session(
            device: device,
            service: service,
            caller: caller,
            requestID: requestID,
            rules: rules,
            end: end
        )
    }

    /// Makes a call with a timeout, and repeats it if that may help.
    ///
    /// Throws `networkFailure` on a timeout, and `operationCancelled` as soon as the operation is
    /// cancelled.
    func call<Value: Sendable>(_ call: @escaping ServiceCall<Value>) async throws(CKError) -> Value
    {
        try await self.call(caller, timeout: .networkFailure, call)
    }

    /// Sends or receives the bytes of a file, whose every piece begins the time for a request anew.
    func transfer<Value: Sendable>(
        _ transfer:
            @escaping @Sendable (any DatabaseService, Caller, Pulse)
            async throws(SyncError) -> Value
    ) async throws(CKError) -> Value {
        let pulse = Pulse()
        return try await call(caller, timeout: .networkFailure, pulse: pulse) {
            (service, caller) async throws(SyncError) in try await transfer(service, caller, pulse)
        }
    }

    /// Makes a call that changes data: repeated under the same id, it is performed once.
    ///
    /// `part` distinguishes the changes of one operation. Throws `serverResponseLost` on a timeout:
    /// then it is unknown if the change was made.
    func change<Value: Sendable>(
        _ part: String = "",
        _ call: @escaping ServiceCall<Value>
    ) async throws(CKError) -> Value {
        var caller = caller
        caller.requestID = requestID + part
        return try await self.call(caller, timeout: .serverResponseLost, call)
    }

    private func call<Value: Sendable>(
        _ caller: Caller,
        timeout: SyncError.Code,
        pulse: Pulse? = nil,
        _ call: @escaping ServiceCall<Value>
    ) async throws(CKError) -> Value {
        let late = rules.late(timeout)
        return try await Self.repeated(rules, end, for: caller.user) { () async throws(SyncError) in
            try await FirstOutcome.of(seconds: rules.requestTimeout, pulse, late: late) {
                [service] () async throws(SyncError) in
                try await call(service, caller)
            }
        }
    }

    private static func repeated<Value: Sendable>(
        _ rules: RetryRules,
        _ end: ContinuousClock.Instant,
        for user: UserID?,
        _ body: () async throws(SyncError) -> Value
    ) async throws(CKError) -> Value {
        var attempt = 0
        while true {
            do throws(SyncError) {
                return try await body()
            } catch {
                guard let wait = rules.wait(after: error, attempt: attempt, until: end) else {
                    throw CKError(error, seenBy: user)
                }
                attempt += 1
                // The pause ends early if the task is cancelled.
                await pause(seconds: wait)
                if Task.isCancelled {
                    throw CKError(.operationCancelled, "The operation was cancelled.")
                }
            }
        }
    }
}

/// The first outcome of several: a response, a timeout, or a cancellation.
final class FirstOutcome<Value: Sendable>: Sendable {
    private enum State {
        case none
        case waited(CheckedContinuation<Result<Value, SyncError>, Never>)
        case some(Result<Value, SyncError>)
    }

    private let state = Lock(State.none)

    /// Runs a body for at most some seconds; with a pulse, for at most some seconds without a beat.
    ///
    /// After the timeout the body continues in the background.
    static func of(
        seconds: Double,
        _ pulse: Pulse? = nil,
        late: SyncError,
        _ body: @escaping @Sendable () async throws(SyncError) -> Value
    ) async throws(SyncError) -> Value {
        // A service need not observe cancellation. Instead of waiting for it, the operation takes
        // the first outcome, so it ends at once; the service completes what it has begun.
        let first = FirstOutcome()
        let work = Task(executorPreference: OwnThreads.shared) {
            do throws(SyncError) {
                first.give(.success(try await body()))
            } catch {
                first.give(.failure(error))
            }
        }
        let timer = Task(executorPreference: OwnThreads.shared) {
            var beats: Int?
            repeat {
                beats = pulse?.beats
                await pause(seconds: seconds)
            } while !Task.isCancelled && pulse?.beats != beats
            if !Task.isCancelled { first.give(.failure(late)) }
        }
        // Ends the timer after a response, and asks late work to stop.
        defer {
            work.cancel()
            timer.cancel()
        }
        let result = await withTaskCancellationHandler {
            await first.outcome()
        } onCancel: {
            first.give(
                .failure(SyncError(.operationCancelled, "The operation was cancelled."))
            )
        }
        return try result.get()
    }

    private func give(_ outcome: Result<Value, SyncError>) {
        // Only the first outcome finds the continuation in the state, so it is resumed once.
        let waiting = state.withLock {
            state -> CheckedContinuation<Result<Value, SyncError>, Never>? in
            switch state {
            case .none:
                state = .some(outcome)
                return nil
            case .waited(let continuation):
                state = .some(outcome)
                return continuation
            case .some:
                return nil
            }
        }
        waiting?.resume(returning: outcome)
    }

    private func outcome() async -> Result<Value, SyncError> {
        await withCheckedContinuation { continuation in
            let outcome = state.withLock { state -> Result<Value, SyncError>? in
                // The body may have ended before anyone waits.
                if case .some(let outcome) = state { return outcome }
                state = .waited(continuation)
                return nil
            }
            if let outcome { continuation.resume(returning: outcome) }
        }
    }
}
