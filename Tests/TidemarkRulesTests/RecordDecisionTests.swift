// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing
import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkRules

@Suite struct RecordDecisionTests {
    private let caller = Caller(database: .standard, user: UserID("anna"))
    private let line = IncarnationLine(entries: [
        IncarnationLine.Entry(
            incarnation: Incarnation(rawValue: 7),
            first: SequenceNumber(rawValue: 1)
        )
    ])
    private let zone = ZoneID(zoneName: "Notes")

    private func id(_ name: String, in zone: ZoneID? = nil) -> RecordID {
        RecordID(recordName: name, zone: zone ?? self.zone)
    }

    private func save(_ name: String, _ fields: Fields = Fields()) -> RecordSave {
        RecordSave(id(name), type: "Note", fields: fields)
    }

    private func decide(
        _ request: ModifyRecordsRequest,
        over facts: StatedFacts,
        time: Int64 = 1_000
    ) throws -> RecordDecision {
        var zones = ConsultedZones()
        var items: [ConsultedItem] = []
        for record in request.saves.map(\.recordID) + request.deletions.map(\.recordID) {
            let zone = try zones.index(
                of: record.zone,
                in: caller.database,
                creating: .implicit,
                facts,
                Limits()
            )
            let slot = facts.hash.slot(ofName: record.name)
            items.append(ConsultedItem(name: record.name, zone: zone, slot: slot))
        }
        var decision = RecordDecision(
            try ConsultedItems(items, in: zones, facts),
            in: zones,
            under: nil,
            with: nil,
            naming: nil,
            over: facts,
            time: time
        )
        try decision.decide(
            request,
            as: caller,
            by: RecordRules(limits: Limits(), line: line, scope: .private),
            ShareUpdates(
                time: time,
                limits: Limits(),
                in: caller.database,
                over: facts,
                random: { 4 }
            )
        )
        return decision
    }

    private func facts() throws -> StatedFacts {
        var facts = StatedFacts()
        let decision = try ZoneDecision(
            ModifyZonesRequest(saves: [zone]),
            as: caller,
            over: facts,
            limits: Limits(),
            time: 1
        )
        try facts.commit(decision.plan)
        return facts
    }

    private func refusals(_ decision: borrowing RecordDecision) -> [SyncError.Code?] {
        decision.outcomes.map { outcome in
            if case .refused(let error, _) = outcome { error.code } else { nil }
        }
    }

    @Test func `A new record is one event of its zone`() throws {
        var facts = try facts()
        let decision = try decide(
            ModifyRecordsRequest(saves: [save("a", try Fields(["text": "Hello"]))]),
            over: facts
        )
        #expect(decision.plan.eventCount == 1)
        try facts.commit(decision.plan)
        let stored = try #require(facts.liveVersions(in: 1).first.map(\.sequence))
        let body = try facts.records(at: [stored])[0].body()
        #expect(body.recordName == "a")
        #expect(body.fields["text"] == .string("Hello"))
        #expect(body.created.time == 1_000)
        #expect(body.created.user == UserID("anna"))
    }

    @Test func `A save without the tag of an existing record conflicts`() throws {
        var facts = try facts()
        let request = ModifyRecordsRequest(saves: [save("a")])
        try facts.commit(try decide(request, over: facts).plan)
        let decision = try decide(request, over: facts)
        #expect(refusals(decision) == [.serverRecordChanged])
        let isEmpty = decision.isEmpty
        #expect(isEmpty)
        #expect(decision.lookedAt == SequenceNumber(rawValue: 2))
        guard case .refused(let error, let against) = decision.outcomes[0] else { return }
        #expect(against == SequenceNumber(rawValue: 2))
        #expect(error.conflict?.server.recordID == id("a"))
    }

    @Test func `A conflict fails the other items of its zone`() throws {
        var facts = try facts()
        try facts.commit(try decide(ModifyRecordsRequest(saves: [save("a")]), over: facts).plan)
        let both = ModifyRecordsRequest(saves: [save("b"), save("a")])
        #expect(
            refusals(try decide(both, over: facts)) == [.batchRequestFailed, .serverRecordChanged]
        )
        var alone = both
        alone.isAtomic = false
        let decision = try decide(alone, over: facts)
        #expect(refusals(decision) == [nil, .serverRecordChanged])
        #expect(decision.plan.eventCount == 1)
    }

    @Test func `Saves are decided alike alone and beside other items`() throws {
        var facts = try facts()
        let names = (0..<40).map { "n\($0)" }
        let first = try names.map { save($0, try Fields(["text": "Hello"])) }
        try facts.commit(try decide(ModifyRecordsRequest(saves: first), over: facts).plan)
        var saves = try (20..<60).map { save("n\($0)", try Fields(["text": "Bye", "n": 1])) }
        for index in saves.indices { saves[index].policy = .replace }
        let alone = try decide(ModifyRecordsRequest(saves: saves), over: facts)
        // Nothing has to change for it, and the saves are only decided when it was looked at.
        let deletions = [RecordDeletion(id("absent"))]
        let beside = try decide(
            ModifyRecordsRequest(saves: saves, deletions: deletions),
            over: facts
        )
        #expect(alone.plan.eventCount == 40 && beside.plan.eventCount == 40)
        #expect(alone.plan.draft.payloads == beside.plan.draft.payloads)
        #expect(alone.plan.draft.events.map(\.zone) == beside.plan.draft.events.map(\.zone))
        #expect(alone.plan.consulted == Array(beside.plan.consulted.prefix(40)))
        #expect(alone.outcomes.count == 40 && beside.outcomes.count == 41)
        for (index, outcomes) in zip(alone.outcomes, beside.outcomes).enumerated() {
            guard case (.event(index), .event(index)) = outcomes else {
                Issue.record("\(outcomes)")
                return
            }
        }
        guard case .nothingToDo = beside.outcomes[40] else {
            Issue.record("the deletion has something to do")
            return
        }
        try facts.commit(alone.plan)
        #expect(facts.liveVersions(in: 1).count == 60)
    }

    @Test func `Deleting a record deletes its dependents, or is rejected`() throws {
        var facts = try facts()
        func link(_ action: Reference.Action) throws -> Fields {
            try Fields(["to": .reference(Reference(recordName: "target", action: action))])
        }
        let records = ModifyRecordsRequest(saves: [
            save("target"), save("part", try link(.deleteSelf)),
        ])
        try facts.commit(try decide(records, over: facts).plan)
        let deletion = ModifyRecordsRequest(deletions: [RecordDeletion(id("target"))])
        let together = try decide(deletion, over: facts)
        #expect(refusals(together) == [nil])
        #expect(together.plan.eventCount == 2)

        let judge = ModifyRecordsRequest(saves: [save("judge", try link(.validate))])
        try facts.commit(try decide(judge, over: facts).plan)
        #expect(refusals(try decide(deletion, over: facts)) == [.referenceViolation])
    }

    @Test func `A reference to a missing record is rejected`() throws {
        let link = Reference(recordName: "nowhere", action: .deleteSelf)
        let request = ModifyRecordsRequest(saves: [
            save("a", try Fields(["to": .reference(link)]))
        ])
        #expect(refusals(try decide(request, over: try facts())) == [.referenceViolation])
    }

    @Test func `The error for a deleted zone has the reason`() throws {
        var facts = try facts()
        var request = ModifyZonesRequest(deletions: [zone])
        request.deletionReason = .purged
        let decision = try ZoneDecision(request, as: caller, over: facts, limits: Limits(), time: 2)
        try facts.commit(decision.plan)
        let after = try decide(ModifyRecordsRequest(saves: [save("a")]), over: facts)
        #expect(refusals(after) == [.userDeletedZone])
        let never = ModifyRecordsRequest(saves: [
            RecordSave(id("a", in: ZoneID(zoneName: "Never")), type: "Note", fields: Fields())
        ])
        #expect(refusals(try decide(never, over: facts)) == [.zoneNotFound])
    }

    private func systemPlan(over facts: StatedFacts) throws -> CommitPlan {
        let save = RecordSave(
            RecordID(recordName: "a", zone: SystemZone.shares.zone),
            type: "Note",
            fields: Fields(),
            policy: .replace
        )
        var plan = CommitPlan(time: 1, received: 1, bound: facts.bound, hash: facts.hash)
        try plan.add(
            SystemChange(zone: .shares, saves: [save]),
            of: caller.database,
            by: Authorship(time: 1, user: caller.user),
            over: facts
        )
        return plan
    }

    @Test func `A damaged record of a system zone is not replaced`() throws {
        var facts = StatedFacts()
        try facts.commit(try systemPlan(over: facts))
        let last = facts.bound
        #expect(try systemPlan(over: facts).eventCount == 1)
        facts.damageBody(at: last)
        let damaged = facts
        let error = #expect(throws: SyncError.self) { try systemPlan(over: damaged) }
        #expect(error?.message.contains("Event \(last) holds a body that is damaged") == true)
    }

    @Test func `Names with equal hashes get separate slots`() throws {
        var facts = StatedFacts(slotMask: 0)
        let zones = try ZoneDecision(
            ModifyZonesRequest(saves: [zone]),
            as: caller,
            over: facts,
            limits: Limits(),
            time: 1
        )
        try facts.commit(zones.plan)
        let request = ModifyRecordsRequest(saves: [save("a"), save("b"), save("c")])
        try facts.commit(try decide(request, over: facts).plan)
        #expect(facts.liveVersions(in: 1).map(\.slot) == [0, 1, 2])
        let again = try decide(ModifyRecordsRequest(saves: [save("c")]), over: facts)
        #expect(refusals(again) == [.serverRecordChanged])
    }
}
