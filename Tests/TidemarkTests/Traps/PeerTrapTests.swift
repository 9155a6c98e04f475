// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing
import TidemarkLog
import TidemarkModel

@testable import Tidemark

/// Bugs that other sync engines have shipped, by the numbers of the project's list of them.
///
/// Those of a device's outbox, batches and retries (1, 3, 10, 16) are in `SyncLoopTests` and
/// `SyncEngineTests`, 12 (compaction) is in `CompactionTests`; 5 (children before parents) and 18
/// (repair by checksum) are of a device library, which does not exist yet. Records that cannot be
/// decoded (8) are in `DamageTests` of the command line and `ViewDamageTests`; tokens that a restore
/// cuts off (17) are in `TokenTests`.
@Suite struct PeerTrapTests {
    let scratch: ScratchAssets
    let notes: Client
    var store: Store { scratch.store }

    init() async throws {
        scratch = try ScratchAssets()
        notes = scratch.client(zone: ZoneID(zoneName: "Notes"))
        try await notes.createZone()
    }

    private func saved(_ save: RecordSave) async throws -> Record {
        try await notes.modify([save]).saves[0].get()
    }

    @Test func `2: A conflict contains the server's record, also for an insert`() async throws {
        let server = try await notes.put("a", ["n": 1])
        let conflict = try #require(
            try await notes.modify([try notes.save("a", ["n": 2])]).saves[0].error?.conflict
        )
        #expect(conflict.server == server)
        #expect(conflict.client["n"] == .int64(2))
        // A client that held no version has no ancestor.
        #expect(conflict.ancestor == nil)
    }

    @Test func `3: The error of an oversized request has its size and the limit`() async throws {
        let saves = try (0..<401).map { try notes.save("r\($0)", ["n": 1]) }
        let error = await #expect(throws: SyncError.self) { try await notes.modify(saves) }
        #expect(error?.code == .limitExceeded)
        #expect(
            error?.message == "The request has 401 items; at most 400 are allowed in one request."
        )
        #expect(error?.remedy.hasPrefix("Split the request in half") == true)
    }

    @Test func `4: A token is a position, independent of clocks`() async throws {
        try await notes.put("a", ["n": 1])
        let token = try await notes.changes().token
        // The clock of the machine is set back by a day, and a line claims to be from long ago.
        scratch.wait(-ScratchAssets.day)
        try await notes.put("b", ["n": 1])
        var changes = try store.beginImport()
        _ = try await changes.add(
            ChangeStreamLine(
                time: 1,
                user: UserID("_anna"),
                changes: [
                    .save(recordID: notes.id("c"), recordType: "Note", fields: try Fields(["n": 1]))
                ]
            )
        )
        try await changes.finish()
        let delta = try await notes.changes(since: token).changes
        #expect(delta.compactMap(\.changedName) == ["b", "c"])
        let times = try await notes.fetch("a", "b", "c").map { try $0.get().modified.time }
        #expect(times == times.sorted())
    }

    @Test func `6: Delete and insert of one name work alike on one or two devices`() async throws {
        let first = try await notes.put("a", ["old": 1])
        let token = try await notes.changes().token
        // In one request it would have no order.
        let both = ModifyRecordsRequest(
            saves: [try notes.save("a", ["n": 1])],
            deletions: [RecordDeletion(notes.id("a"))]
        )
        let error = await #expect(throws: SyncError.self) {
            try await store.modifyRecords(both, as: notes.caller)
        }
        #expect(error?.code == .invalidArguments)
        var laptop = notes
        laptop.caller.device = "laptop"
        for client in [notes, laptop] {
            try await client.modify([], delete: [RecordDeletion(client.id("a"))])
            let stale = try await client.modify([
                try client.save("a", ["n": 1], tag: first.changeTag)
            ])
            #expect(stale.saves[0].error?.code == .unknownItem)
            let again = try await notes.put("a", ["n": 1])
            #expect(again["old"] == nil)
            #expect(try await client.changes(since: token).changes == [.changed(again)])
        }
    }

    @Test(arguments: ZoneDeletionReason.allCases)
    func `7: The removal of a zone has its reason`(reason: ZoneDeletionReason) async throws {
        let start = try await notes.databaseChanges()
        try await notes.deleteZone(reason)
        let told = try await notes.databaseChanges(since: start.token)
        #expect(told.changes == [.deleted(notes.zone, reason)])
    }

    @Test func `9: A missing index fails only its query and names the remedy`() async throws {
        try await notes.put("a", ["n": 1])
        var schema = try store.schema()
        schema = try SchemaFile(schema.text.replacing("QUERYABLE SORTABLE", with: "QUERYABLE"))
            .schema
        try await store.importSchema(schema)
        try await store.promoteSchema()
        var released = notes
        released.caller.database.environment = .production
        try await released.createZone()
        try await released.put("a", ["n": 1])
        let error = try await released.refusal(of: "n > 0")
        #expect(error?.code == .invalidArguments)
        #expect(error?.message.contains("Field 'n' is not marked sortable") == true)
        #expect(error?.message.contains("tidemark schema index") == true)
        #expect(try await released.find("n == 1") == ["a"])
        #expect(try await released.changes().changes.count == 1)
    }

    @Test func `11: A first sync includes changes during it, no earlier deletions`() async throws {
        for index in 0..<6 { _ = try await notes.put("r\(index)", ["n": 0]) }
        try await notes.modify([], delete: [RecordDeletion(notes.id("r5"))])
        var known: [String: Int64] = [:]
        var token: ChangeToken?
        var deletionCount = 0
        for step in 0..<20 {
            let page = try await notes.page(since: token, limit: 2)
            for change in page.changes {
                switch change {
                case .changed(let record):
                    if case .int64(let n)? = record["n"] { known[record.recordID.recordName] = n }
                case .deleted(let record):
                    deletionCount += 1
                    known[record.recordID.recordName] = nil
                }
            }
            token = page.token
            if step == 0 {
                // Told already, not told yet, new, and gone.
                for name in ["r0", "r4", "new"] {
                    try await notes.put(name, ["n": 1], policy: .allKeys)
                }
                try await notes.modify([], delete: [RecordDeletion(notes.id("r1"))])
            }
            if step > 0, !page.moreComing { break }
        }
        #expect(known == ["r0": 1, "r2": 0, "r3": 0, "r4": 1, "new": 1])
        #expect(deletionCount == 1)
    }

    @Test func `13: A replay does not read clocks or random numbers again`() async throws {
        for index in 0..<5 { _ = try await notes.put("r\(index)", ["n": 1]) }
        try await notes.modify([], delete: [RecordDeletion(notes.id("r2"))])
        let before = try await notes.changes()
        try store.close()
        // Another clock, and views that are lost: all is computed from the log again.
        let again = try ScratchAssets(scratch.disk)
        again.wait(30 * ScratchAssets.day)
        let reader = again.client(zone: notes.zone)
        let after = try await reader.changes()
        #expect(after.changes == before.changes)
        #expect(try await reader.changes(since: before.token).changes.isEmpty)
    }

    @Test func `14: Limits and indexes are equal in both environments, and configurable`()
        async throws
    {
        var options = StoreOptions()
        options.limits.fieldsPerRecord = 2
        let scratch = try ScratchAssets(options: options)
        let developed = scratch.client()
        try await developed.put("a", ["x": 1, "y": 1])
        let more = try developed.save("b", ["x": 1, "y": 1, "z": 1])
        let refused = try await developed.modify([more]).saves[0].error
        #expect(refused?.code == .limitExceeded)
        try await scratch.store.promoteSchema()
        var released = developed
        released.caller.database.environment = .production
        #expect(try await released.modify([more]).saves[0].error == refused)
        #expect(try scratch.store.schema() == scratch.store.schema(in: .production))
    }

    @Test func `15: Saving a child does not change its parent's version`() async throws {
        let parent = try await notes.put("parent", ["n": 1])
        let token = try await notes.changes().token
        var child = try notes.save(
            "child",
            ["to": .reference(Reference(recordName: "parent", action: .deleteSelf))]
        )
        child.parent = .set("parent")
        _ = try await saved(child)
        #expect(try await notes.fetch("parent")[0].get() == parent)
        let delta = try await notes.changes(since: token).changes
        #expect(delta.compactMap(\.changedName) == ["child"])
    }
}

extension RecordChange {
    fileprivate var changedName: String? {
        if case .changed(let record) = self { record.recordID.recordName } else { nil }
    }
}
