// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel

/// When a sync loop next does something by itself.
struct Schedule: Sendable {
    /// When to fetch; `nil` for when there is news.
    var fetchAt: Int64?
    /// When to send.
    var sendAt: Int64?
    /// When to ask the server to tell of changes, if it was not asked.
    var subscribeAt: Int64 = 0
    /// When to look again at an account that could not be used.
    var accountAt: Int64?
    /// How many tries of each kind of work in a row have failed.
    private var failureCounts = [Int](repeating: 0, count: Work.allCases.count)
    /// The server wants nothing before this.
    private var notBefore: Int64 = 0

    /// What is tried, and tried again: that one works says nothing of the others.
    enum Work: Int, CaseIterable {
        case account
        case subscribing
        case fetching
        case sending
    }

    /// The longest time between two tries.
    private static let longestWait: Int64 = 5 * 60 * 1000
    /// The longest time that a server can ask for: a hundred years.
    private static let longestAskedWait = 100.0 * 365 * 24 * 60 * 60 * 1000

    /// There is news to fetch.
    mutating func fetchSoon(_ now: Int64) {
        let soon = max(now, notBefore)
        fetchAt = min(fetchAt ?? soon, soon)
    }

    /// There is something to send: what is added while a failed sending waits to be repeated goes with
    /// it.
    mutating func sendSoon(_ now: Int64) {
        let soon = max(now, notBefore)
        sendAt = failureCounts[Work.sending.rawValue] > 1 ? sendAt ?? soon : soon
    }

    /// Nothing is to be fetched or sent until there is news.
    mutating func cancel() {
        fetchAt = nil
        sendAt = nil
        failureCounts = failureCounts.map { _ in 0 }
    }

    /// Something went well.
    mutating func succeed(_ work: Work) {
        failureCounts[work.rawValue] = 0
    }

    /// When to try again after a failure: at once, then after one second, then after twice as long each
    /// time; never before the server said.
    mutating func retryTime(of work: Work, after error: SyncError, at now: Int64) -> Int64 {
        failureCounts[work.rawValue] += 1
        let failureCount = failureCounts[work.rawValue]
        let doublings = min(failureCount - 2, 20)
        let wait = failureCount == 1 ? 0 : min(1000 << Int64(doublings), Self.longestWait)
        let asked = ((error.retryAfter?.inSeconds ?? 0) * 1000).rounded(.up)
        if asked > 0 {
            notBefore = max(notBefore, now + Int64(min(asked, Self.longestAskedWait)))
        }
        return max(now + wait, notBefore)
    }
}

extension SyncError.Code {
    /// Whether a sync loop repeats by itself what failed with this code; what fails with another is for
    /// the app to deal with.
    ///
    /// From Apple's sample for `CKSyncEngine`.
    var isPassing: Bool {
        switch self {
        case .notAuthenticated, .accountTemporarilyUnavailable, .networkFailure,
            .networkUnavailable, .requestRateLimited, .serviceUnavailable, .zoneBusy,
            .operationCancelled:
            true
        default: false
        }
    }
}
