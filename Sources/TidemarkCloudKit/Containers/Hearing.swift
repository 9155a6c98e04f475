// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel

/// Takes the elements of a feed, and subscribes to it again when it failed, until the task is cancelled,
/// the feed ends, the service refuses permanently, or it is closed.
///
/// Passes each feed to a closure, with true if changes before it may have been missed. A feed fails if its
/// place in the log is gone, as after a restore of the server, or if the credentials have ended, which
/// may be renewed.
func keepHearing<Feed>(
    _ begin: () async throws(SyncError) -> Feed,
    _ take: (Feed, _ hasMissed: Bool) async throws -> Void
) async {
    var wait = Pauses()
    var hasFailed = false
    while let (feed, isLate) = await beginHearing(mayRenew: hasFailed, begin) {
        let beginning = ContinuousClock.now
        do {
            return try await take(feed, isLate || hasFailed)
        } catch {
            hasFailed = true
        }
        // A feed that lasted is no reason to wait for longer.
        if beginning.duration(to: .now) > .seconds(Pauses.longest) { wait = Pauses() }
        await pause(seconds: wait.next())
    }
}

/// One second, then twice as long each time, up to a minute.
private struct Pauses {
    static let longest = 60.0
    private var seconds = 1.0

    mutating func next() -> Double {
        defer { seconds = min(2 * seconds, Self.longest) }
        return seconds
    }
}

/// Subscribes to a feed, and retries while the service is too busy or cannot be reached, and if the
/// credentials may be renewed, while it does not accept them.
///
/// Returns the feed, and true if that took more than one try. Returns `nil` if the task is
/// cancelled, if the service refuses permanently, or if the service is closed.
private func beginHearing<Feed>(
    mayRenew: Bool,
    _ begin: () async throws(SyncError) -> Feed
) async -> (feed: Feed, isLate: Bool)? {
    var wait = Pauses()
    var isLate = false
    while !Task.isCancelled {
        do throws(SyncError) {
            return (try await begin(), isLate)
        } catch {
            guard error.mayPassBeforeHearing || mayRenew && error.code == .notAuthenticated else {
                return nil
            }
            await pause(seconds: max(wait.next(), error.retryAfter?.inSeconds ?? 0))
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
    fileprivate var mayPassBeforeHearing: Bool {
        switch code {
        case .requestRateLimited, .zoneBusy, .networkFailure, .networkUnavailable: true
        case .serviceUnavailable: retryAfter != nil
        default: false
        }
    }
}
