// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Tidemark
import TidemarkModel

@Suite struct RoleTests {
    let folder: ScratchFolder
    let store: Store
    let anna: Client
    let bert: Client
    let nobody: Client

    init() throws {
        folder = try ScratchFolder()
        let store = try Store.open(at: folder.path(), access: .creating)
        self.store = store
        func client(_ user: String?) -> Client {
            let user = user.map { UserID($0) }
            let caller = Caller(database: DatabaseID(scope: .public), user: user)
            return Client(store: store, caller: caller, zone: .default)
        }
        anna = client("_anna")
        bert = client("_bert")
        nobody = client(nil)
    }

    private func importGrants(_ grants: String) async throws {
        let text = """
            DEFINE SCHEMA CREATE ROLE Editor; CREATE ROLE Reader;
            RECORD TYPE Note (n INT64, \(grants));
            """
        try await store.importSchema(try SchemaFile(text).schema)
    }

    private func save(
        _ client: Client,
        _ name: String,
        policy: SavePolicy = .allKeys
    ) async throws -> SyncError? {
        try await client.modify([try client.save(name, ["n": 1], policy: policy)]).saves[0].error
    }

    private func delete(_ client: Client, _ name: String) async throws -> SyncError? {
        try await client.modify([], delete: [RecordDeletion(client.id(name))]).deletions[0].error
    }

    @Test func `All users read an implicit type, and creators write it`() async throws {
        #expect(try await save(anna, "a") == nil)
        #expect(try await bert.fetch("a")[0].get().recordID.recordName == "a")
        #expect(try await nobody.fetch("a")[0].get().recordID.recordName == "a")
        for error in [try await save(bert, "a"), try await delete(bert, "a")] {
            #expect(error?.code == .permissionFailure)
            #expect(error?.message.hasPrefix("WRITE operation not permitted") == true)
            #expect(error?.message.contains("record type Note grants WRITE to _creator") == true)
        }
        #expect(try await save(bert, "b") == nil)
        #expect(try await save(anna, "a") == nil)
        #expect(try await delete(anna, "a") == nil)
        #expect(try await delete(bert, "missing") == nil)
    }

    @Test func `A caller without write access gets no conflict details`() async throws {
        #expect(try await save(anna, "a") == nil)
        let error = try await save(bert, "a", policy: .ifServerRecordUnchanged)
        #expect(error?.code == .permissionFailure)
        #expect(error?.conflict == nil)
    }

    @Test func `A caller who may write but not read gets back only sent values`() async throws {
        try await importGrants(#"GRANT CREATE, WRITE TO "_icloud", GRANT READ TO "_creator""#)
        #expect(try await save(anna, "a") == nil)
        let conflict = try await save(bert, "a", policy: .ifServerRecordUnchanged)
        #expect(conflict?.code == .serverRecordChanged && conflict?.conflict == nil)
        let mine = try await save(anna, "a", policy: .ifServerRecordUnchanged)
        #expect(mine?.conflict?.server.recordID.recordName == "a")
        let change = try bert.save("a", ["text": "x"], policy: .changedKeys)
        for _ in 0..<2 {
            let saved = try await bert.modify([change], request: "r-1").saves[0].get()
            #expect(saved.fields.map(\.name) == ["text"])
        }
        #expect(try await anna.fetch("a")[0].get().fields.map(\.name) == ["n", "text"])
    }

    @Test func `Custom roles add permissions to a user`() async throws {
        try await importGrants("GRANT READ, CREATE TO Editor, GRANT READ TO Reader")
        #expect(try await save(anna, "a")?.code == .permissionFailure)
        try await store.setRoles([Schema.Role("Editor")], of: UserID("_anna"))
        #expect(try store.roles(of: UserID("_anna")) == [Schema.Role("Editor")])
        #expect(try await save(anna, "a") == nil)
        #expect(try await save(anna, "a")?.code == .permissionFailure)
        #expect(try await bert.fetch("a")[0].error?.code == .permissionFailure)
        #expect(try await nobody.fetch("a")[0].error?.code == .notAuthenticated)
        try await store.setRoles([Schema.Role("Reader")], of: UserID("_bert"))
        #expect(try await bert.fetch("a")[0].error == nil)
        #expect(try await save(bert, "b")?.code == .permissionFailure)
        try await store.setRoles([], of: UserID("_bert"))
        #expect(try await bert.fetch("a")[0].error?.code == .permissionFailure)
    }

    @Test func `A delta contains only what its caller may read`() async throws {
        try await importGrants(#"GRANT CREATE TO "_icloud", GRANT READ, WRITE TO "_creator""#)
        #expect(try await save(anna, "a") == nil)
        #expect(try await save(bert, "b") == nil)
        #expect(try await anna.changes().changes.compactMap(\.changedName) == ["a"])
        let start = try await bert.changes()
        #expect(start.changes.compactMap(\.changedName) == ["b"])
        #expect(try await nobody.changes().changes.isEmpty)
        #expect(try await delete(anna, "a") == nil)
        #expect(try await delete(bert, "b") == nil)
        // Nobody knows any more who created what is gone.
        #expect(try await bert.changes(since: start.token).changes.count == 2)
    }

    @Test func `A token is valid as long as its caller may read the same`() async throws {
        try await importGrants(#"GRANT CREATE TO "_icloud", GRANT READ, WRITE TO "_creator""#)
        #expect(try await save(anna, "a") == nil)
        let (owns, none) = (try await anna.changes(), try await nobody.changes())
        let zones = try await nobody.databaseChanges()
        #expect(owns.changes.count == 1 && none.changes.isEmpty)
        // Another type, and another field, change nothing about that.
        try await anna.modify([try anna.save("t", ["n": 1], type: "Task")])
        let next = try await nobody.changes(since: none.token)
        #expect(next.changes.compactMap(\.changedName) == ["t"])
        func expiry(_ client: Client, _ token: ChangeToken) async -> SyncError? {
            await #expect(throws: SyncError.self) { try await client.changes(since: token) }
        }
        // What only its creator reads is another thing for another user.
        #expect(await expiry(bert, owns.token)?.code == .changeTokenExpired)
        try await importGrants(#"GRANT CREATE TO "_icloud", GRANT READ TO "_world""#)
        let error = await expiry(nobody, none.token)
        #expect(error?.code == .changeTokenExpired && error?.message.contains("may read") == true)
        let list = await #expect(throws: SyncError.self) {
            let request = DatabaseChangesRequest(since: zones.token)
            return try await store.databaseChanges(request, as: nobody.caller)
        }
        #expect(list?.code == .changeTokenExpired)
        let open = try await nobody.changes()
        #expect(open.changes.compactMap(\.changedName).sorted() == ["a", "t"])
        #expect(try await nobody.changes(since: open.token).changes.isEmpty)
        try await importGrants("GRANT READ TO Reader")
        #expect(await expiry(bert, open.token)?.code == .changeTokenExpired)
        let closed = try await bert.changes()
        try await store.setRoles([Schema.Role("Reader")], of: UserID("_bert"))
        #expect(await expiry(bert, closed.token)?.code == .changeTokenExpired)
        #expect(try await bert.changes().changes.compactMap(\.changedName).sorted() == ["a", "t"])
    }

    @Test func `Production rejects without naming its rules`() async throws {
        #expect(try await save(anna, "a") == nil)
        try await store.promoteSchema()
        var clients = [anna, bert]
        for index in clients.indices { clients[index].caller.database = released }
        #expect(try await save(clients[0], "a") == nil)
        let error = try await save(clients[1], "a")
        #expect(error == SyncError(.permissionFailure, "WRITE operation not permitted."))
    }

    private var released: DatabaseID { DatabaseID(environment: .production, scope: .public) }

    @Test func `Only roles of the schema can be assigned`() async throws {
        for role in [Schema.Role("Editor"), .world] {
            let error = await #expect(throws: SyncError.self) {
                try await store.setRoles([role], of: UserID("_anna"))
            }
            #expect(error?.code == .invalidArguments)
        }
        #expect(try store.roles(of: UserID("_anna")).isEmpty)
    }

    @Test func `Roles survive a restart and are exported`() async throws {
        try await importGrants("GRANT CREATE TO Editor")
        try await store.setRoles([Schema.Role("Editor")], of: UserID("_anna"))
        let lines = try store.commits()
        let copy = try Store.open(at: folder.path("copy.tide"), access: .creating)
        try await copy.importLines(lines)
        try store.close()
        let again = try Store.open(at: folder.path())
        for store in [again, copy] {
            #expect(try store.roles(of: UserID("_anna")) == [Schema.Role("Editor")])
            let client = Client(store: store, caller: anna.caller, zone: .default)
            #expect(try await save(client, "a") == nil)
            try store.close()
        }
    }

    @Test func `Private databases have no roles`() async throws {
        try await importGrants("GRANT READ TO Reader")
        var client = anna
        client.caller.database = .standard
        #expect(try await save(client, "a") == nil)
        #expect(try await client.fetch("a")[0].error == nil)
    }

    @Test func `Records imported without a schema can be read`() async throws {
        let line = ChangeStreamLine(
            time: 1,
            user: UserID("_anna"),
            database: anna.caller.database,
            changes: [
                .save(recordID: anna.id("a"), recordType: "Old", fields: try Fields(["n": 1]))
            ]
        )
        try await store.importLines([line])
        #expect(try await nobody.fetch("a")[0].error == nil)
        #expect(try await delete(bert, "a")?.code == .permissionFailure)
        #expect(try await delete(anna, "a") == nil)
    }
}

extension RecordChange {
    fileprivate var changedName: String? {
        if case .changed(let record) = self { record.recordID.recordName } else { nil }
    }
}
