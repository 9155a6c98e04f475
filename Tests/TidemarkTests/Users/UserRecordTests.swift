// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import Tidemark
import TidemarkModel

/// The record that each user has: of type `Users`, in the default zone, named after the user.
@Suite struct UserRecordTests {
    let folder: ScratchFolder
    let store: Store

    init() throws {
        folder = try ScratchFolder()
        store = try Store.open(at: folder.path(), access: .creating)
    }

    private func client(
        _ user: String?,
        _ scope: DatabaseScope = .public,
        owner: String? = nil
    ) -> Client {
        let database = DatabaseID(scope: scope, owner: UserID(owner ?? user ?? ""))
        let caller = Caller(database: database, user: user.map { UserID($0) })
        return Client(store: store, caller: caller, zone: .default)
    }

    private func save(
        _ client: Client,
        _ name: String,
        _ fields: KeyValuePairs<String, FieldValue?> = ["color": "blue"],
        tag: RecordChangeTag? = nil,
        type: String = "Users",
        policy: SavePolicy = .ifServerRecordUnchanged
    ) async throws -> Result<Record, SyncError> {
        let save = try client.save(name, fields, tag: tag, policy: policy, type: type)
        return try await client.modify([save]).saves[0]
    }

    @Test(arguments: [DatabaseScope.public, .private])
    func `A user has a record before it is first saved`(scope: DatabaseScope) async throws {
        let anna = client("_anna", scope)
        let blank = try await anna.fetch("_anna")[0].get()
        #expect(blank.recordType == "Users")
        #expect(blank.changeTag == nil)
        #expect(blank.fields.isEmpty)
        let saved = try await save(anna, "_anna").get()
        #expect(saved.created.user == UserID("_anna"))
        #expect(try await anna.fetch("_anna")[0].get() == saved)
        let next = try await save(anna, "_anna", ["color": "red"], tag: saved.changeTag).get()
        #expect(next["color"] == .string("red"))
        let late = try await save(anna, "_anna", tag: saved.changeTag).error
        #expect(late?.conflict?.server == next)
    }

    @Test func `Other users can read a saved user record and cannot change it`() async throws {
        let anna = client("_anna")
        let bert = client("_bert")
        #expect(try await bert.fetch("_anna")[0].error?.code == .unknownItem)
        #expect(try await save(bert, "_anna").error?.code == .permissionFailure)
        _ = try await save(anna, "_anna").get()
        for reader in [bert, client(nil)] {
            #expect(try await reader.fetch("_anna")[0].get()["color"] == .string("blue"))
        }
        for policy in SavePolicy.allCases {
            let error = try await save(bert, "_anna", policy: policy).error
            #expect(error?.code == .permissionFailure)
            #expect(error?.conflict == nil)
        }
    }

    @Test func `A role with write access to users does not own other users' records`()
        async throws
    {
        let text = """
            DEFINE SCHEMA CREATE ROLE Admin;
            RECORD TYPE Users (color STRING, roles LIST<INT64>, GRANT READ TO "_world", GRANT WRITE TO Admin);
            """
        try await store.importSchema(try SchemaFile(text).schema)
        try await store.setRoles([Schema.Role("Admin")], of: UserID("_bert"))
        let error = try await save(client("_bert"), "_anna").error
        #expect(error?.code == .permissionFailure)
        #expect(error?.message.contains("who alone may change them") == true)
        // And who may not write users at all may not write their own.
        #expect(try await save(client("_anna"), "_anna").error?.code == .permissionFailure)
    }

    @Test(arguments: [DatabaseScope.public, .private])
    func `A user record cannot be deleted`(scope: DatabaseScope) async throws {
        let anna = client("_anna", scope)
        _ = try await save(anna, "_anna").get()
        let deletion = RecordDeletion(anna.id("_anna"))
        let error = try await anna.modify([], delete: [deletion]).deletions[0].error
        #expect(error?.code == .permissionFailure)
        #expect(error?.message.hasPrefix("DELETE operation not permitted") == true)
        #expect(try await anna.fetch("_anna")[0].get().changeTag != nil)
    }

    @Test(arguments: [DatabaseScope.public, .private])
    func `A user record stays when the record that it belongs to is deleted`(
        scope: DatabaseScope
    ) async throws {
        let anna = client("_anna", scope)
        _ = try await save(anna, "team", type: "Team").get()
        let link = FieldValue.reference(Reference(recordName: "team", action: .deleteSelf))
        _ = try await save(anna, "_anna", ["team": link]).get()
        _ = try await save(anna, "badge", ["team": link], type: "Badge").get()
        let deletion = RecordDeletion(anna.id("team"))
        #expect(try await anna.modify([], delete: [deletion]).deletions[0].error == nil)
        #expect(try await anna.fetch("badge")[0].error?.code == .unknownItem)
        #expect(try await anna.fetch("_anna")[0].get()["team"] == link)
        // A reference that must be valid prevents the deletion, as that of any record.
        _ = try await save(anna, "club", type: "Team").get()
        let held = FieldValue.reference(Reference(recordName: "club", action: .validate))
        let me = try await anna.fetch("_anna")[0].get()
        _ = try await save(anna, "_anna", ["club": held], tag: me.changeTag).get()
        let refused = try await anna.modify([], delete: [RecordDeletion(anna.id("club"))])
        #expect(refused.deletions[0].error?.code == .referenceViolation)
    }

    @Test func `User records exist only in default zones`() async throws {
        var anna = client("_anna", .private)
        anna.zone = ZoneID(zoneName: "Notes")
        try await anna.createZone()
        #expect(try await save(anna, "_anna").error?.code == .permissionFailure)
        #expect(try await anna.fetch("_anna")[0].error?.code == .unknownItem)
        anna.zone = .default
        #expect(try await save(anna, "_bert").error?.code == .permissionFailure)
        // In a private database other records may be called as their owner likes.
        #expect(try await save(anna, "_bert", type: "Note").error == nil)
    }

    @Test func `Names of user records are reserved`() async throws {
        let bert = client("_bert")
        for name in ["_anna", "_bert", "_"] {
            let error = try await save(bert, name, type: "Note").error
            #expect(error?.code == .invalidArguments)
            #expect(error?.message.contains("reserved for the records of users") == true)
        }
    }

    @Test func `Anonymous callers have no user record`() async throws {
        let nobody = client(nil)
        #expect(try await nobody.fetch("_anna")[0].error?.code == .unknownItem)
        await #expect(throws: SyncError.self) { try await save(nobody, "_anna") }
    }

    @Test func `The user of an embedded store has a record`() async throws {
        for database in [DatabaseID.standard, DatabaseID(scope: .public)] {
            let client = Client(store: store, caller: Caller(database: database), zone: .default)
            let name = UserID.current.userRecordName
            #expect(try await client.fetch(name)[0].get().recordType == "Users")
            #expect(try await save(client, name).error == nil)
        }
        // Whoever asks is the owner of a database that names one.
        let database = DatabaseID(owner: UserID("_carl"))
        let carl = Client(store: store, caller: Caller(database: database), zone: .default)
        #expect(try await save(carl, "_carl").error == nil)
    }

    @Test func `User fields grow the schema in development and are fixed in production`()
        async throws
    {
        _ = try await save(client("_anna"), "_anna").get()
        #expect(try store.schema()["Users"]?["color"]?.type == .plain(.string))
        var released = client("_anna")
        released.caller.database.environment = .production
        let error = try await save(released, "_anna").error
        #expect(error?.message.hasPrefix("Cannot create or modify field 'color'") == true)
        try await store.promoteSchema()
        #expect(try await save(released, "_anna").error == nil)
    }
}
