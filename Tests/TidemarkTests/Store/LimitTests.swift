// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import Tidemark
import TidemarkLog
import TidemarkModel

@Suite struct LimitTests {
    let folder: ScratchFolder
    let anna: Client
    var store: Store { anna.store }

    init() async throws {
        folder = try ScratchFolder()
        anna = try await Client(ofNewStoreIn: folder)
    }

    @Test func `A request may have at most 400 items`() async throws {
        let saves = try (0..<401).map { try anna.save("r\($0)", ["n": 1]) }
        #expect(await refusal { try await anna.modify(Array(saves.prefix(400))) } == nil)
        #expect(await refusal { try await anna.modify(saves) } == .limitExceeded)
        #expect(try await anna.changes().changes.count == 400)
        try store.close()
    }

    @Test func `A request may have two megabytes, and a record one`() async throws {
        let half = String(repeating: "x", count: 999_990)
        let large = String(repeating: "x", count: 1_000_000)
        let saves = try (0..<3).map { try anna.save("r\($0)", ["text": .string(half)]) }
        #expect(await refusal { try await anna.modify(Array(saves.prefix(2))) } == nil)
        #expect(await refusal { try await anna.modify(saves) } == .limitExceeded)
        let result = try await anna.modify([try anna.save("big", ["text": .string(large)])])
        #expect(result.saves[0].error?.code == .limitExceeded)
        // What the record would be counts, not what is sent.
        let more = try await anna.modify([
            try anna.save("r0", ["more": .string("0123456789")], policy: .changedKeys)
        ])
        #expect(more.saves[0].error?.code == .limitExceeded)
        let less = try await anna.modify([
            try anna.save("r0", ["text": nil, "more": "0123456789"], policy: .changedKeys)
        ])
        #expect(less.saves[0].error == nil)
        try store.close()
    }

    @Test func `A record may have no more fields after a save of some of them`() async throws {
        let anna = try await client(in: "fields") { $0.limits.fieldsPerRecord = 2 }
        try await anna.modify([try anna.save("a", ["x": 1, "y": 1])])
        let third = try anna.save("a", ["z": 1], policy: .changedKeys)
        #expect(try await anna.modify([third]).saves[0].error?.code == .limitExceeded)
        let second = try anna.save("a", ["y": 2], policy: .changedKeys)
        #expect(try await anna.modify([second]).saves[0].error == nil)
        try anna.store.close()
    }

    @Test func `No limit is too large to set`() async throws {
        var options = StoreOptions()
        options.limits.recordsPerPage = .max
        options.limits.recordsPerQueryPage = .max
        options.limits.itemsPerRequest = .max
        options.limits.bytesPerRequest = .max
        options.limits.bytesPerRecord = .max
        options.limits.fieldsPerRecord = .max
        options.limits.elementsPerList = .max
        options.limits.notificationsPerUser = .max
        options.segmentByteCount = .max
        options.pageByteCount = .max
        let store = try Store.open(at: folder.path("wide"), access: .creating, options: options)
        let anna = Client(store: store)
        try await anna.createZone()
        try await anna.modify(try (0..<500).map { try anna.save("r\($0)", ["n": 1]) })
        #expect(try await anna.changes(limit: .max).changes.count == 500)
        let zones = try await anna.databaseChanges()
        #expect(zones.changes.count == 1)
        let all = QueryRequest(Query(recordType: "Note"), in: anna.zone, limit: .max)
        #expect(try await store.query(all, as: anna.caller).records.count == 500)
        try store.close()
    }

    @Test func `The views store the longest possible names`() async throws {
        var options = StoreOptions()
        options.limits.nameByteCount = .max
        let path = folder.path("names")
        let wide = String(repeating: "n", count: 1_000)
        let anna = UserID("a" + wide.dropFirst())
        let caller = Caller(
            database: DatabaseID(container: ContainerID(wide), owner: anna),
            user: anna
        )
        let id = RecordID(recordName: wide + wide, zone: ZoneID(zoneName: wide))
        let root = RecordSave(id, type: "Note", fields: try Fields(["n": 1]))
        let share = RecordSave(
            RecordID(recordName: "share", zone: id.zone),
            type: Share.recordType,
            fields: Fields(),
            share: ShareContent(root: id.recordName, publicPermission: .readOnly)
        )
        do {
            let store = try Store.open(at: path, access: .creating, options: options)
            _ = try await store.modifyZones(ModifyZonesRequest(saves: [id.zone]), as: caller)
            let saved = try await store.modifyRecords(
                ModifyRecordsRequest(saves: [root, share]),
                as: caller
            )
            #expect(saved.saves.allSatisfy { $0.error == nil })
            try store.close()
        }
        let store = try Store.open(at: path, options: options)
        let found = try await store.fetchRecords(FetchRecordsRequest([id]), as: caller)
        #expect(try found[0].get()["n"] == .int64(1))
        try store.close()
    }

    @Test(arguments: [Int.min, 0, 1])
    func `No segment size is too small to set`(_ byteCount: Int) async throws {
        var options = StoreOptions()
        options.segmentByteCount = byteCount
        let path = folder.path("short\(byteCount)")
        for name in ["a", "b", "c"] {
            let store = try Store.open(at: path, access: .creating, options: options)
            let anna = Client(store: store)
            if name == "a" { try await anna.createZone() }
            try await anna.modify([try anna.save(name, ["text": "some text"])])
            try store.close()
        }
        let store = try Store.open(at: path)
        #expect(try await Client(store: store).changes().changes.count == 3)
        try store.close()
    }

    /// A client of a store of its own with such options, and a zone in it.
    private func client(
        in name: String,
        _ change: (inout StoreOptions) -> Void
    ) async throws -> Client {
        var options = StoreOptions()
        change(&options)
        let path = folder.path(name)
        let client = Client(store: try Store.open(at: path, access: .creating, options: options))
        try await client.createZone()
        return client
    }

    @Test(arguments: [Int.min, 0, 1, .max])
    func `Any checkpoint interval can be set`(_ count: Int) async throws {
        let anna = try await client(in: "views\(count)") { $0.checkpointEventCount = count }
        for name in ["a", "b", "c"] { try await anna.modify([try anna.save(name, ["n": 1])]) }
        _ = try await anna.store.compact(CompactionPolicy())
        #expect(try await anna.changes().changes.count == 3)
        try anna.store.close()
    }

    @Test(arguments: [Int64.min, -1, 0, .max])
    func `Any journal size can be set`(_ length: Int64) async throws {
        let anna = try await client(in: "journal\(length)") { options in
            options.journalByteCount = Int(length)
            options.journalLifetime = length
        }
        var codes: [SyncError.Code?] = []
        for _ in 0..<3 {
            codes.append(try await anna.modify([try anna.save("a", ["n": 1])]).saves[0].error?.code)
        }
        #expect(codes == [nil, .serverRecordChanged, .serverRecordChanged])
        let journal = try anna.store.visitJournal { _ in }
        #expect(journal.failure == nil && journal.lostCount == 0 && journal.damage.isEmpty)
        try anna.store.close()
    }

    @Test func `Names are any Unicode text and compared by bytes`() async throws {
        let names = ["é", "e\u{301}", "日本", "🏴‍☠️", " ", "a/b", "\u{FEFF}", "_x", "\n"]
        try await anna.modify(try names.map { try anna.save($0, ["name": .string($0)]) })
        for name in names {
            let record = try await anna.fetch(name)[0].get()
            #expect(Array(record.recordID.recordName.utf8) == Array(name.utf8))
        }
        #expect(try await anna.changes().changes.count == names.count)
        try store.close()
    }

    @Test(arguments: ["", "a\0b", String(repeating: "n", count: 256)])
    func `Invalid names are rejected item by item`(_ name: String) async throws {
        let result = try await anna.modify(
            [try anna.save(name, ["n": 1]), try anna.save("fine", ["n": 1])],
            isAtomic: false
        )
        #expect(result.saves.map { $0.error?.code } == [.invalidArguments, nil])
        let gone = try await anna.modify([], delete: [RecordDeletion(anna.id(name))])
        #expect(gone.deletions[0].error?.code == .invalidArguments)
        let zone = ZoneID(zoneName: name)
        let zones = try await store.modifyZones(
            ModifyZonesRequest(saves: [zone, ZoneID(zoneName: "_own")]),
            as: anna.caller
        )
        #expect(zones.saves.map { $0.error?.code } == [.invalidArguments, .invalidArguments])
        try store.close()
    }

    @Test func `A request with a duplicate record is rejected as a whole`() async throws {
        let twice = [try anna.save("a", ["n": 1]), try anna.save("a", ["n": 2])]
        #expect(await refusal { try await anna.modify(twice) } == .invalidArguments)
        #expect(
            await refusal {
                try await anna.modify(
                    [try anna.save("b", ["n": 1])],
                    delete: [RecordDeletion(anna.id("b"))]
                )
            } == .invalidArguments
        )
        #expect(try await anna.changes().changes.isEmpty)
        try store.close()
    }

    @Test func `A zone is the same however its owner is written`() async throws {
        let user = UserID("_anna")
        var anna = anna
        anna.caller.database = DatabaseID(owner: user)
        try await anna.createZone()
        var named = anna
        named.zone = ZoneID(zoneName: anna.zone.zoneName, ownerName: "_anna")
        let twice = [try anna.save("a", ["n": 1]), try named.save("a", ["m": 2])]
        #expect(await refusal { try await anna.modify(twice) } == .invalidArguments)
        // One zone, so all or nothing, and what the request saves is there.
        var child = try named.save("child", ["n": 1])
        child.parent = .set("parent")
        let family = [try anna.save("parent", ["n": 1]), child]
        #expect(try await anna.modify(family).saves.allSatisfy { $0.error == nil })
        let half = [try anna.save("good", ["n": 1]), try named.save("parent", ["n": 2])]
        #expect(
            try await anna.modify(half).saves.map { $0.error?.code } == [
                .batchRequestFailed, .serverRecordChanged,
            ]
        )
        #expect(try await named.fetch("child")[0].get().zone == named.zone)

        let new = ZoneID(zoneName: "New")
        let again = ZoneID(zoneName: "New", ownerName: "_anna")
        for request in [
            ModifyZonesRequest(saves: [new, again]),
            ModifyZonesRequest(saves: [new], deletions: [again]),
        ] {
            #expect(
                await refusal { try await store.modifyZones(request, as: anna.caller) }
                    == .invalidArguments
            )
        }
        #expect(try await store.zones(as: anna.caller).map(\.zoneID) == [anna.zone, .default])
        try store.close()
    }

    @Test func `A record keeps its type, and field names are checked`() async throws {
        try await anna.modify([try anna.save("a", ["n": 1])])
        let typed = try await anna.modify([
            try anna.save("a", ["n": 2], policy: .allKeys, type: "Other")
        ])
        #expect(typed.saves[0].error?.code == .invalidArguments)
        for field in ["1a", "a b", "é", "_a"] {
            let result = try await anna.modify([try anna.save("b", [field: 1])])
            #expect(result.saves[0].error?.code == .invalidArguments)
        }
        try store.close()
    }

    @Test func `Field names are checked in every record of a request`() async throws {
        try await anna.modify([try anna.save("first", ["n": 0])])
        let results = try await anna.modify([
            try anna.save("a", ["n": 1]),
            try anna.save("b", ["n": 2]),
            try anna.save("c", ["1a": nil, "n": 3]),
            try anna.save("d", ["n": 4, "a b": 1]),
            try anna.save("e", ["n": nil]),
            try anna.save("f", ["n": "a text"]),
        ]).saves
        let codes = results.map { $0.error?.code }
        // One item that is refused lets all others of the zone fail.
        #expect(
            codes == [
                .batchRequestFailed, .batchRequestFailed, .invalidArguments, .invalidArguments,
                .batchRequestFailed, .invalidArguments,
            ]
        )
        try store.close()
    }

    @Test func `Callers are rejected where they have no access`() async throws {
        var nobody = anna
        nobody.caller.user = nil
        #expect(await refusal { try await nobody.changes() } == .notAuthenticated)
        nobody.caller.database = DatabaseID(scope: .public)
        nobody.zone = .default
        #expect(await refusal { try await nobody.changes() } == nil)
        #expect(
            await refusal { try await nobody.modify([try nobody.save("a", ["n": 1])]) }
                == .notAuthenticated
        )
        var other = anna
        other.caller.database = DatabaseID(owner: UserID("_bert"))
        #expect(await refusal { try await other.changes() } == .permissionFailure)
        other.caller.user = UserID("_bert")
        #expect(await refusal { try await other.changes() } == .zoneNotFound)
        var shared = anna
        shared.caller.database = DatabaseID(scope: .shared, owner: UserID("_anna"))
        let refused = try await store.modifyZones(
            ModifyZonesRequest(saves: [anna.zone]),
            as: shared.caller
        )
        #expect(refused.saves[0].error?.code == .badDatabase)
        #expect(try await store.zones(as: shared.caller).isEmpty)
        try store.close()
    }

    @Test func `Fields from a fetched record are saved as if they were new`() async throws {
        let first = try await anna.put("a", ["x": 1, "y": 2])
        let second = try await anna.put("a", ["y": 3], tag: first.changeTag)
        let copy = RecordSave(anna.id("copy"), type: "Note", fields: second.fields)
        let same = RecordSave(anna.id("same"), type: "Note", fields: try Fields(["x": 1, "y": 3]))
        let saved = try await anna.modify([copy, same])
        #expect(try saved.saves[0].get().fields == saved.saves[1].get().fields)
        try store.close()
    }
}
