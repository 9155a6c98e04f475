// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing
import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkRules

@Suite struct ImportDecisionTests {
    private let zone = ZoneID(zoneName: "Notes")
    private let rules = RecordRules(
        limits: Limits(),
        line: IncarnationLine(entries: [
            IncarnationLine.Entry(incarnation: Incarnation(rawValue: 7), first: 1)
        ]),
        scope: .private,
        isImport: true
    )

    private func id(_ name: String) -> RecordID { RecordID(recordName: name, zone: zone) }

    private func save(_ name: String) -> ChangeStreamLine.Change {
        .save(recordID: id(name), recordType: "Note", fields: Fields())
    }

    private func decide(
        _ changes: [ChangeStreamLine.Change],
        over facts: StatedFacts
    ) throws -> ImportDecision {
        try ImportDecision(
            ChangeStreamLine(time: 500, user: UserID("anna"), changes: changes),
            receivedAt: 900,
            by: rules,
            over: facts,
            WaitingShares()
        )
    }

    @Test func `A line creates the zones of its saves and applies its deletions`() throws {
        var facts = StatedFacts()
        let saved = try decide([save("a"), save("b")], over: facts)
        #expect(saved.plan.draft.time == 500 && saved.plan.draft.received == 900)
        #expect(saved.plan.eventCount == 3)
        try facts.commit(saved.plan)

        let deleted = try decide([.delete(id("a")), .delete(id("c"))], over: facts)
        #expect(deleted.plan.eventCount == 1)
        #expect(deleted.missingDeletionCount == 1)
        try facts.commit(deleted.plan)
        let key = try #require(
            facts.epoch(of: ZoneIdentity(database: .standard, zoneName: zone.name)).key
        )
        #expect(facts.liveVersions(in: key).map(\.sequence) == [3])
    }

    @Test func `Each record of a line has one event, its last change`() throws {
        let decision = try decide([save("a"), .delete(id("a")), save("a")], over: StatedFacts())
        #expect(decision.plan.eventCount == 2)
        let ended = try decide(
            [save("a"), .deleteZone(zone, reason: .purged), save("a")],
            over: StatedFacts()
        )
        #expect(ended.plan.eventCount == 5)
    }

    @Test func `A line that breaks a rule is rejected as a whole`() {
        let long = String(repeating: "x", count: 10_000)
        #expect(throws: SyncError.self) {
            try decide([save("a"), save(long)], over: StatedFacts())
        }
    }
    @Test(arguments: [65_535, 65_536])
    func `A record is bound to at most 65,535 records`(count: Int) throws {
        var rules = rules
        rules.limits.bytesPerRecord = 10_000_000
        let targets = (0..<count).map { Reference(recordName: "r\($0)", action: .deleteSelf) }
        let fields = try Fields(["targets": .referenceList(targets)])
        let line = ChangeStreamLine(
            time: 500,
            user: UserID("anna"),
            changes: [.save(recordID: id("a"), recordType: "Note", fields: fields)]
        )
        do throws(SyncError) {
            let decision = try ImportDecision(
                line,
                receivedAt: 900,
                by: rules,
                over: StatedFacts(),
                WaitingShares()
            )
            #expect(decision.plan.eventCount == 2)
            #expect(count == 65_535)
        } catch {
            #expect(error.code == .limitExceeded)
            #expect(count == 65_536)
        }
    }
}
