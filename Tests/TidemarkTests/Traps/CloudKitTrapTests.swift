// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing
import TidemarkModel

@testable import Tidemark

/// What implementations of CloudKit's rules get wrong most often, most frequent first.
///
/// Trap 7 (the shared database) is in `SharingTests` and `ParticipantTests`, 12 (pushes) in
/// `NotificationTests`, and 13 (the sync engine of devices) in `SyncEngineTests`.
@Suite struct CloudKitTrapTests {
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

    private func code(_ save: RecordSave) async throws -> SyncError.Code? {
        try await notes.modify([save]).saves[0].error?.code
    }

    // MARK: 1

    @Test(arguments: SavePolicy.allCases)
    func `1: Only some policies compare tags, and no tag means insert`(
        policy: SavePolicy
    )
        async throws
    {
        let first = try await notes.put("a", ["n": 1])
        let second = try await notes.put("a", ["n": 2], tag: first.changeTag)
        let compares = [.ifServerRecordUnchanged, .merge, .replaceIfUnchanged].contains(policy)
        let expected: SyncError.Code? = compares ? .serverRecordChanged : nil
        for tag in [nil, first.changeTag] {
            #expect(
                try await code(try notes.save("a", ["n": 3], tag: tag, policy: policy)) == expected
            )
        }
        let now = try await notes.fetch("a")[0].get()
        #expect((now == second) == compares)
        let right = try notes.save("a", ["n": 4], tag: now.changeTag, policy: policy)
        #expect(try await code(right) == nil)
    }

    // MARK: 2

    @Test(arguments: [SavePolicy.ifServerRecordUnchanged, .changedKeys, .allKeys])
    func `2: A save keeps unnamed fields and removes those set to nil`(
        policy: SavePolicy
    )
        async throws
    {
        let first = try await notes.put("a", ["kept": 1, "set": 1, "gone": 1])
        let next = try await notes.put(
            "a",
            ["set": 2, "gone": nil],
            tag: first.changeTag,
            policy: policy
        )
        #expect(next["kept"] == .int64(1))
        #expect(next["set"] == .int64(2))
        #expect(next["gone"] == nil)
        // A part of a record, sent back, erases nothing.
        let part = try await store.fetchRecords(
            FetchRecordsRequest([notes.id("a")], desiredKeys: ["set"]),
            as: notes.caller
        )[0].get()
        #expect(part["kept"] == nil)
        let back = RecordSave(
            part.recordID,
            type: part.recordType,
            fields: part.fields,
            changeTag: part.changeTag,
            policy: policy
        )
        #expect(try await saved(back)["kept"] == .int64(1))
    }

    @Test func `2: Only replacing removes unnamed fields`() async throws {
        try await notes.put("a", ["kept": 1, "set": 1])
        let next = try await notes.put("a", ["set": 2], policy: .replace)
        #expect(next["kept"] == nil)
    }

    // MARK: 3

    @Test func `3: A request is atomic by custom zone, and not in default zones`() async throws {
        let other = scratch.client(zone: ZoneID(zoneName: "Other"))
        try await other.createZone()
        let plain = scratch.client()
        func saves(_ client: Client) throws -> [RecordSave] {
            [try client.save("good", ["n": 1]), try client.save("bad", ["no name": 1])]
        }
        let request = ModifyRecordsRequest(
            saves: try saves(notes) + saves(plain) + [other.save("good", ["n": 1])]
        )
        let result = try await store.modifyRecords(request, as: notes.caller)
        #expect(
            result.saves.map { $0.error?.code } == [
                .batchRequestFailed, .invalidArguments, nil, .invalidArguments, nil,
            ]
        )
        #expect(result.partialFailure(of: request)?.code == .partialFailure)
        let apart = try await notes.modify(try saves(notes), isAtomic: false)
        #expect(apart.saves.map { $0.error?.code } == [nil, .invalidArguments])
    }

    // MARK: 4

    @Test func `4: An empty page can have more coming`() async throws {
        let text = """
            DEFINE SCHEMA RECORD TYPE Secret (n INT64, GRANT CREATE TO "_icloud",
            GRANT READ TO "_creator");
            """
        try await store.importSchema(
            try SchemaFile(store.schema().text + text.dropFirst(13)).schema
        )
        let database = DatabaseID(scope: .public)
        let anna = scratch.client(of: database)
        for index in 0..<4 {
            let save = try anna.save("s\(index)", ["n": 1], type: "Secret")
            _ = try await anna.modify([save]).saves[0].get()
        }
        let bert = scratch.client("_bert", of: database)
        try await bert.put("b", ["n": 1], type: "Secret")
        let page = try await store.zoneChanges(
            ZoneChangesRequest(zone: .default, limit: 2),
            as: bert.caller
        )
        #expect(page.changes.isEmpty)
        #expect(page.moreComing)
        #expect(try await bert.changes(limit: 2).changes.count == 1)
    }

    @Test func `4: Tokens of databases and zones are not interchangeable`() async throws {
        let zone = try await notes.changes().token
        let database = try await notes.databaseChanges()
        await #expect(throws: SyncError.self) { try await notes.changes(since: database.token) }
        await #expect(throws: SyncError.self) { try await notes.databaseChanges(since: zone) }
        // No token is the start, one that is caught up is not.
        try await notes.put("a", ["n": 1])
        let caughtUp = try await notes.changes().token
        #expect(try await notes.changes().changes.count == 1)
        #expect(try await notes.changes(since: caughtUp).changes.isEmpty)
    }

    // MARK: 5

    @Test func `5: A cascade is in the delta, not in the result, and ends at a cycle`()
        async throws
    {
        func link(_ name: String) -> FieldValue {
            .reference(Reference(recordName: name, action: .deleteSelf))
        }
        try await notes.modify([
            try notes.save("a", ["to": link("b")]), try notes.save("b", ["to": link("a")]),
            try notes.save("c", ["to": link("a")]),
        ])
        let token = try await notes.changes().token
        let result = try await notes.modify([], delete: [RecordDeletion(notes.id("a"))])
        #expect(result.deletions.count == 1)
        var deleted: [String: String] = [:]
        for case .deleted(let record) in try await notes.changes(since: token).changes {
            deleted[record.recordID.recordName] = record.recordType
        }
        #expect(deleted == ["a": "Note", "b": "Note", "c": "Note"])
        #expect(try await notes.changes().changes.isEmpty)
    }

    @Test func `5: The number of records deleted with one is limited`() async throws {
        var options = StoreOptions()
        options.limits.deleteSelfReferencesPerTarget = 2
        let scratch = try ScratchAssets(options: options)
        let notes = scratch.client()
        try await notes.put("target", ["n": 1])
        let link = FieldValue.reference(Reference(recordName: "target", action: .deleteSelf))
        var codes: [SyncError.Code?] = []
        for index in 0..<3 {
            let save = try notes.save("r\(index)", ["to": link])
            codes.append(try await notes.modify([save]).saves[0].error?.code)
        }
        #expect(codes == [nil, nil, .limitExceeded])
        #expect(Limits().deleteSelfReferencesPerTarget == 750)
    }

    // MARK: 6

    @Test func `6: A parent must exist and is not deleted before its children`() async throws {
        func child(_ parent: String) throws -> RecordSave {
            var save = try notes.save("child", ["n": 1], policy: .allKeys)
            save.parent = .set(Name(parent))
            return save
        }
        #expect(try await code(try child("parent")) == .referenceViolation)
        let parent = try await notes.put("parent", ["n": 1])
        #expect(try await code(try child("parent")) == nil)
        let deletion = RecordDeletion(notes.id("parent"))
        let refused = try await notes.modify([], delete: [deletion]).deletions[0].error
        #expect(refused?.code == .referenceViolation)
        // Unlike CloudKit, the parent's version is what it was.
        #expect(try await notes.fetch("parent")[0].get() == parent)
    }

    @Test func `6: In strict mode, children and references change the tags of their targets`()
        async throws
    {
        var options = StoreOptions()
        options.isStrict = true
        let scratch = try ScratchAssets(options: options)
        let notes = scratch.client(zone: ZoneID(zoneName: "Notes"))
        try await notes.createZone()
        let accented = try await notes.modify([try notes.save("é", [:], policy: .allKeys)])
        #expect(accented.saves[0].error?.code == .invalidArguments)
        func saved(_ save: RecordSave) async throws -> Record {
            try await notes.modify([save]).saves[0].get()
        }
        var known = try await notes.put("folder", ["title": "Old"])
        var child = try notes.save("child", ["n": 1], policy: .allKeys)
        child.parent = .set(Name("folder"))
        let link = FieldValue.reference(Reference(recordName: "folder", action: .none))
        let linking = try notes.save("other", ["to": link], policy: .allKeys)
        for save in [child, child, linking] {
            _ = try await saved(save)
            // Whoever holds the version from before has to fetch it first.
            let stale = try notes.save("folder", ["title": "New"], tag: known.changeTag)
            let error = try await notes.modify([stale]).saves[0].error
            #expect(error?.code == .serverRecordChanged)
            let conflict = try #require(error?.conflict)
            #expect(conflict.ancestor == known)
            #expect(conflict.server.changeTag != known.changeTag)
            #expect(conflict.server.modified == known.modified)
            known = conflict.server
        }
        #expect(try await saved(linking).changeTag != nil)
        let fresh = try notes.save("folder", ["title": "New"], tag: known.changeTag)
        #expect(try await notes.modify([fresh]).saves[0].error == nil)
    }

    // MARK: 8

    @Test func `8: Items can fail in a request that succeeds`() async throws {
        let plain = scratch.client()
        try await plain.put("a", ["n": 1])
        let result = try await plain.modify([
            try plain.save("a", ["n": 2]), try plain.save("b", ["n": 2]),
        ])
        #expect(result.saves[1].error == nil)
        // What the server has is what to put one's values on.
        let server = try #require(result.saves[0].error?.conflict?.server)
        let merged = try plain.save("a", ["n": 2], tag: server.changeTag)
        #expect(try await plain.modify([merged]).saves[0].error == nil)
    }

    // MARK: 9

    @Test func `9: Queries have their own limits`() async throws {
        try await notes.put("a", ["n": 1, "tags": .stringList(["x"])])
        #expect(try await notes.find("n == 1 OR n == 2") == ["a"])
        #expect(try await notes.find("tags CONTAINS 'x'") == ["a"])
        #expect(try await notes.refusal(of: "n CONTAINS 'x'") != nil)
        // What was just saved is found.
        for index in 0..<3 {
            try await notes.put("b\(index)", ["n": 5])
            #expect(try await notes.find("n == 5").count == index + 1)
        }
        var options = StoreOptions()
        options.isStrict = true
        let strict = try ScratchAssets(options: options).client()
        try await strict.put("a", ["n": 1])
        let refusal = try await strict.refusal(of: "n == 1 OR n == 2")
        #expect(refusal?.message.hasPrefix("CloudKit does not support OR") == true)
    }

    @Test func `9: In production, matching all needs an index on the name`() async throws {
        try await notes.put("a", ["n": 1])
        try await store.promoteSchema()
        var released = notes
        released.caller.database.environment = .production
        try await released.createZone()
        let refusal = try await released.refusal(of: "TRUEPREDICATE")
        #expect(refusal?.message.hasPrefix("Field 'recordName' is not marked queryable") == true)
        #expect(try await released.find("n == 1").isEmpty)
    }

    // MARK: 10

    @Test(arguments: ZoneDeletionReason.allCases)
    func `10: Each way to lose a zone requires a different reaction`(
        reason: ZoneDeletionReason
    )
        async throws
    {
        let token = try await notes.changes().token
        let start = try await notes.databaseChanges()
        try await notes.deleteZone(reason)
        let told = try await notes.databaseChanges(since: start.token)
        #expect(told.changes == [.deleted(notes.zone, reason)])
        let error = try await notes.modify([try notes.save("a", ["n": 1])]).saves[0].error
        #expect(error?.code == (reason == .purged ? .userDeletedZone : .zoneNotFound))
        #expect(error?.userDidResetEncryptedData == (reason == .encryptedDataReset))
        try await notes.createZone()
        #expect(await refusal { try await notes.changes(since: token) } == .changeTokenExpired)
    }

    // MARK: 11

    @Test(arguments: [
        (#""x": 1.0"#, "write {\"value\": 1.0, \"type\": \"DOUBLE\"}"),
        (#""x": true"#, "There is no Boolean type"),
        (#""x": {"value": 1.5, "type": "TIMESTAMP"}"#, "1.5 is not a whole number"),
        (#""x": {"value": "x!", "type": "BYTES"}"#, "not base64"),
        (#""x": []"#, "An empty list has no type"),
        (#""x": [1, "a"]"#, "A list holds values of one type"),
        (#""x": 9223372036854775808"#, "an integer beyond 64 bits"),
    ])
    func `11: JSON alone does not distinguish types`(field: String, reason: String) {
        var reader = RecordLineReader()
        let line = #"{"recordName":"a","recordType":"T","fields":{\#(field)}}"#
        let error = #expect(throws: JSONError.self) { try reader.read(Array(line.utf8)) }
        #expect(error?.message.contains(reason) == true)
    }

    @Test func `11: An integer with the type DOUBLE stays a double`() async throws {
        var reader = RecordLineReader()
        let line =
            #"{"recordName":"a","recordType":"T","fields":{"x":{"value":1,"type":"DOUBLE"}}}"#
        guard case .record(let record) = try reader.read(Array(line.utf8)) else {
            Issue.record("the line is no record")
            return
        }
        #expect(try record.save(.allKeys).fields["x"] == .double(1))
    }

    // MARK: 14

    @Test func `14: The public database has one zone, whose items fail separately`() async throws {
        let open = scratch.client(of: DatabaseID(scope: .public))
        var custom = open
        custom.zone = ZoneID(zoneName: "Notes")
        #expect(await refusal { try await custom.createZone() } == .badDatabase)
        let result = try await open.modify([
            try open.save("good", ["n": 1]), try open.save("bad", ["no name": 1]),
        ])
        #expect(result.saves.map { $0.error == nil } == [true, false])
        // Beyond CloudKit there are deltas; a strict store has none.
        #expect(try await open.changes().changes.count == 1)
        var options = StoreOptions()
        options.isStrict = true
        let strict = try ScratchAssets(options: options).client(of: DatabaseID(scope: .public))
        await #expect(throws: SyncError.self) { try await strict.changes() }
    }

    // MARK: 15

    @Test(arguments: [false, true])
    func `15: A person with two credentials is two creators`(isStrict: Bool) async throws {
        var options = StoreOptions()
        options.isStrict = isStrict
        let scratch = try ScratchAssets(options: options)
        let database = DatabaseID(scope: .public)
        let web = scratch.client("_anna-web", of: database)
        let key = scratch.client("_anna-key", of: database)
        let record = try await web.put("a", ["n": 1])
        #expect(record.created.user == UserID("_anna-web"))
        let error = try await key.modify([try key.save("a", ["n": 2], policy: .allKeys)]).saves[0]
            .error
        #expect(error?.code == .permissionFailure)
        // Who refers to a record does not become the one who changed it, even where that touches it.
        let link = FieldValue.reference(Reference(recordName: "a", action: .none))
        try await key.put("b", ["to": link])
        let now = try await web.fetch("a")[0].get()
        #expect((now.changeTag == record.changeTag) == !isStrict)
        #expect(now.created == record.created)
        #expect(now.modified == record.modified)
    }
}
