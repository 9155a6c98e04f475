// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel

/// Subscribes to a feed, and retries while the service is too busy or cannot be reached.
///
/// Returns the feed, and true if that took more than one try. Returns `nil` if the task is
/// cancelled, if the service refuses permanently, or if the service is closed.
func beginHearing<Feed>(
    _ begin: () async throws(SyncError) -> Feed
) async -> (feed: Feed, isLate: Bool)? {
    var wait = 1.0
    var isLate = false
    while !Task.isCancelled {
        do throws(SyncError) {
            return (try await begin(), isLate)
        } catch {
            guard error.mayPassBeforeHearing else { return nil }
            // One second, then twice as long each time, up to a minute.
            await pause(seconds: max(wait, error.retryAfter?.inSeconds ?? 0))
            wait = min(2 * wait, 60)
            isLate = true
        }
    }
    return nil
}

extension SyncError {
    /// True if it is worth requesting the feed again.
    ///
    /// A closed store fails with `serviceUnavailable`. One that erases something, or a server that restarts,
    /// says after which time to try again.
    var mayPassBeforeHearing: Bool {
        switch code {
        case .requestRateLimited, .zoneBusy, .networkFailure, .networkUnavailable: true
        case .serviceUnavailable: retryAfter != nil
        default: false
        }
    }
}
