// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel

/// The times at which a sync loop next does something by itself.
struct Schedule: Sendable {
    /// The time of the next fetch; `nil` waits for a notification.
    var fetchAt: Int64?
    /// The time of the next send operation.
    var sendAt: Int64?
    /// The time at which to subscribe to the server's changes, if not yet subscribed.
    var subscribeAt: Int64 = 0
    /// The time at which to check an account again that could not be used.
    var accountAt: Int64?
    /// The number of consecutive failures of each kind of work.
    private var failureCounts = [Int](repeating: 0, count: Work.allCases.count)
    /// The time before which the server accepts no requests.
    private var notBefore: Int64 = 0

    /// The kinds of work that are retried separately.
    ///
    /// The success of one kind does not reset the failures of the others.
    enum Work: Int, CaseIterable {
        case account
        case subscribing
        case fetching
        case sending
    }

    /// The longest time between two tries.
    private static let longestWait: Int64 = 5 * 60 * 1000
    /// The longest wait that a server can request: a hundred years.
    private static let longestAskedWait = 100.0 * 365 * 24 * 60 * 60 * 1000

    /// Schedules a fetch for news.
    mutating func fetchSoon(_ now: Int64) {
        let soon = max(now, notBefore)
        // News bring a delayed retry forward, but not before the time that the server named.
        fetchAt = min(fetchAt ?? soon, soon)
    }

    /// Schedules a send operation.
    ///
    /// A change that is added during the wait for a retry is sent with that retry.
    mutating func sendSoon(_ now: Int64) {
        let soon = max(now, notBefore)
        // The first retry is immediate anyway, so only a delayed retry is waited for.
        sendAt = failureCounts[Work.sending.rawValue] > 1 ? sendAt ?? soon : soon
    }

    /// Lets a send operation that is due wait until the server accepts requests again.
    mutating func postponeSending() {
        sendAt = sendAt.map { max($0, notBefore) }
    }

    /// Cancels all scheduled work until there is news.
    mutating func cancel() {
        // `notBefore` stays: a cancellation by the app does not change what the server accepts.
        fetchAt = nil
        sendAt = nil
        failureCounts = failureCounts.map { _ in 0 }
    }

    /// Something went well.
    mutating func succeed(_ work: Work) {
        failureCounts[work.rawValue] = 0
    }

    /// Returns the time of the next try after a failure.
    ///
    /// The first retry is immediate, the second after one second, and each later one after twice
    /// the previous delay. It is never before the time that the server named.
    mutating func retryTime(of work: Work, after error: SyncError, at now: Int64) -> Int64 {
        failureCounts[work.rawValue] += 1
        let failureCount = failureCounts[work.rawValue]
        // The limit keeps the shift within `Int64`; `longestWait` limits the result long before.
        let doublings = min(failureCount - 2, 20)
        let wait = failureCount == 1 ? 0 : min(1000 << Int64(doublings), Self.longestWait)
        let asked = ((error.retryAfter?.inSeconds ?? 0) * 1000).rounded(.up)
        if asked > 0 {
            // One time for all kinds of work, because the next call would probably meet the same
            // limit. It only grows: a later, shorter delay does not end an earlier one.
            notBefore = max(notBefore, now + Int64(min(asked, Self.longestAskedWait)))
        }
        return max(now + wait, notBefore)
    }
}

extension SyncError.Code {
    /// True if a sync loop retries by itself after an error with this code.
    ///
    /// Errors with any other code are for the app to handle. From Apple's sample for
    /// `CKSyncEngine`, and `serverResponseLost`: if the lost answer was of a save that the server
    /// has made, the retry is a conflict, which the app handles as any other.
    var isPassing: Bool {
        switch self {
        case .notAuthenticated, .accountTemporarilyUnavailable, .networkFailure,
            .networkUnavailable, .requestRateLimited, .serviceUnavailable, .zoneBusy,
            .operationCancelled, .serverResponseLost:
            true
        default: false
        }
    }
}
