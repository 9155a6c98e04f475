// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel

/// The rule by which a call is repeated after a lost connection, and how long is waited before.
public struct Patience: Sendable {
    /// The most repetitions of one call or of opening one stream; a stream that was open is resumed without limit.
    public var repetitions: Int
    /// The wait before the first repetition; it doubles with each.
    public var firstWait: Duration
    /// The longest wait.
    public var longestWait: Duration
    /// Waits; throws if the task is cancelled.
    public var wait: @Sendable (Duration) async throws -> Void

    /// Describes a patience; the defaults give up on a call after about six seconds.
    public init(
        repetitions: Int = 6,
        firstWait: Duration = .milliseconds(100),
        longestWait: Duration = .seconds(30),
        wait: @escaping @Sendable (Duration) async throws -> Void = {
            try await Task.sleep(for: $0)
        }
    ) {
        self.repetitions = repetitions
        self.firstWait = firstWait
        self.longestWait = longestWait
        self.wait = wait
    }

    /// The wait before a repetition; the first is number 0.
    func wait(before repetition: Int) -> Duration {
        min(firstWait * (1 << min(repetition, 20)), longestWait)
    }

    /// Does something until it succeeds, fails for another reason than a lost connection, or was repeated often
    /// enough.
    func repeating<Answer>(
        _ body: () async throws(SyncError) -> Answer
    ) async throws(SyncError) -> Answer {
        var repetition = 0
        while true {
            do throws(SyncError) {
                return try await body()
            } catch {
                guard error.isLostConnection, repetition < repetitions else { throw error }
                guard await pause(before: repetition) else { throw error }
                repetition += 1
            }
        }
    }

    /// Waits before a repetition; returns false if the task is cancelled.
    func pause(before repetition: Int) async -> Bool {
        do {
            try await wait(wait(before: repetition))
            return !Task.isCancelled
        } catch {
            return false
        }
    }
}

extension SyncError {
    /// True if nobody knows if the request arrived, because the connection was lost.
    var isLostConnection: Bool {
        switch code {
        case .networkUnavailable, .networkFailure, .serverResponseLost: true
        default: false
        }
    }
}
