// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Tidemark
import TidemarkLog
import TidemarkModel

@Suite struct SchemaTests {
    let folder: ScratchFolder
    let store: Store
    let anna: Client
    /// The same user in the production environment.
    let released: Client

    init() async throws {
        folder = try ScratchFolder()
        store = try Store.open(at: folder.path(), access: .creating)
        anna = Client(store: store)
        var released = anna
        released.caller.database.environment = .production
        self.released = released
        try await anna.createZone()
        try await released.createZone()
    }

    // MARK: Development

    @Test func `A save adds its record type, and a later save adds a field`() async throws {
        try await anna.put("a", ["text": "milk"])
        let type = try #require(try store.schema()["Note"])
        #expect(
            type["text"]
                == Schema.Field("text", .plain(.string), [.queryable, .sortable, .searchable])
        )
        #expect(type.grants.count == 3)
        try await anna.put("b", ["text": "tea", "n": .int64List([1])])
        #expect(try store.schema()["Note"]?["n"]?.type == .plain(.int64List))
        #expect(try store.schema(in: .production) == Schema())
    }

    @Test func `Schema changes of a save are in its commit, before the record`() async throws {
        let before = store.lastSequence
        try await anna.put("a", ["text": "milk"])
        let grown = store.lastSequence
        try await anna.put("b", ["text": "tea"])
        #expect(grown.rawValue == before.rawValue + 3)
        #expect(store.lastSequence.rawValue == grown.rawValue + 1)
        let line = try store.commits()[2]
        let names = line.changes.compactMap { change in
            if case .save(let record, _, _, _) = change {
                "\(record.zone.zoneName)/\(record.recordName)"
            } else {
                nil
            }
        }
        #expect(names == ["_schema/Note", "Notes/a"])
        #expect(line.database == anna.caller.database)
    }

    @Test func `A field keeps its type`() async throws {
        try await anna.put("a", ["n": 1])
        let schema = try store.schema()
        let before = store.lastSequence
        let answers = try await anna.modify([
            try anna.save("b", ["n": "one"]), try anna.save("c", ["n": 2, "new": 3]),
        ]).saves.map(\.error)
        #expect(answers[0]?.code == .invalidArguments)
        #expect(answers[0]?.message.contains("defined to be: INT64") == true)
        #expect(answers[1]?.code == .batchRequestFailed)
        #expect(store.lastSequence == before)
        #expect(try store.schema() == schema)
        try await anna.put("a", ["n": nil], policy: .allKeys)
    }

    @Test func `In a default zone, each save is separate and grows the schema only if saved`()
        async throws
    {
        var client = anna
        client.zone = .default
        let answers = try await client.modify([
            try client.save("a", ["n": 1]), try client.save("b", ["n": "one", "other": 1]),
            try client.save("c", ["n": 2, "more": 1]),
        ]).saves
        #expect(answers.map(\.error?.code) == [nil, .invalidArguments, nil])
        let fields = try store.schema()["Note"]?.fields.filter { !$0.isSystem }.map(\.name)
        #expect(fields == ["more", "n"])
    }

    @Test func `A conflict adds nothing to the schema`() async throws {
        try await anna.put("a", ["n": 1])
        let error = try await anna.modify([try anna.save("a", ["other": 1])]).saves[0].error
        #expect(error?.code == .serverRecordChanged)
        #expect(try store.schema()["Note"]?["other"] == nil)
    }

    /// Each writer brings a field of its own, and one that all bring.
    @Test func `Concurrent writers that add fields lose none`() async throws {
        let client = anna
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<8 {
                group.addTask {
                    let fields = try Fields(["shared": 1, "own\(number)": "text"])
                    let save = RecordSave(client.id("r\(number)"), type: "Note", fields: fields)
                    _ = try await client.modify([save]).saves[0].get()
                }
            }
            try await group.waitForAll()
        }
        let fields = try store.schema()["Note"]?.fields.filter { !$0.isSystem }.map(\.name)
        #expect(fields?.count == 9)
    }

    @Test func `If two writers give a new field different types, one is rejected`() async throws {
        let client = anna
        let errors = try await withThrowingTaskGroup(of: SyncError?.self) { group in
            for value in [FieldValue.int64(1), .string("one")] {
                group.addTask {
                    let save = try client.save(value.isText ? "a" : "b", ["n": value])
                    return try await client.modify([save]).saves[0].error
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(errors.compactMap(\.?.code) == [.invalidArguments])
    }

    // MARK: Production

    @Test func `Production accepts only what was promoted`() async throws {
        try await anna.put("a", ["n": 1])
        var error = try await released.modify([try released.save("a", ["n": 1])]).saves[0].error
        #expect(error?.code == .invalidArguments)
        #expect(
            error?.message.hasPrefix("Cannot create new type Note in production schema") == true
        )
        let plan = try await store.promoteSchema()
        #expect(plan.changes.count == 1)
        try await released.put("a", ["n": 1])
        error = try await released.modify([try released.save("b", ["n": 1, "due": 2])]).saves[0]
            .error
        #expect(error?.code == .invalidArguments)
        #expect(error?.message.contains("field 'due' in record 'Note' in production") == true)
        #expect(try await store.promoteSchema().changes.isEmpty)
    }

    @Test func `An import replaces development's schema if production allows it`() async throws {
        func schema(_ fields: String) throws -> Schema {
            try SchemaFile("DEFINE SCHEMA CREATE ROLE Editor; RECORD TYPE Note (\(fields));").schema
        }
        let first = try schema("n INT64 QUERYABLE, text STRING, GRANT WRITE TO Editor")
        try await store.importSchema(first)
        #expect(try store.schema() == first)
        #expect(try await store.importSchema(first).changes.isEmpty)
        try await store.importSchema(try schema("n INT64, text STRING"))
        try await store.promoteSchema()
        let before = store.lastSequence
        let error = await #expect(throws: SyncError.self) {
            try await store.importSchema(try schema("n STRING"))
        }
        #expect(error?.code == .invalidArguments)
        #expect(error?.message.contains("Note.text is missing") == true)
        #expect(error?.message.contains("Note.n is INT64") == true)
        #expect(store.lastSequence == before)
        let gone = await #expect(throws: SyncError.self) {
            try await store.importSchema(Schema())
        }
        #expect(gone?.message.contains("record type Note is missing") == true)
    }

    @Test func `Removing a type from development's schema removes its record`() async throws {
        try await anna.put("a", ["n": 1])
        try await store.importSchema(Schema())
        #expect(try store.schema() == Schema())
        try await anna.put("b", ["n": "now a text"])
        #expect(try store.schema()["Note"]?["n"]?.type == .plain(.string))
    }

    // MARK: The log

    @Test func `A schema survives a restart and the loss of its views`() async throws {
        try await anna.put("a", ["n": 1])
        try await store.promoteSchema()
        let schema = try store.schema()
        try store.close()
        for removesViews in [false, true] {
            if removesViews {
                try FileManager.default.removeItem(atPath: folder.path() + "/views")
            }
            let again = try Store.open(at: folder.path())
            #expect(try again.schema() == schema)
            #expect(try again.schema(in: .production) == schema)
            var client = anna
            client = Client(store: again, caller: client.caller)
            let error = try await client.modify([try client.save("b", ["n": "x"])]).saves[0].error
            #expect(error?.code == .invalidArguments)
            try again.close()
        }
    }

    @Test func `An exported change stream contains the schema`() async throws {
        try await anna.put("a", ["n": 1])
        try await store.promoteSchema()
        try await released.put("a", ["n": 1])
        let lines = try store.commits()
        let copy = try Store.open(at: folder.path("copy.tide"), access: .creating)
        try await copy.importLines(lines)
        #expect(copy.lastSequence == store.lastSequence)
        #expect(try copy.schema() == store.schema())
        #expect(try copy.schema(in: .production) == store.schema(in: .production))
        #expect(try copy.commits().map(\.changes) == lines.map(\.changes))
        #expect(try copy.commits().map(\.database) == lines.map(\.database))
        try copy.close()
    }

    @Test func `An import neither checks nor grows the schema`() async throws {
        try await anna.put("a", ["n": 1])
        let schema = try store.schema()
        let line = ChangeStreamLine(
            time: 1,
            user: UserID("_anna"),
            database: anna.caller.database,
            changes: [
                .save(
                    recordID: anna.id("b"),
                    recordType: "Note",
                    fields: try Fields(["n": "text", "more": 1])
                )
            ]
        )
        try await store.importLines([line])
        #expect(try store.schema() == schema)
        #expect(try await anna.fetch("b")[0].get()["n"] == .string("text"))
    }

    @Test(arguments: [
        "RECORD TYPE Note (n INT64", "RECORD TYPE Other (n INT64);", "CREATE ROLE Note;",
    ])
    func `An import cannot make the schema unreadable`(definition: String) async throws {
        var changes = try store.beginImport()
        let record = RecordID(recordName: "Note", zone: ZoneID(zoneName: "_schema"))
        let line = ChangeStreamLine(
            time: 1,
            user: UserID("_anna"),
            database: anna.caller.database,
            changes: [
                .save(
                    recordID: record,
                    recordType: "RecordType",
                    fields: try Fields(["definition": .string(definition)])
                )
            ]
        )
        let error = await #expect(throws: SyncError.self) { try await changes.add(line) }
        #expect(error?.code == .invalidArguments)
    }

    // MARK: System zones

    @Test func `Clients can neither see nor access system zones`() async throws {
        var client = anna
        client.caller.database = DatabaseID(scope: .public)
        client.zone = .default
        try await client.put("a", ["n": 1])
        #expect(try await store.zones(as: client.caller).map(\.zoneID) == [.default])
        let delta = try await client.databaseChanges()
        #expect(delta.changes == [.changed(.default)])
        var records: [String] = []
        try store.visitRecords(of: client.caller.database) { record in
            records.append(record.recordID.recordName)
            return true
        }
        #expect(records == ["a"])
        client.zone = ZoneID(zoneName: "_schema")
        let answer = try await client.modify(
            [try client.save("Note", ["definition": "RECORD TYPE Note ();"])],
            delete: [RecordDeletion(client.id("Other"))]
        )
        #expect(answer.saves[0].error?.code == .invalidArguments)
        #expect(answer.deletions[0].error?.code == .invalidArguments)
        #expect(try await client.fetch("Note")[0].error?.code == .invalidArguments)
        let zones = try await store.modifyZones(
            ModifyZonesRequest(deletions: [client.zone]),
            as: client.caller
        )
        #expect(zones.deletions[0].error?.code == .invalidArguments)
        #expect(await refusal { try await client.changes() } == .invalidArguments)
    }

    @Test func `An operator reads system zones, at any point`() async throws {
        try await anna.put("a", ["n": 1])
        let point = store.lastSequence
        try await anna.put("b", ["text": "x"])
        let record = RecordID(recordName: "Note", zone: ZoneID(zoneName: "_schema"))
        let database = DatabaseID(scope: .public)
        let now = try store.record(record, of: database)["definition"]
        let then = try store.record(record, of: database, asOf: point)["definition"]
        guard case .string(let now) = now, case .string(let then) = then else {
            Issue.record("a record type has no definition")
            return
        }
        #expect(now.contains(" text ") && now.contains(" n "))
        #expect(!then.contains(" text ") && then.contains(" n "))
    }

    @Test func `A store can disable schema checks`() async throws {
        try store.close()
        var options = StoreOptions()
        options.checksSchema = false
        let loose = try Store.open(at: folder.path(), options: options)
        let client = Client(store: loose)
        try await client.put("a", ["n": 1])
        try await client.put("b", ["n": "text"])
        #expect(try loose.schema() == Schema())
        try loose.close()
    }
}

extension FieldValue {
    fileprivate var isText: Bool { if case .string = self { true } else { false } }
}
