// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import Tidemark
import TidemarkModel

@Suite struct ZoneEndTests {
    let folder: ScratchFolder
    let anna: Client
    var store: Store { anna.store }

    init() async throws {
        folder = try ScratchFolder()
        anna = try await Client(ofNewStoreIn: folder)
        try await anna.modify([try anna.save("a", ["n": 1])])
    }

    @Test(
        arguments: [
            (.deleted, .zoneNotFound), (.purged, .userDeletedZone),
            (.encryptedDataReset, .zoneNotFound),
        ] as [(ZoneDeletionReason, SyncError.Code)]
    )
    func `Every use of a deleted zone fails with the reason`(
        reason: ZoneDeletionReason,
        code: SyncError.Code
    ) async throws {
        let before = try await anna.databaseChanges()
        try await anna.deleteZone(reason)
        let delta = try await anna.databaseChanges(since: before.token)
        #expect(delta.changes == [.deleted(anna.zone, reason)])
        let save = try await anna.modify([try anna.save("b", ["n": 1])]).saves[0].error
        let fetch = try await anna.fetch("a")[0].error
        for error in [save, fetch] {
            #expect(error?.code == code)
            #expect(error?.userDidResetEncryptedData == (reason == .encryptedDataReset))
        }
        let error = await #expect(throws: SyncError.self) { try await anna.changes() }
        #expect(error?.code == code)
        try await anna.createZone()
        #expect(try await anna.fetch("a")[0].error?.code == .unknownItem)
        try store.close()
    }

    @Test func `An export contains the reason why a zone was deleted`() async throws {
        try await anna.deleteZone(.purged)
        let lines = try store.commits()
        #expect(lines.last?.changes == [.deleteZone(anna.zone, reason: .purged)])
        let copy = try Store.open(at: folder.path("copy.tide"), access: .creating)
        var importing = try copy.beginImport()
        for line in lines {
            var text: [UInt8] = []
            text.append(json: line)
            var reader = ChangeStreamReader()
            _ = try await importing.add(try reader.read(text))
        }
        try await importing.finish()
        let other = Client(store: copy)
        #expect(try await other.fetch("a")[0].error?.code == .userDeletedZone)
        try copy.close()
        try store.close()
    }

    @Test func `A strict store has no deltas where CloudKit has none`() async throws {
        var options = StoreOptions()
        options.isStrict = true
        let store = try Store.open(
            at: folder.path("strict.tide"),
            access: .creating,
            options: options
        )
        var bert = Client(store: store)
        bert.zone = .default
        try await bert.modify([try bert.save("a", ["n": 1])])
        #expect(await refusal { try await bert.changes() } == .invalidArguments)
        let zones = try await bert.databaseChanges()
        #expect(zones.changes.isEmpty)
        #expect(try await store.zones(as: bert.caller).map(\.capabilities) == [[]])
        bert.caller.database = DatabaseID(scope: .public)
        let database = await #expect(throws: SyncError.self) { try await bert.databaseChanges() }
        #expect(database?.code == .badDatabase)
        try store.close()
    }

    @Test func `A delta can be limited to desired keys`() async throws {
        try await anna.modify([try anna.save("b", ["n": 2, "text": "long"])])
        try await anna.modify([], delete: [RecordDeletion(anna.id("a"))])
        let page = try await store.zoneChanges(
            ZoneChangesRequest(zone: anna.zone, desiredKeys: ["text"]),
            as: anna.client(on: "laptop").caller
        )
        #expect(page.changes.count == 1)
        guard case .changed(let record) = page.changes[0] else {
            Issue.record("expected a record")
            return
        }
        #expect(record["text"] == .string("long"))
        #expect(record["n"] == nil)
        try store.close()
    }
}
