// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing
import Tidemark
import TidemarkModel

extension ServicePromise {
    func records(_ hosted: some ServiceHosting) async throws {
        let anna = try await hosted.device("anna")
        try await anna.createZone()
        let fields: KeyValuePairs<String, FieldValue?> = [
            "text": "Grüße \u{1F30A} \"\\\"\u{0}", "number": -9, "double": 1.5,
            "date": .timestamp(1_700_000_000_123),
            "bytes": .bytes([0, 255, 10]), "place": .location(Location(latitude: 1, longitude: -2)),
            "texts": .stringList(["a", "", "c"]), "numbers": .int64List([1, .max, .min]),
            "to": .reference(Reference(recordName: "other")),
        ]
        let saved = try await anna.save("all", fields)
        let fetched = try await anna.fetch("all")
        #expect(fetched == saved)
        #expect(fetched.fields == (try Fields(fields)))
        #expect(fetched.recordType == "Note")
        let delta = try await anna.changes()
        #expect(delta.changes == [.changed(saved)])
        // Only what is wanted.
        let part = try await anna.service.fetchRecords(
            FetchRecordsRequest([anna.id("all")], desiredKeys: ["text"]),
            as: anna.caller
        )
        #expect(try part[0].get().fields == (try Fields(["text": fields[0].value])))
    }

    func conflicts(_ hosted: some ServiceHosting) async throws {
        let phone = try await hosted.device("anna")
        let pad = try await hosted.device("anna", "pad")
        try await phone.createZone()
        let first = try await phone.save("r", ["n": 1])
        let second = try await pad.save("r", ["n": 2], tag: first.changeTag)
        let error = try await #require(throws: SyncError.self) {
            try await phone.save("r", ["n": 3], tag: first.changeTag)
        }
        #expect(error.code == .serverRecordChanged)
        #expect(error.conflict?.server == second)
        #expect(error.conflict?.ancestor == first)
        // Both tell the same, word for word.
        let plain = try await #require(throws: SyncError.self) {
            let save = RecordSave(
                phone.id("r"),
                type: "Note",
                fields: try Fields(["n": 3]),
                changeTag: first.changeTag
            )
            var caller = phone.caller
            caller.authentication = .administrator(id: "a")
            let request = ModifyRecordsRequest(saves: [save])
            _ = try await hosted.store.modifyRecords(request, as: caller).saves[0].get()
        }
        #expect(error.message == plain.message)
        #expect(error.conflict?.server == plain.conflict?.server)
    }

    func items(_ hosted: some ServiceHosting) async throws {
        let anna = try await hosted.device("anna")
        try await anna.createZone()
        try await anna.save("old", ["n": 1])
        func saves() throws -> [RecordSave] {
            try ["old", "new"].map {
                RecordSave(anna.id($0), type: "Note", fields: try Fields(["n": 5]))
            }
        }
        let atomic = try await anna.service.modifyRecords(
            ModifyRecordsRequest(saves: try saves(), deletions: [RecordDeletion(anna.id("gone"))]),
            as: anna.caller
        )
        #expect(atomic.saves.map { $0.error?.code } == [.serverRecordChanged, .batchRequestFailed])
        let alone = try await anna.service.modifyRecords(
            ModifyRecordsRequest(saves: try saves(), isAtomic: false),
            as: anna.caller
        )
        #expect(alone.saves.map { $0.error?.code } == [.serverRecordChanged, nil])
        let deleted = try await anna.service.modifyRecords(
            ModifyRecordsRequest(deletions: [RecordDeletion(anna.id("new"))]),
            as: anna.caller
        )
        #expect(try deleted.deletions[0].get() == anna.id("new"))
        let found = try await anna.service.fetchRecords(
            FetchRecordsRequest([anna.id("new"), anna.id("old")]),
            as: anna.caller
        )
        #expect(found[0].error?.code == .unknownItem)
        #expect(try found[1].get().fields == (try Fields(["n": 1])))
    }

    func requestIDs(_ hosted: some ServiceHosting) async throws {
        var anna = try await hosted.device("anna")
        try await anna.createZone()
        anna.caller.requestID = "r1"
        let first = try await anna.save("a", ["n": 1])
        let again = try await anna.save("a", ["n": 1])
        #expect(first == again)
        await #expect(throws: SyncError.self) { try await anna.save("a", ["n": 2]) }
    }

    func deltas(_ hosted: some ServiceHosting) async throws {
        let anna = try await hosted.device("anna")
        try await anna.createZone()
        for number in 0..<30 {
            try await anna.save("r\(number)", ["text": .string(String(repeating: "x", count: 300))])
        }
        let whole = try await anna.changes()
        #expect(whole.changes.count == 30)
        let byRecords = try await anna.changes(limit: 7)
        #expect(byRecords.changes == whole.changes)
        #expect(byRecords.pageCount == 5)
        let byBytes = try await anna.changes(byteLimit: 2_000)
        #expect(byBytes.changes == whole.changes)
        #expect(byBytes.pageCount > 3)
        #expect(try await anna.changes(since: whole.token).changes.isEmpty)
        _ = try await anna.service.modifyRecords(
            ModifyRecordsRequest(deletions: [RecordDeletion(anna.id("r3"))]),
            as: anna.caller
        )
        let last = try await anna.changes(since: whole.token)
        guard case .deleted(let deleted)? = last.changes.first, last.changes.count == 1 else {
            Issue.record("the delta is \(last.changes)")
            return
        }
        #expect(deleted.recordID == anna.id("r3"))
        #expect(deleted.recordType == "Note")
    }

    func narrowed(_ hosted: some ServiceHosting) async throws {
        let anna = try await hosted.device("anna")
        try await anna.createZone()
        let saves = try (0..<150).map { number in
            let text = String(repeating: "x", count: number)
            return RecordSave(
                anna.id("r\(number)"),
                type: number % 3 == 0 ? "Note" : "Page",
                fields: try Fields(["n": .int64(Int64(number)), "text": .string(text)])
            )
        }
        _ = try await anna.service.modifyRecords(
            ModifyRecordsRequest(saves: saves),
            as: anna.caller
        )
        let deletions = [3, 140].map { RecordDeletion(anna.id("r\($0)")) }
        let deleted = try await anna.service.modifyRecords(
            ModifyRecordsRequest(deletions: deletions),
            as: anna.caller
        )
        #expect(deleted.deletions.allSatisfy { $0.error == nil })
        for keys in [nil, ["n"], ["none"], []] {
            let request = ZoneChangesRequest(zone: anna.zone, desiredKeys: keys)
            let told = try await anna.service.zoneChanges(request, as: anna.caller)
            let direct = try await hosted.store.zoneChanges(
                request,
                as: hosted.trusted(anna.caller)
            )
            #expect(told == direct)
            #expect(told.changes.count == 150)
            #expect(
                told.changes.suffix(2).allSatisfy { if case .deleted = $0 { true } else { false } }
            )
        }
    }

    func saves(_ hosted: some ServiceHosting) async throws {
        let anna = try await hosted.device("anna")
        try await anna.createZone()
        let root = try await anna.save("root", ["n": 1, "old": "x"])
        let leaf = RecordSave(
            anna.id("leaf"),
            type: "Note",
            fields: try Fields(["n": 2]),
            parent: .set("root")
        )
        // A field is removed, a version is named, and an encrypted value stays one.
        var fields = try Fields(["old": nil])
        fields["n"] = 5
        let change = RecordSave(
            anna.id("root"),
            type: "Note",
            fields: fields,
            changeTag: root.changeTag,
            policy: .merge
        )
        let saved = try await anna.service.modifyRecords(
            ModifyRecordsRequest(saves: [change, leaf]),
            as: anna.caller
        )
        #expect(try saved.saves[0].get()["old"] == nil)
        #expect(try saved.saves[0].get()["n"] == 5)
        #expect(try saved.saves[1].get().body.parentName == "root")
        let alone = RecordSave(
            anna.id("leaf"),
            type: "Note",
            fields: Fields(),
            parent: .removed,
            policy: .changedKeys
        )
        let moved = try await anna.service.modifyRecords(
            ModifyRecordsRequest(saves: [alone]),
            as: anna.caller
        )
        #expect(try moved.saves[0].get().body.parentName == nil)
        // A deletion of a version that is not the last.
        let stale = try await anna.service.modifyRecords(
            ModifyRecordsRequest(deletions: [
                RecordDeletion(anna.id("root"), changeTag: root.changeTag)
            ]),
            as: anna.caller
        )
        #expect(stale.deletions[0].error?.code == .serverRecordChanged)
        #expect(stale.deletions[0].error?.conflict?.server["n"] == 5)
    }

    func zones(_ hosted: some ServiceHosting) async throws {
        let anna = try await hosted.device("anna")
        let service = anna.service
        let start = try await service.databaseChanges(DatabaseChangesRequest(), as: anna.caller)
        for name in ["b", "a"] {
            let request = ModifyZonesRequest(saves: [ZoneID(zoneName: name)])
            let result = try await service.modifyZones(request, as: anna.caller)
            #expect(try result.saves[0].get().zoneID.zoneName == name)
        }
        #expect(
            try await service.zones(as: anna.caller).map(\.zoneID.zoneName) == [
                "_defaultZone", "a", "b",
            ]
        )
        let later = try await service.databaseChanges(
            DatabaseChangesRequest(since: start.token),
            as: anna.caller
        )
        #expect(later.changes.count == 2)
        let removal = ModifyZonesRequest(deletions: [ZoneID(zoneName: "a")])
        _ = try await service.modifyZones(removal, as: anna.caller)
        let gone = try await service.databaseChanges(
            DatabaseChangesRequest(since: later.token),
            as: anna.caller
        )
        let direct = try await hosted.store.databaseChanges(
            DatabaseChangesRequest(since: later.token),
            as: hosted.trusted(anna.caller)
        )
        #expect(gone.changes == direct.changes)
        #expect(gone.changes.count == 1)
        let request = ZoneChangesRequest(zone: ZoneID(zoneName: "a"))
        let error = try await #require(throws: SyncError.self) {
            try await service.zoneChanges(request, as: anna.caller)
        }
        #expect(error.code == .zoneNotFound)
    }

    func queries(_ hosted: some ServiceHosting) async throws {
        let anna = try await hosted.device("anna")
        try await anna.createZone()
        for number in 0..<12 {
            try await anna.save(
                "r\(number)",
                ["n": .int64(Int64(number)), "odd": .int64(Int64(number % 2))]
            )
        }
        let query = Query(
            recordType: "Note",
            predicate: try Query.Predicate(format: "odd == 1 AND n > 2"),
            sortDescriptors: [Query.SortDescriptor(.field("n"), ascending: false)]
        )
        var request = QueryRequest(query, in: anna.zone, limit: 2)
        var names: [String] = []
        repeat {
            let page = try await anna.service.query(request, as: anna.caller)
            names += page.records.map(\.recordID.recordName)
            request.cursor = page.cursor
        } while request.cursor != nil
        #expect(names == ["r11", "r9", "r7", "r5", "r3"])
    }
}

extension Result where Failure == SyncError {
    /// The error, if it is one.
    var error: SyncError? {
        if case .failure(let error) = self { error } else { nil }
    }
}
