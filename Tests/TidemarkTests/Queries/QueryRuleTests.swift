// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import Tidemark
import TidemarkLog
import TidemarkModel

/// What a query may ask for, and what it is refused for.
@Suite struct QueryRuleTests {
    let folder: ScratchFolder
    let anna: Client
    var store: Store { anna.store }

    init() async throws {
        folder = try ScratchFolder()
        anna = try await Client(ofNewStoreIn: folder)
        let fields: KeyValuePairs<String, FieldValue?> = [
            "text": "red fox", "n": 1, "tags": .stringList(["x", "y"]),
            "place": .location(Location(latitude: 1, longitude: 2)), "raw": .bytes([1]),
        ]
        try await anna.put("a", fields)
        try await anna.put("b", ["text": "dog", "n": 2])
    }

    @Test func `Development creates the indexes that queries need`() async throws {
        #expect(try store.schema()["Note"]?["___recordID"]?.indexes == [])
        let before = store.lastSequence
        #expect(try await anna.find("TRUEPREDICATE") == ["a", "b"])
        #expect(try store.schema()["Note"]?["___recordID"]?.indexes == .queryable)
        let grown = store.lastSequence
        #expect(grown > before)
        #expect(try await anna.find("TRUEPREDICATE") == ["a", "b"])
        #expect(store.lastSequence == grown)
        #expect(try await anna.find("creationDate > TIMESTAMP(0) AND n < 2") == ["a"])
        #expect(try store.schema()["Note"]?["___createTime"]?.indexes == .sortable)
    }

    @Test func `Production names the missing index, for that query only`() async throws {
        try await store.promoteSchema()
        var released = anna
        released.caller.database.environment = .production
        try await released.createZone()
        let saved = try await released.modify([try released.save("p", ["n": 1])])
        _ = try saved.saves[0].get()
        #expect(try await released.find("n == 1") == ["p"])
        let last = store.lastSequence
        let error = try await released.refusal(of: "TRUEPREDICATE")
        #expect(
            error
                == SyncError(
                    .invalidArguments,
                    "Field 'recordName' is not marked queryable. Add the index with `tidemark "
                        + "schema index STORE Note.___recordID queryable --environment production`."
                )
        )
        #expect(store.lastSequence == last)
        #expect(try await released.find("n == 1") == ["p"])
        // Reading, the store has the same answer.
        try store.close()
        let reader = try Store.open(at: folder.path(), access: .reading)
        let same = Client(store: reader, caller: released.caller)
        #expect(try await same.refusal(of: "TRUEPREDICATE") == error)
        #expect(try await same.find("n == 1") == ["p"])
    }

    static let refusals: [(String, SyncError.Code, String)] = [
        ("other == 1", .invalidArguments, "Unknown field 'other' for type 'Note'."),
        ("n == 'x'", .invalidArguments, "holds INT64 and is compared with STRING."),
        ("text CONTAINS 'x'", .invalidArguments, "holds STRING, and CONTAINS looks into lists."),
        ("raw == 'x'", .invalidArguments, "holds BYTES, which cannot be queried."),
        ("___etag == 'x'", .invalidArguments, "Unknown field '___etag' for type 'Note'."),
        ("tags < 'x'", .invalidArguments, "Use CONTAINS for one of its values."),
    ]

    @Test(arguments: refusals)
    func `A query that does not fit the schema is rejected`(
        predicate: String,
        code: SyncError.Code,
        message: String
    ) async throws {
        let error = try await anna.refusal(of: predicate)
        #expect(error?.code == code)
        #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
        // As of a point too.
        let query = Query(recordType: "Note", predicate: try Query.Predicate(format: predicate))
        let then = await #expect(throws: SyncError.self) {
            try await anna.find(query, in: anna.zone, asOf: store.lastSequence)
        }
        #expect(then == error)
    }

    @Test func `A predicate that is nested too deeply is rejected without a crash`() async throws {
        func nested(_ levelCount: Int) -> Query {
            var predicate = Query.Predicate.compare("n", .equal, 1)
            for _ in 0..<levelCount { predicate = .not(predicate) }
            return Query(recordType: "Note", predicate: predicate)
        }
        let request = QueryRequest(nested(256), in: anna.zone)
        #expect(try await store.query(request, as: anna.caller).records.count == 1)
        for position in [nil, store.lastSequence] {
            let error = await #expect(throws: SyncError.self) {
                let deep = QueryRequest(nested(5_000), in: anna.zone)
                if let position {
                    _ = try await store.query(deep, as: anna.caller, asOf: position)
                } else {
                    _ = try await store.query(deep, as: anna.caller)
                }
            }
            #expect(error?.code == .limitExceeded)
        }
    }

    @Test func `Any field can be compared with nil, and bytes need no index`() async throws {
        #expect(try await anna.find("raw == nil") == ["b"])
        #expect(try await anna.find("place != nil") == ["a"])
    }

    @Test func `Sort descriptors are applied or rejected`() async throws {
        func order(_ descriptor: Query.SortDescriptor) async throws -> [String] {
            let query = Query(recordType: "Note", sortDescriptors: [descriptor])
            return try await anna.find(query, in: anna.zone).map(\.recordID.recordName)
        }
        let here = Location(latitude: 0, longitude: 0)
        #expect(try await order(.init("n", ascending: false)) == ["b", "a"])
        #expect(try await order(.init("place", distanceFrom: here)) == ["a", "b"])
        for refused in [
            Query.SortDescriptor("tags"), .init("raw"), .init("n", distanceFrom: here),
            .init("place"), .init("place", ascending: false),
            .init("recordID", distanceFrom: here),
        ] {
            #expect(await refusal { try await order(refused) } == .invalidArguments)
        }
    }

    @Test(arguments: [true, false])
    func `A cursor over all zones survives that one is added or removed`(
        _ isSorted: Bool
    ) async throws {
        var query = Query(recordType: "Note")
        if isSorted { query.sortDescriptors = [Query.SortDescriptor("n", ascending: false)] }
        var other = anna
        other.zone = ZoneID(zoneName: "Other")
        for isAdded in [true, false] {
            if !isAdded { try await other.put("c", ["text": "cat", "n": 0]) }
            var request = QueryRequest(query, in: nil)
            request.limit = 1
            let first = try await store.query(request, as: anna.caller)
            if isAdded { try await other.createZone() } else { try await other.deleteZone() }
            request.cursor = first.cursor
            request.limit = nil
            let rest = try await store.query(request, as: anna.caller)
            let names = (first.records + rest.records).map(\.recordID.recordName)
            #expect(names == (isSorted ? ["b", "a"] : ["a", "b"]))
        }
    }

    @Test func `A cursor is refused once its field has values of another kind`() async throws {
        var options = StoreOptions()
        options.checksSchema = false
        let store = try Store.open(
            at: folder.path("mixed.tide"),
            access: .creating,
            options: options
        )
        let ben = Client(store: store)
        try await ben.createZone()
        var query = Query(recordType: "Note")
        query.sortDescriptors = [Query.SortDescriptor("mixed")]
        for name in ["c", "d"] { try await ben.put(name, ["mixed": .string(name)]) }
        var request = QueryRequest(query, in: ben.zone)
        request.limit = 1
        request.cursor = try await store.query(request, as: ben.caller).cursor
        #expect(request.cursor != nil)
        try await ben.put("e", ["mixed": .stringList(["z"])])
        let continued = request
        let error = await #expect(throws: SyncError.self) {
            try await store.query(continued, as: ben.caller)
        }
        #expect(error?.code == .invalidArguments)
        try store.close()
    }

    @Test func `References are sorted by their names, also those of system fields`() async throws {
        for (name, target) in [("x", "2"), ("y", "1"), ("z", "1")] {
            let link = FieldValue.reference(Reference(recordName: target))
            let save = try anna.save(name, ["to": link], type: "Link")
            _ = try await anna.modify([save]).saves[0].get()
        }
        func order(_ descriptors: [Query.SortDescriptor]) async throws -> [String] {
            let query = Query(recordType: "Link", sortDescriptors: descriptors)
            let found = try await anna.find(query, in: anna.zone, pages: { 1 })
            let then = try await anna.find(query, in: anna.zone, asOf: store.lastSequence)
            #expect(found == then)
            return found.map(\.recordID.recordName)
        }
        #expect(try await order([.init("recordID", ascending: false)]) == ["z", "y", "x"])
        #expect(
            try await order([.init("to"), .init("recordID", ascending: false)]) == ["z", "y", "x"]
        )
        #expect(try await order([.init("creatorUserRecordID")]) == ["x", "y", "z"])
        let schema = try store.schema().text
        #expect(schema.contains("\"___recordID\"   REFERENCE QUERYABLE SORTABLE"))
    }

    @Test func `Encrypted fields cannot be queried`() async throws {
        var builder = FieldsBuilder()
        try builder.set("secret", .string("s"), isEncrypted: true)
        let fields = try builder.finish()
        let save = RecordSave(anna.id("s"), type: "Note", fields: fields)
        _ = try await anna.modify([save]).saves[0].get()
        let error = try await anna.refusal(of: "secret == 's'")
        #expect(error?.code == .invalidArguments)
        #expect(error?.message.contains("has a value type of ENCRYPTED_STRING") == true)
    }

    @Test func `Types that do not exist are unknown, and users cannot be queried`() async throws {
        #expect(try await anna.refusal(of: "TRUEPREDICATE", type: "Nope")?.code == .unknownItem)
        for type in ["Users"] {
            let error = try await anna.refusal(of: "TRUEPREDICATE", type: type)
            #expect(error?.code == .invalidArguments)
            #expect(error?.message.contains("Users cannot be found") == true)
        }
        // What an import brought is there without a schema.
        var changes = try store.beginImport()
        let saved = ChangeStreamLine.Change.save(
            recordID: anna.id("i"),
            recordType: "Imported",
            fields: try Fields(["k": 5])
        )
        _ = try await changes.add(
            ChangeStreamLine(time: 1, user: UserID("_anna"), changes: [saved])
        )
        try await changes.finish()
        #expect(try await anna.find("k == 5", type: "Imported") == ["i"])
        #expect(try await anna.find("k == 6", type: "Imported") == [])
        #expect(try await anna.find("self CONTAINS 'x'", type: "Imported") == [])
    }

    @Test func `A search for all words uses the searchable fields`() async throws {
        #expect(try await anna.find("self CONTAINS 'fox'") == ["a"])
        #expect(try await anna.find("self CONTAINS 'y'") == ["a"])
        var schema = try store.schema()
        var note = try #require(schema["Note"])
        for name in ["text", "tags"] {
            var field = try #require(note[Name(name)])
            field.indexes = .queryable
            note.set(field)
        }
        schema.set(note)
        try await store.importSchema(schema)
        // None is: development makes all texts so.
        #expect(try await anna.find("self CONTAINS 'y'") == ["a"])
        #expect(try store.schema()["Note"]?["tags"]?.indexes == [.queryable, .searchable])
        var text = try #require(note["text"])
        text.indexes = .searchable
        note.set(text)
        schema.set(note)
        try await store.importSchema(schema)
        #expect(try await anna.find("self CONTAINS 'y'") == [])
        #expect(try await anna.find("self CONTAINS 'fox'") == ["a"])
    }

    @Test func `A query searches one zone or all zones`() async throws {
        _ = try await Client(store: store, zone: .default).modify([
            try Client(store: store, zone: .default).save("d", ["n": 1])
        ])
        let query = Query(recordType: "Note", predicate: .compare("n", .equal, 1))
        let all = try await anna.find(query, in: nil)
        #expect(all.map(\.recordID.recordName) == ["a", "d"])
        #expect(all.map(\.zone) == [anna.zone, .default])
        var error = await #expect(throws: SyncError.self) {
            try await anna.find(query, in: ZoneID(zoneName: "Nowhere"))
        }
        #expect(error?.code == .zoneNotFound)
        var shared = anna
        shared.caller.database = DatabaseID(scope: .shared, owner: .current)
        error = await #expect(throws: SyncError.self) { try await shared.find(query, in: nil) }
        #expect(error?.code == .invalidArguments)
        var stranger = anna
        stranger.caller = Caller(
            database: DatabaseID(owner: UserID("_bert")),
            user: UserID("_anna")
        )
        error = await #expect(throws: SyncError.self) { try await stranger.find(query, in: nil) }
        #expect(error?.code == .permissionFailure)
        // A default zone that nothing was written to is empty.
        var fresh = anna
        fresh.caller.database.container = ContainerID("iCloud.other")
        fresh.zone = .default
        #expect(try await fresh.refusal(of: "n == 1")?.code == .unknownItem)
    }

    @Test func `A query applies keys, limits and cursors`() async throws {
        let query = Query(recordType: "Note", sortDescriptors: [.init("n")])
        var request = QueryRequest(query, in: anna.zone, limit: 1, desiredKeys: ["text"])
        let first = try await store.query(request, as: anna.caller)
        #expect(first.records.map { $0.fields.map(\.name) } == [["text"]])
        #expect(first.cursor != nil)
        request.cursor = first.cursor
        let second = try await store.query(request, as: anna.caller)
        #expect(second.records.map(\.recordID.recordName) == ["b"])
        #expect(second.cursor == nil)
        for zone in [nil, ZoneID.default] {
            var other = request
            other.zone = zone
            await #expect(throws: SyncError.self) { try await store.query(other, as: anna.caller) }
        }
        // A cursor of the present means nothing in the past, nor the reverse.
        let position = store.lastSequence
        await #expect(throws: SyncError.self) {
            try await store.query(request, as: anna.caller, asOf: position)
        }
        var past = request
        past.cursor = nil
        past.cursor = try await store.query(past, as: anna.caller, asOf: position).cursor
        let rest = try await store.query(past, as: anna.caller, asOf: position)
        #expect(rest.records.map(\.recordID.recordName) == ["b"])
        for bad in [past, QueryRequest(query, in: anna.zone, after: QueryPageCursor(bytes: []))] {
            #expect(
                await refusal { try await store.query(bad, as: anna.caller) } == .invalidArguments
            )
        }
        request.cursor = nil
        request.limit = 0
        await #expect(throws: SyncError.self) { try await store.query(request, as: anna.caller) }
        await #expect(throws: SyncError.self) {
            try await store.query(past, as: anna.caller, asOf: position.next)
        }
        let many = (0..<40_000).map { Int64($0) }
        let large = Query(
            recordType: "Note",
            predicate: .compare("n", .in, .value(.int64List(many)))
        )
        #expect(await refusal { try await anna.find(large, in: anna.zone) } == .limitExceeded)
    }

    @Test func `A strict store rejects what CloudKit rejects`() async throws {
        try store.close()
        var options = StoreOptions()
        options.isStrict = true
        let strict = Client(store: try Store.open(at: folder.path(), options: options))
        let error = try await strict.refusal(of: "n == 1 OR n == 2")
        #expect(error?.code == .invalidArguments)
        #expect(error?.message.hasPrefix("CloudKit does not support OR") == true)
        #expect(try await strict.find("n IN {1, 2}") == ["a", "b"])
    }

    @Test func `Roles determine which records are found`() async throws {
        let text = """
            DEFINE SCHEMA
            RECORD TYPE Own (n INT64, GRANT CREATE TO "_icloud", GRANT READ, WRITE TO "_creator");
            RECORD TYPE Closed (n INT64, GRANT CREATE TO "_icloud");
            RECORD TYPE Open (n INT64, GRANT CREATE TO "_icloud", GRANT READ TO "_world");
            """
        try await store.importSchema(
            try SchemaFile(store.schema().text + text.dropFirst(13)).schema
        )
        func client(_ user: String?) -> Client {
            let user = user.map { UserID($0) }
            let caller = Caller(database: DatabaseID(scope: .public), user: user)
            return Client(store: store, caller: caller, zone: .default)
        }
        for user in ["_anna", "_bert"] {
            for type in ["Own", "Closed", "Open"] {
                let save = try client(user).save("\(type)\(user)", ["n": 1], type: type)
                _ = try await client(user).modify([save]).saves[0].get()
            }
        }
        #expect(try await client("_anna").find("n == 1", type: "Own") == ["Own_anna"])
        #expect(
            try await client("_bert").find("n == 1", type: "Open") == ["Open_anna", "Open_bert"]
        )
        #expect(try await client(nil).find("n == 1", type: "Open").count == 2)
        #expect(
            try await client("_anna").refusal(of: "n == 1", type: "Closed")?.code
                == .permissionFailure
        )
        #expect(try store.schema()["Closed"]?["n"]?.indexes == [])
        #expect(try await client(nil).refusal(of: "n == 1", type: "Own")?.code == .notAuthenticated)
        let query = Query(recordType: "Own", predicate: .compare("n", .equal, 1))
        let past = try await client("_bert").find(query, in: nil, asOf: store.lastSequence)
        #expect(past.map(\.recordID.recordName) == ["Own_bert"])
        // Who asks is put in.
        let own = "creatorUserRecordID == '__defaultOwner__'"
        #expect(try await client("_bert").find(own, type: "Open") == ["Open_bert"])
    }
}
