// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing
import TidemarkModel

@testable import CloudKit
@testable import TidemarkCloudKit

/// Whether a device comes to hear of changes.
@Suite struct HearingTests {
    /// Answers as often as it is asked, first with errors.
    private static func begin(
        after errors: SyncError.Code...
    ) async -> (feed: Int?, isLate: Bool?, tryCount: Int) {
        var left = errors[...]
        var tryCount = 0
        let heard = await beginHearing { () async throws(SyncError) -> Int in
            tryCount += 1
            if let code = left.popFirst() { throw SyncError(code, "Not now.") }
            return 7
        }
        return (heard?.feed, heard?.isLate, tryCount)
    }

    @Test func `A feed begins immediately, or after a retry if the service is busy`() async {
        let atOnce = await Self.begin()
        #expect(atOnce.feed == 7 && atOnce.isLate == false && atOnce.tryCount == 1)
        let late = await Self.begin(after: .requestRateLimited)
        #expect(late.feed == 7 && late.isLate == true && late.tryCount == 2)
    }

    @Test func `A request to a closed service is not retried`() async {
        let refused = await Self.begin(after: .serviceUnavailable)
        #expect(refused.feed == nil && refused.tryCount == 1)
    }

    @Test func `A request to a service that says when to come back is retried`() async {
        var tryCount = 0
        let heard = await beginHearing { () async throws(SyncError) -> Int in
            tryCount += 1
            guard tryCount > 1 else {
                throw SyncError(.serviceUnavailable, "Not now.", retryAfter: .seconds(1))
            }
            return 7
        }
        #expect(heard?.feed == 7 && tryCount == 2)
    }

    @Test func `A cancelled task sends no more requests`() async {
        let task = Task { await Self.begin(after: .networkFailure, .networkFailure) }
        task.cancel()
        let cancelled = await task.value
        #expect(cancelled.feed == nil && cancelled.tryCount <= 1)
    }
}
