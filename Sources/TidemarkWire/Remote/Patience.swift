// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel

/// The rule for repeating a call after a lost connection or at a service's request, with the
/// delays.
public struct Patience: Sendable {
    /// The most repetitions of one call or of opening one stream; a stream that was open is resumed
    /// without limit.
    public var repetitions: Int
    /// The wait before the first repetition; it doubles with each.
    public var firstWait: Duration
    /// The longest wait after a lost connection.
    public var longestWait: Duration
    /// The longest wait that a service may request by an error's `retryAfter`.
    ///
    /// An error that requests a longer one is thrown to the caller.
    public var longestRetryAfter: Duration
    /// Waits; throws if the task is cancelled.
    public var wait: @Sendable (Duration) async throws -> Void

    /// Creates a patience; the defaults give up on a call after about six seconds.
    public init(
        repetitions: Int = 6,
        firstWait: Duration = .milliseconds(100),
        longestWait: Duration = .seconds(30),
        longestRetryAfter: Duration = .seconds(10),
        wait: @escaping @Sendable (Duration) async throws -> Void = {
            try await Task.sleep(for: $0)
        }
    ) {
        self.repetitions = repetitions
        self.firstWait = firstWait
        self.longestWait = longestWait
        self.longestRetryAfter = longestRetryAfter
        self.wait = wait
    }

    /// Returns the wait before a repetition; the first is number 0.
    func wait(before repetition: Int) -> Duration {
        // The exponent is limited so that the shift cannot overflow.
        min(firstWait * (1 << min(repetition, 20)), longestWait)
    }

    /// Repeats a call until it succeeds, fails permanently, or reaches the limit of repetitions.
    func repeating<Answer>(
        _ body: () async throws(SyncError) -> Answer
    ) async throws(SyncError) -> Answer {
        var repetition = 0
        while true {
            do throws(SyncError) {
                return try await body()
            } catch {
                guard repetition < repetitions, let wait = wait(after: error, repetition) else {
                    throw error
                }
                guard await pause(wait) else {
                    guard Task.isCancelled else { throw error }
                    throw SyncError(
                        .operationCancelled,
                        "The call was cancelled while it waited to be repeated."
                    )
                }
                repetition += 1
            }
        }
    }

    /// Returns the wait after an error before the next try; `nil` if there is none.
    private func wait(after error: SyncError, _ repetition: Int) -> Duration? {
        // The first try may have succeeded. Repeating a write is safe all the same, because
        // `RemoteService` gives all tries the same request id.
        if error.isLostConnection { return wait(before: repetition) }
        // Only an error that names a time is repeated. A longer time is for the app to decide,
        // because this call would keep it waiting.
        guard error.code.isRetryable, let asked = error.retryAfter, asked <= longestRetryAfter
        else { return nil }
        return asked
    }

    /// Waits before a repetition, as long as the server asked, but not longer than the longest wait;
    /// returns false if the task is cancelled.
    func pause(before repetition: Int, atLeast asked: Duration? = nil) async -> Bool {
        await pause(max(wait(before: repetition), min(asked ?? .zero, longestWait)))
    }

    private func pause(_ time: Duration) async -> Bool {
        do {
            try await wait(time)
            // A `wait` of the app may return early instead of throwing.
            return !Task.isCancelled
        } catch {
            return false
        }
    }
}

extension SyncError {
    /// True if the connection was lost, so that it is unknown if the request arrived.
    var isLostConnection: Bool {
        switch code {
        case .networkUnavailable, .networkFailure, .serverResponseLost: true
        default: false
        }
    }
}
