// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import Tidemark
import TidemarkLog
import TidemarkModel

@Suite struct DeltaTests {
    let folder: ScratchFolder
    let anna: Client
    var store: Store { anna.store }

    init() async throws {
        folder = try ScratchFolder()
        anna = try await Client(ofNewStoreIn: folder)
    }

    private func names(_ changes: some Sequence<RecordChange>) -> [String] {
        changes.map { change in
            switch change {
            case .changed(let record): record.recordID.recordName
            case .deleted(let deleted): "-\(deleted.recordID.recordName)"
            }
        }
    }

    @Test func `A first sync lists live records, and later ones list changes`() async throws {
        for name in ["a", "b", "c"] { try await anna.modify([try anna.save(name, ["n": 1])]) }
        try await anna.modify([], delete: [RecordDeletion(anna.id("b"))])
        let first = try await anna.changes()
        // The phone made it, and may still have it.
        #expect(names(first.changes) == ["a", "c", "-b"])
        let a = try await anna.fetch("a")[0].get()
        try await anna.modify([try anna.save("a", ["n": 2], tag: a.changeTag)])
        try await anna.modify([], delete: [RecordDeletion(anna.id("c"))])
        let second = try await anna.changes(since: first.token)
        #expect(names(second.changes) == ["a", "-c"])
        guard case .deleted(let deleted) = try #require(second.changes.last) else {
            throw SyncError(.internalError, "expected a deletion")
        }
        #expect(deleted.recordType == "Note")
        #expect(try await anna.changes(since: second.token).changes.isEmpty)
        try store.close()
    }

    @Test(arguments: [nil, 1, 3])
    func `Without a token, a device is notified of deletions of its own records`(
        limit: Int?
    ) async throws {
        let tablet = anna.client(on: "tablet")
        for number in 0..<12 {
            let client = number % 3 == 0 ? tablet : anna
            try await client.modify([try client.save("r\(number)", ["n": 1])])
        }
        // Whoever changes or deletes it: it is about who created it.
        try await tablet.modify([try tablet.save("r1", ["n": 2], policy: .allKeys)])
        let gone = [0, 1, 3, 4, 5]
        for number in gone {
            let client = number % 2 == 0 ? tablet : anna
            try await client.modify([], delete: [RecordDeletion(client.id("r\(number)"))])
        }
        let living = (0..<12).filter { !gone.contains($0) }.map { "r\($0)" }
        for (client, own) in [(anna, ["-r1", "-r4", "-r5"]), (tablet, ["-r0", "-r3"])] {
            let first = try await client.changes(limit: limit)
            #expect(Set(names(first.changes)) == Set(living + own))
            #expect(first.changes.count == living.count + own.count)
            #expect(try await client.changes(since: first.token).changes.isEmpty)
        }
        for stranger in [anna.client(on: "watch"), anna.client(on: nil)] {
            #expect(Set(names(try await stranger.changes(limit: limit).changes)) == Set(living))
        }
        // A record that is there again is no deletion.
        try await anna.modify([try anna.save("r1", ["n": 3])])
        let again = names(try await anna.changes(limit: limit).changes)
        #expect(again.contains("r1") && !again.contains("-r1"))
    }

    @Test func `Pages end at the end of a commit and report if more is coming`() async throws {
        for commit in 0..<4 {
            try await anna.modify(try (0..<3).map { try anna.save("\(commit)-\($0)", ["n": 1]) })
        }
        let page = try await anna.page(limit: 7)
        #expect(page.changes.count == 6)
        #expect(page.moreComing)
        let small = try await anna.page(limit: 2)
        #expect(small.changes.count == 2)
        #expect(try await anna.changes(limit: 2).changes.count == 12)
        #expect(try await anna.changes(limit: 7).changes.count == 12)
        let all = try await anna.page(limit: 12)
        #expect(!all.moreComing)
        await #expect(throws: SyncError.self) { try await anna.changes(limit: 0) }
        try store.close()
    }

    @Test func `A first sync reports deletions during the sync, not earlier ones`() async throws {
        let laptop = anna.client(on: "laptop")
        for index in 0..<6 { try await anna.modify([try anna.save("\(index)", ["n": 1])]) }
        try await anna.modify([], delete: [RecordDeletion(anna.id("5"))])
        let page = try await laptop.page(limit: 2)
        #expect(names(page.changes) == ["0", "1"])
        try await anna.modify([], delete: [RecordDeletion(anna.id("0"))])
        try await anna.modify([], delete: [RecordDeletion(anna.id("3"))])
        let rest = try await laptop.changes(since: page.token, limit: 2)
        #expect(names(rest.changes) == ["2", "4", "-0", "-3"])
        try store.close()
    }

    @Test func `A client that has everything gets the token of the end`() async throws {
        let path = folder.path("restarted.tide")
        var token: ChangeToken?
        for round in 0..<3 {
            // Stores that are not closed have another incarnation after they are opened again.
            let store = try Store.open(at: path, access: .creating)
            let client = Client(store: store)
            if round == 0 {
                try await client.createZone()
                try await client.modify([try client.save("a", ["n": 1])])
                token = try await client.changes().token
            }
            func checkToken() async throws {
                let delta = try await client.changes(since: token)
                #expect(delta.changes.isEmpty)
                #expect(
                    try store.currentToken(of: client.zone, as: client.caller) == delta.token
                )
                #expect(try await client.changes(since: delta.token).token == delta.token)
                token = delta.token
            }
            try await checkToken()
            let before = token
            var other = client
            other.zone = ZoneID(zoneName: "Other \(round)")
            try await other.createZone()
            try await checkToken()
            #expect(token != before)
            if round == 2 { try store.close() }
        }
        try self.store.close()
    }

    @Test func `A recreated zone is a different zone`() async throws {
        try await anna.modify([try anna.save("a", ["n": 1])])
        let old = try await anna.changes()
        let database = try await anna.databaseChanges()
        #expect(database.changes == [.changed(anna.zone)])
        try await anna.deleteZone()
        await #expect(throws: SyncError.zoneNotFound(anna.zone)) {
            try await anna.changes(since: old.token)
        }
        #expect(try await anna.fetch("a")[0].error?.code == .zoneNotFound)
        #expect(
            try await anna.modify([try anna.save("a", ["n": 1])]).saves[0].error?.code
                == .zoneNotFound
        )
        try await anna.createZone()
        #expect(try await anna.changes().changes.isEmpty)
        do {
            _ = try await anna.changes(since: old.token)
            Issue.record("a token of the old zone was answered")
        } catch let error as SyncError {
            #expect(error.code == .changeTokenExpired)
        }
        let since = try await anna.databaseChanges(since: database.token)
        #expect(since.changes == [.deleted(anna.zone, .deleted), .changed(anna.zone)])
        let fresh = try await anna.databaseChanges()
        #expect(fresh.changes == [.changed(anna.zone)])
        try store.close()
    }

    @Test func `Zones are listed by name, including the default zone`() async throws {
        _ = try await store.modifyZones(
            ModifyZonesRequest(saves: ["b", "é", "a"].map { ZoneID(zoneName: $0) }),
            as: anna.caller
        )
        let zones = try await store.zones(as: anna.caller)
        #expect(zones.map(\.zoneID.zoneName) == ["Notes", "_defaultZone", "a", "b", "é"])
        #expect(zones[0].capabilities.contains(.atomic))
        #expect(!zones[1].capabilities.contains(.atomic))
        // Creating a zone that exists returns the same.
        let again = try await store.modifyZones(
            ModifyZonesRequest(saves: zones.map(\.zoneID)),
            as: anna.caller
        )
        #expect(try again.saves.map { try $0.get() } == zones)
        var publicCaller = anna.caller
        publicCaller.database = DatabaseID(scope: .public)
        #expect(try await store.zones(as: publicCaller).map(\.zoneID) == [.default])
        let refused = try await store.modifyZones(
            ModifyZonesRequest(saves: [anna.zone]),
            as: publicCaller
        )
        #expect(refused.saves[0].error?.code == .badDatabase)
        try store.close()
    }

    @Test func `Each invalid token has its error`() async throws {
        try await anna.modify([try anna.save("a", ["n": 1])])
        let zoneToken = try await anna.changes().token
        let databaseToken = try await anna.databaseChanges().token
        var other = anna
        other.zone = ZoneID(zoneName: "Other")
        try await other.createZone()
        let otherStore = try Store.open(at: folder.path("other.tide"), access: .creating)
        let stranger = Client(store: otherStore)
        try await stranger.createZone()

        func code(_ client: Client, _ token: ChangeToken) async -> SyncError.Code? {
            await refusal { try await client.changes(since: token) }
        }
        var bytes = zoneToken.bytes
        bytes[20] ^= 1
        #expect(await code(anna, ChangeToken(bytes: bytes)) == .invalidArguments)
        #expect(await code(anna, databaseToken) == .invalidArguments)
        #expect(await code(other, zoneToken) == .invalidArguments)
        #expect(await code(stranger, zoneToken) == .changeTokenExpired)
        #expect(await code(anna, zoneToken) == nil)
        await #expect(throws: SyncError.self) { try await anna.databaseChanges(since: zoneToken) }
        try otherStore.close()
        try store.close()
    }

    @Test func `Deltas do not change after checkpoints and restarts`() async throws {
        var options = StoreOptions()
        options.checkpointEventCount = 20
        let path = folder.path("many.tide")
        var tokens: [(token: ChangeToken, written: Int)] = []
        var names: [String] = []
        for round in 0..<6 {
            let store = try Store.open(at: path, access: .creating, options: options)
            let client = Client(store: store)
            try await client.createZone()
            for index in 0..<25 {
                try await client.modify([try client.save("\(round)-\(index)", ["n": 1])])
                names.append("\(round)-\(index)")
                tokens.append((try await client.changes().token, names.count))
            }
            for (token, written) in tokens {
                let delta = try await client.changes(since: token)
                #expect(self.names(delta.changes) == Array(names[written...]))
            }
            #expect(self.names(try await client.changes().changes) == names)
            if round % 2 == 0 { try store.close() }
        }
        try self.store.close()
    }

    @Test func `A page goes on behind many records whose newer versions follow`() async throws {
        let path = folder.path("superseded.tide")
        let filling = Client(store: try Store.open(at: path, access: .creating))
        try await filling.createZone()
        let all = (0..<300).map { "r\($0)" }
        try await filling.modify(try all.map { try filling.save($0, ["n": 1]) })
        // Closing brings the list of changes to the disk.
        try filling.store.close()
        let store = try Store.open(at: path)
        let client = Client(store: store)
        let changed = Array(all[..<200])
        try await client.modify(
            try changed.map { try client.save($0, ["n": 2], policy: .replace) }
        )
        let found = names(try await client.changes(limit: 10).changes)
        #expect(found == Array(all[200...]) + changed)
        try store.close()
        try self.store.close()
    }
}
