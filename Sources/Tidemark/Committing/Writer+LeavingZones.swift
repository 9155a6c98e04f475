// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkRules
import TidemarkViews

extension Writer {
    /// Deleting a zone of a shared database means leaving all shares in it; none can be made there.
    ///
    /// One commit, whatever the number of zones and shares.
    func leaveZones(
        _ request: ModifyZonesRequest,
        as caller: Caller
    ) async throws(SyncError) -> ModifyZonesResult {
        let key = identity(of: caller, request.contentBytes)
        try request.checkNames()
        try await committer.waitForRoom()
        while true {
            let picture = try reader.picture(.appended)
            if let key, let answer = try firstAnswer(to: key, in: picture) {
                try await committer.waitUntilDurable(answer.last)
                return result(of: answer.outcomes, of: request, caller)
            }
            let shared = try reader.sharedZones(of: caller, picture)
            let shares = request.deletions.map { shared?.zones[$0]?.shares(in: $0) ?? [] }
            // The shares of one zone are adjacent, in the order of `request.deletions`.
            // `outcomes(of:_:in:)` relies on that.
            let leaving = ModifyRecordsRequest(deletions: shares.flatMap(\.self))
            // Roles exist only in public databases, so there is no `PublicAccess` for a shared one.
            var decision = try decide(leaving, as: caller, with: nil, picture)
            let outcomes = request.outcomes(of: decision.outcomes, shares, in: caller.database)
            if decision.isEmpty {
                let last = shared?.lookedAt ?? 0
                try await committer.waitUntilDurable(max(last, decision.lookedAt))
                return result(of: outcomes, of: request, caller)
            }
            decision.plan.seal(as: caller, key, outcomes: outcomes)
            guard let placed = try await append(&decision.plan, over: picture) else { continue }
            try await committer.waitUntilDurable(placed.last)
            return result(of: outcomes, of: request, caller)
        }
    }
}

extension ZoneAccess {
    /// The deletions of share records that take a participant out of a zone.
    fileprivate func shares(in zone: ZoneID) -> [RecordDeletion] {
        participations.values.map(\.shareName).sorted().map {
            RecordDeletion(RecordID(recordName: $0.string, zone: zone))
        }
    }
}

extension ModifyZonesRequest {
    /// Returns the outcome of each zone of a shared database: the combined outcome of its shares,
    /// which are adjacent in the items.
    fileprivate func outcomes(
        of items: [RecordDecision.Outcome],
        _ shares: [[RecordDeletion]],
        in database: DatabaseID
    ) -> [ItemOutcome] {
        let none = SyncError.badDatabase(database, "create zones; its zones belong to other users")
        var outcomes = saves.map { _ in ItemOutcome(none) }
        var start = 0
        for (zone, shares) in zip(deletions, shares) {
            let left = items[start..<start + shares.count].map(\.stored)
            start += shares.count
            let refused = left.filter { $0.refusal != nil }
            // The other items are rejected because of that one.
            let cause = refused.first { $0.refusal?.code != .batchRequestFailed } ?? refused.first
            outcomes.append(cause ?? left.last ?? ItemOutcome(.zoneNotFound(zone)))
        }
        return outcomes
    }
}
