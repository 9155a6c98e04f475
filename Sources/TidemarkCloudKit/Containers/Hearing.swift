// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel

/// Begins to hear of something, and tries again for as long as the service is too busy or cannot be
/// reached; says whether that took more than one try.
///
/// `nil` once the task is cancelled, or if the service refuses for good or is closed.
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
    /// A closed store fails with `serviceUnavailable`.
    var mayPassBeforeHearing: Bool {
        switch code {
        case .requestRateLimited, .zoneBusy, .networkFailure, .networkUnavailable: true
        default: false
        }
    }
}
