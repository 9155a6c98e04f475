// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import Tidemark
import TidemarkModel

/// Deletions in a public database that hide behind a record which the caller may not read.
@Suite struct HiddenDeletionTests {
    let folder: ScratchFolder
    let store: Store
    let anna: Client
    let bert: Client

    init() async throws {
        folder = try ScratchFolder()
        var options = StoreOptions()
        options.segmentByteCount = 16 << 10
        let store = try Store.open(at: folder.path(), access: .creating, options: options)
        self.store = store
        func client(_ user: String) -> Client {
            let caller = Caller(
                database: DatabaseID(scope: .public),
                user: UserID(user),
                device: "phone"
            )
            return Client(store: store, caller: caller, zone: .default)
        }
        anna = client("_anna")
        bert = client("_bert")
        let text = """
            DEFINE SCHEMA CREATE ROLE Editor;
            RECORD TYPE Note (n INT64, GRANT CREATE TO "_icloud", GRANT READ, WRITE TO "_creator");
            RECORD TYPE Secret (n INT64, GRANT READ, CREATE, WRITE TO Editor);
            """
        try await store.importSchema(try SchemaFile(text).schema)
        try await store.setRoles([Schema.Role("Editor")], of: UserID("_bert"))
    }

    private func save(_ client: Client, _ name: String, type: String = "Note") async throws {
        let save = try client.save(name, ["n": 1], policy: .allKeys, type: type)
        _ = try await client.modify([save]).saves[0].get()
    }

    private func delete(_ client: Client, _ name: String) async throws {
        let deletion = RecordDeletion(client.id(name))
        _ = try await client.modify([], delete: [deletion]).deletions[0].get()
    }

    private func lines(_ changes: some Sequence<RecordChange>) -> [String] {
        changes.map { change in
            switch change {
            case .changed(let record): record.recordID.recordName
            case .deleted(let record): "-\(record.recordID.recordName) \(record.recordType)"
            }
        }
    }

    private func page(
        _ client: Client,
        since token: ChangeToken?
    ) async throws -> (lines: [String], page: ZoneChanges) {
        let page = try await client.page(since: token, limit: 1)
        return (lines(page.changes), page)
    }

    @Test func `A deletion is reported even if another user reuses the name`() async throws {
        try await save(anna, "a")
        let start = try await anna.changes()
        try await delete(anna, "a")
        try await save(bert, "a")
        let delta = try await anna.changes(since: start.token)
        #expect(lines(delta.changes) == ["-a Note"])
        // Once, and never to somebody who did not have it.
        try await save(bert, "a")
        #expect(try await anna.changes(since: delta.token).changes.isEmpty)
        try await save(bert, "b")
        try await delete(bert, "b")
        try await save(bert, "b")
        #expect(try await anna.changes(since: delta.token).changes.isEmpty)
    }

    @Test func `A deletion is reported even if the new record's type is unreadable`() async throws {
        try await save(anna, "a")
        let start = try await anna.changes()
        try await delete(anna, "a")
        try await save(bert, "a", type: "Secret")
        #expect(lines(try await anna.changes(since: start.token).changes) == ["-a Note"])
        try await delete(bert, "a")
        #expect(lines(try await anna.changes(since: start.token).changes) == ["-a Note"])
        #expect(lines(try await bert.changes().changes) == ["-a Secret"])
    }

    @Test func `A deletion is reported even if an import changed the type`() async throws {
        try await save(anna, "a")
        let start = try await anna.changes()
        let line = ChangeStreamLine(
            time: 1,
            user: UserID("_bert"),
            database: anna.caller.database,
            changes: [
                .save(recordID: anna.id("a"), recordType: "Secret", fields: try Fields(["n": 2]))
            ]
        )
        try await store.importLines([line])
        #expect(lines(try await anna.changes(since: start.token).changes) == ["-a Note"])
    }

    @Test func `A deletion between two pages is not lost`() async throws {
        try await save(anna, "a")
        let start = try await anna.changes()
        try await save(anna, "b")
        try await delete(anna, "a")
        try await save(anna, "c")
        try await save(bert, "a")
        let first = try await page(anna, since: start.token)
        #expect(first.lines == ["b"] && first.page.moreComing)
        let second = try await page(anna, since: first.page.token)
        #expect(second.lines == ["c"] && second.page.moreComing)
        let third = try await page(anna, since: second.page.token)
        #expect(third.lines == ["-a Note"] && !third.page.moreComing)
        #expect(try await anna.changes(since: third.page.token).changes.isEmpty)
    }

    @Test func `A first sync reports deletions of the device's own records`() async throws {
        try await save(anna, "a")
        try await delete(anna, "a")
        try await save(bert, "a")
        #expect(lines(try await anna.changes().changes) == ["-a Note"])
        #expect(try await anna.client(on: "pad").changes().changes.isEmpty)
        // Also where somebody else has deleted the name again.
        try await delete(bert, "a")
        #expect(lines(try await anna.changes().changes) == ["-a Note"])
        #expect(try await anna.client(on: "pad").changes().changes.isEmpty)
    }

    @Test func `A token expires if compaction dropped the events that it needs`() async throws {
        try await save(anna, "a")
        let start = try await anna.changes()
        try await delete(anna, "a")
        try await save(bert, "a")
        for _ in 0..<3 { try await save(bert, "a") }
        var policy = CompactionPolicy()
        policy.history = .none
        _ = try await store.compact(policy)
        #expect(await refusal { try await anna.changes(since: start.token) } == .changeTokenExpired)
        let fresh = try await anna.changes()
        #expect(fresh.changes.isEmpty)
        try await save(bert, "a")
        #expect(try await anna.changes(since: fresh.token).changes.isEmpty)
    }
}
