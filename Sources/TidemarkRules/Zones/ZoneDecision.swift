// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
package import TidemarkLog
package import TidemarkModel

/// The decision about a request to create and delete zones.
package struct ZoneDecision: Sendable {
    /// The outcomes of the creations, then of the deletions, each in request order.
    package private(set) var outcomes: [ItemOutcome] = []
    /// The commit; empty if nothing has to change.
    package var plan: CommitPlan
    /// The highest position that the decision depends on.
    package private(set) var lookedAt = SequenceNumber.zero

    /// Decides a request based on a state of the store.
    package init(
        _ request: ModifyZonesRequest,
        as caller: Caller,
        over facts: any Facts,
        limits: Limits,
        time: Int64
    ) throws(SyncError) {
        plan = CommitPlan(over: facts, time: time)
        var zones = ConsultedZones()
        var audiences = Audiences(facts)
        var named: Set<Int> = []
        var consequences = SystemChange(zone: .shares)
        for (index, zone) in (request.saves + request.deletions).enumerated() {
            let position = try zones.index(
                of: zone,
                in: caller.database,
                creating: .every,
                facts,
                limits
            )
            guard named.insert(position).inserted else { throw .zoneNamedTwice(zone) }
            lookedAt = max(lookedAt, zones[position].lookedAt)
            let isSave = index < request.saves.count
            if isSave {
                outcomes.append(create(zones[position], caller))
                continue
            }
            outcomes.append(delete(zones[position], request.deletionReason, caller))
            guard case .event = outcomes[index] else { continue }
            // After the zone's own event, whose index is the outcome.
            let end = try SharesEnd(with: zones[position], &audiences, facts)
            for audience in end.audiences { plan.deleteZone(audience, request.deletionReason) }
            consequences.saves += end.consequences.saves
            consequences.deletions += end.consequences.deletions
        }
        let author = Authorship(time: time, user: caller.user)
        // In the same commit as the ends of the zones, so that no link leads to a share that is
        // gone.
        try plan.add(consequences, of: caller.database, by: author, over: facts)
    }

    private mutating func create(_ zone: ConsultedZone, _ caller: Caller) -> ItemOutcome {
        if let error = zone.error { return ItemOutcome(error) }
        // Creating a zone that exists succeeds and appends nothing (semantics.md, "Zones").
        if zone.key != nil || zone.identity.isImplicit { return .nothingToDo }
        guard caller.database.scope == .private else {
            return ItemOutcome(.badDatabase(caller.database, "hold custom zones"))
        }
        _ = plan.createZone(zone)
        return .event(plan.eventCount - 1)
    }

    private mutating func delete(
        _ zone: ConsultedZone,
        _ reason: ZoneDeletionReason,
        _ caller: Caller
    ) -> ItemOutcome {
        if let error = zone.error { return ItemOutcome(error) }
        guard !zone.identity.isImplicit else {
            return ItemOutcome(.badDatabase(caller.database, "let its default zone be deleted"))
        }
        guard let key = zone.key else { return ItemOutcome(.zoneNotFound(zone.zone)) }
        // The zone's records get no events: their zone's key is never used again.
        plan.deleteZone(key, reason)
        return .event(plan.eventCount - 1)
    }
}

extension ItemOutcome {
    /// Creates the outcome of a rejection that is not due to a record's version.
    package init(_ error: SyncError) {
        self = .refused(code: error.code.rawValue, message: error.message, against: .zero)
    }
}
