// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing
import TidemarkModel

@testable import CloudKit
@testable import TidemarkCloudKit

/// Whether a device comes to hear of changes.
@Suite struct HearingTests {
    /// Answers as often as it is asked, first with errors; the feed ends at once.
    private static func begin(
        after errors: SyncError.Code...
    ) async -> (feed: Int?, isLate: Bool?, tryCount: Int) {
        var left = errors[...]
        var tryCount = 0
        var heard: (feed: Int, isLate: Bool)?
        await keepHearing { () async throws(SyncError) -> Int in
            tryCount += 1
            if let code = left.popFirst() { throw SyncError(code, "Not now.") }
            return 7
        } _: { feed, hasMissed in
            heard = (feed, hasMissed)
        }
        return (heard?.feed, heard?.isLate, tryCount)
    }

    @Test func `A feed begins immediately, or after a retry if the service is busy`() async {
        let atOnce = await Self.begin()
        #expect(atOnce.feed == 7 && atOnce.isLate == false && atOnce.tryCount == 1)
        let late = await Self.begin(after: .requestRateLimited)
        #expect(late.feed == 7 && late.isLate == true && late.tryCount == 2)
    }

    @Test(arguments: [SyncError.Code.serviceUnavailable, .notAuthenticated])
    func `A request that a service refuses permanently is not retried`(
        _ code: SyncError.Code
    ) async {
        let refused = await Self.begin(after: code)
        #expect(refused.feed == nil && refused.tryCount == 1)
    }

    @Test func `A request to a service that says when to come back is retried`() async {
        var tryCount = 0
        var heard: Int?
        await keepHearing { () async throws(SyncError) -> Int in
            tryCount += 1
            guard tryCount > 1 else {
                throw SyncError(.serviceUnavailable, "Not now.", retryAfter: .seconds(1))
            }
            return 7
        } _: { feed, _ in
            heard = feed
        }
        #expect(heard == 7 && tryCount == 2)
    }

    /// As after a restore of the server, or when credentials end and are renewed.
    @Test func `A feed that fails is followed by another`() async {
        var refusals: [SyncError.Code] = []
        var feeds: [Int] = []
        var missed: [Bool] = []
        await keepHearing { () async throws(SyncError) -> Int in
            if let code = refusals.popLast() { throw SyncError(code, "Not now.") }
            return feeds.count
        } _: { feed, hasMissed in
            feeds.append(feed)
            missed.append(hasMissed)
            guard feed == 0 else { return }
            refusals = [.notAuthenticated]
            throw SyncError(.changeTokenExpired, "Begin anew.")
        }
        #expect(feeds == [0, 1])
        #expect(missed == [false, true])
    }

    @Test func `A cancelled task sends no more requests`() async {
        let task = Task { await Self.begin(after: .networkFailure, .networkFailure) }
        task.cancel()
        let cancelled = await task.value
        #expect(cancelled.feed == nil && cancelled.tryCount <= 1)
    }
}
