// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkRules
import TidemarkViews

extension Writer {
    /// See ``Store/modifyZones(_:as:)``.
    func modifyZones(
        _ request: ModifyZonesRequest,
        as caller: Caller
    ) async throws(SyncError) -> ModifyZonesResult {
        try reader.checkAccess(of: caller, writes: true)
        let itemCount = request.saves.count + request.deletions.count
        try reader.options.limits.check(itemCount: itemCount)
        if caller.database.scope == .shared { return try await leaveZones(request, as: caller) }
        let key = identity(of: caller, request.contentBytes)
        try await committer.waitForRoom()
        while true {
            let picture = try reader.picture(.appended)
            if let key, let answer = try firstAnswer(to: key, in: picture) {
                try await committer.waitUntilDurable(answer.last)
                return result(of: answer.outcomes, of: request, caller)
            }
            var decision = try ZoneDecision(
                request,
                as: caller,
                over: picture.facts,
                limits: reader.options.limits,
                time: reader.now()
            )
            decision.plan.seal(as: caller, key, outcomes: decision.outcomes)
            // The answer reports zones that others may have created or deleted a moment ago. It is
            // not given before those commits are durable.
            if decision.plan.eventCount == 0 {
                try await committer.waitUntilDurable(decision.lookedAt)
            } else {
                guard let placed = try await append(&decision.plan, over: picture) else { continue }
                try await committer.waitUntilDurable(placed.last)
            }
            return result(of: decision.outcomes, of: request, caller)
        }
    }

    /// Returns the result of a caller's request for some outcomes.
    func result(
        of outcomes: [ItemOutcome],
        of request: ModifyZonesRequest,
        _ caller: Caller
    ) -> ModifyZonesResult {
        request.result(
            of: outcomes,
            in: caller.database,
            isStrict: reader.options.isStrict
        )
    }
}
