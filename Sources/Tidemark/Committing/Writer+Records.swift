// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkRules
import TidemarkViews

extension Writer {
    /// See ``Store/modifyRecords(_:as:)``.
    func modifyRecords(
        _ request: ModifyRecordsRequest,
        as caller: Caller
    ) async throws(SyncError) -> ModifyRecordsResult {
        try reader.checkAccess(of: caller, writes: true)
        try request.check(reader.options.limits)
        // The hash covers the request as the client sent it, before references are rewritten. A
        // retry sends the same bytes.
        let key = identity(of: caller, request.contentBytes)
        let request = try request.withLocalReferences(in: caller.database).withoutShareFields()
        // Before a picture is taken: a compaction waits until earlier pictures are released, and a
        // decision over an old picture would likely be stale.
        if committer.mayLackRoom { try await committer.waitForRoom() }
        // A round fails only because another commit or an asset collection came first. So the store
        // as a whole makes progress in each round.
        while true {
            let picture = try reader.picture(.appended)
            let access = try reader.access(of: caller, picture)
            // The picture includes commits that are not durable. A retry must not be answered
            // before the first commit is durable, or a crash could undo an acknowledged save.
            if let key, let answer = try firstAnswer(to: key, in: picture) {
                try await committer.waitUntilDurable(answer.last)
                let sight = VersionAccess(
                    access: access,
                    shared: try reader.sharedZones(of: caller, picture)
                )
                return try answers(to: request, as: caller, from: answer, sight, picture)
                    .withoutUnreadable(to: access, request)
            }
            var decision = try decide(request, as: caller, key, with: access, picture)
            let outcomes = decision.outcomes
            decision.plan.seal(as: caller, key, outcomes: outcomes.map(\.stored))
            if decision.isEmpty {
                // Nothing changes, but the result may show versions that are not durable yet. It
                // must not be visible before they are.
                try await committer.waitUntilDurable(decision.lookedAt)
                let answer = try answers(to: request, as: caller, decision, nil)
                reader.reportDrift(of: request, answer, as: caller, picture)
                return try answer.withoutUnreadable(to: access, request)
            }
            // If the append returns nil, another commit has changed what the decision read. The
            // request is decided again over a new picture.
            guard
                let placed = try await append(&decision.plan, over: picture, callerWaits: true)
            else { continue }
            try await committer.waitUntilDurable(placed.last)
            let answer = try answers(to: request, as: caller, decision, placed)
            reader.reportDrift(of: request, answer, as: caller, picture)
            return try answer.withoutUnreadable(to: access, request)
        }
    }

    /// Looks up and decides a request over a picture.
    func decide(
        _ request: ModifyRecordsRequest,
        as caller: Caller,
        _ key: RequestIdentity? = nil,
        with access: PublicAccess?,
        _ picture: ViewPicture
    ) throws(SyncError) -> RecordDecision {
        let facts = picture.facts
        let shared = try reader.sharedZones(of: caller, picture)
        let (consulted, zones) = try consult(request, as: caller, shared, facts)
        let time = reader.now()
        let limits = reader.options.limits
        let schema =
            try reader.options.checksSchema
            ? reader.schema(of: caller.database, picture, facts) : nil
        let assets = try consultAssets(request, consulted, in: zones, as: caller, picture)
        var decision = RecordDecision(
            consulted,
            in: zones,
            under: schema.map {
                GrowingSchema($0, in: caller.database.environment, caller.database.scope)
            },
            with: access,
            naming: assets,
            over: facts,
            time: time
        )
        if let frame = committer.earlyFrame(byteCount: request.fieldByteCount) {
            // As it is sealed in the end if every item is saved.
            let count = request.itemCount
            decision.plan.seal(as: caller, key, outcomes: (0..<count).map { .event($0) })
            decision.plan.draft.begin(frame, eventCount: count)
        }
        var rules = RecordRules(
            limits: limits,
            line: reader.line,
            scope: caller.database.scope,
            userName: caller.userRecordName
        )
        rules.touchesTargets = reader.options.isStrict
        try decision.decide(
            request,
            as: caller,
            by: rules,
            ShareUpdates(
                time: time,
                limits: limits,
                in: caller.database,
                over: facts,
                random: reader.random,
                needsRoot: reader.options.isStrict
            )
        )
        return decision
    }

    /// Looks up the records and zones that a request names.
    private func consult(
        _ request: ModifyRecordsRequest,
        as caller: Caller,
        _ shared: SharedZones?,
        _ facts: any Facts
    ) throws(SyncError) -> (ConsultedItems, ConsultedZones) {
        var zones = ConsultedZones(shared: shared)
        var items: [ConsultedItem] = []
        items.reserveCapacity(request.itemCount)
        var last = ZoneID.default
        var zone = 0
        let hash = reader.views.hash
        for index in 0..<request.itemCount {
            request.prefetchName(ofSaveAt: index + 8)
            // Items mostly follow each other in one zone.
            if index == 0 || !request.isSurely(in: last, at: index) {
                last = request.record(at: index).zone
                zone = try zones.index(
                    of: last,
                    in: caller.database,
                    creating: .implicit,
                    facts,
                    reader.options.limits
                )
            }
            let name = request.recordName(at: index)
            items.append(ConsultedItem(name: name, zone: zone, slot: hash.slot(ofName: name)))
        }
        // Saves and deletions in one request have no order, so a record may be named once
        // (semantics.md, "Saving").
        let order = SlotOrder(items)
        if let repetition = order.firstRepetition(in: items) {
            throw .recordNamedTwice(request.record(at: repetition))
        }
        return (try ConsultedItems(&items, order, in: zones, facts), zones)
    }
}
