// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import Tidemark
import TidemarkModel

/// Deltas that are read from their end.
@Suite struct NewestChangesTests {
    private func store(_ folder: ScratchFolder, pageByteCount: Int = 4 << 20) throws -> Store {
        var options = StoreOptions()
        options.durability = .none
        // Part of a zone's list is on disk, part in memory.
        options.checkpointEventCount = 40
        options.pageByteCount = pageByteCount
        return try Store.open(at: folder.path(), access: .creating, options: options)
    }

    /// Saves and deletes records of some names, in a few commits of a random size.
    private func write(_ client: Client, _ random: inout SeededGenerator) async throws {
        for _ in 0..<Int.random(in: 1..<20, using: &random) {
            let names = Set(
                (0..<Int.random(in: 1..<6, using: &random)).map { _ in
                    "r\(Int.random(in: 0..<60, using: &random))"
                }
            )
            if Int.random(in: 0..<4, using: &random) == 0 {
                try await client.modify(
                    [],
                    delete: names.map { RecordDeletion(client.id($0)) },
                    isAtomic: false
                )
            } else {
                let text = FieldValue.string(
                    String(repeating: "x", count: Int.random(in: 0..<300, using: &random))
                )
                try await client.modify(
                    try names.map { try client.save($0, ["text": text], policy: .changedKeys) }
                )
            }
        }
    }

    /// The pages of a delta from its end, put together: the newest change first.
    private func reversed(
        _ client: Client,
        since: ChangeToken?,
        limit: Int?,
        between: () async throws -> Void = {}
    ) async throws -> [RecordChange] {
        var changes: [RecordChange] = []
        var end = try client.store.currentToken(of: client.zone, as: client.caller)
        while true {
            let page = try await client.store.newestChanges(
                ZoneChangesRequest(zone: client.zone, since: since, limit: limit),
                through: end,
                as: client.caller
            )
            #expect(page.changes.count <= limit ?? 200)
            changes += page.changes.reversed()
            guard page.moreComing else { return changes }
            #expect(!page.changes.isEmpty || since == nil)
            end = page.token
            try await between()
        }
    }

    @Test(arguments: 0..<8)
    func `Pages from the end are the reversed delta`(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let folder = try ScratchFolder()
        let store = try store(folder, pageByteCount: seed % 2 == 0 ? 4 << 20 : 1_000)
        var clients = ["Notes", "Lists", "Few"].map {
            Client(store: store, zone: ZoneID(zoneName: $0))
        }
        for client in clients { try await client.createZone() }
        var tokens: [ChangeToken?] = [nil]
        for step in 0..<12 {
            clients[0].caller.device = step % 3 == 0 ? "pad" : "phone"
            try await write(clients[0], &random)
            // A gap, in which another zone is written.
            try await write(clients[1], &random)
            tokens.append(try store.currentToken(of: clients[0].zone, as: clients[0].caller))
        }
        var watch = clients[0]
        watch.caller.device = "watch"
        for client in [clients[0], watch, clients[2]] {
            for since in client.zone == clients[0].zone ? tokens : [nil] {
                let forward = try await client.changes(since: since).changes
                for limit in [1, 3, 50, nil] {
                    let backward = try await reversed(client, since: since, limit: limit)
                    #expect(backward == forward.reversed(), "limit \(limit ?? 0)")
                }
            }
        }
        let other = try store.currentToken(of: clients[1].zone, as: clients[1].caller)
        await #expect(throws: SyncError.self) {
            try await store.newestChanges(
                ZoneChangesRequest(zone: clients[0].zone),
                through: other,
                as: clients[0].caller
            )
        }
        try store.close()
    }

    @Test(arguments: 0..<4)
    func `Changes during paging come after the token of the first page`(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let folder = try ScratchFolder()
        let store = try store(folder)
        let client = Client(store: store)
        try await client.createZone()
        for _ in 0..<6 { try await write(client, &random) }
        let end = try store.currentToken(of: client.zone, as: client.caller)
        var more = random
        let told = try await reversed(client, since: nil, limit: 7) {
            try await self.write(client, &more)
        }
        var held: [String: RecordChangeTag?] = [:]
        // What is told first is the newest.
        for change in told.reversed() { held.apply(change) }
        for change in try await client.changes(since: end).changes { held.apply(change) }
        var expected: [String: RecordChangeTag?] = [:]
        for change in try await client.changes().changes { expected.apply(change) }
        #expect(held == expected)
        try store.close()
    }

    @Test func `A participant reads from the end too, until shares are joined or left`()
        async throws
    {
        let world = try await SharingWorld()
        let anna = world.anna
        try await anna.modify([try anna.node("a"), try anna.node("b"), try anna.node("other")])
        for root in ["a", "b"] {
            try await anna.modify([
                try anna.share("s-\(root)", of: root, with: [("bob", .readWrite)])
            ])
        }
        let bob = world.guest("bob")
        try await bob.accept("s-a", of: anna)
        let before = try world.store.currentToken(of: bob.zone, as: bob.caller)
        for number in 0..<9 { try await anna.modify([try anna.node("a\(number)", under: "a")]) }
        try await anna.modify([], delete: [RecordDeletion(anna.id("a3"))])
        for since in [nil, before] {
            for limit in [1, 4, nil] {
                let forward = try await bob.changes(since: since).changes
                #expect(try await reversed(bob, since: since, limit: limit) == forward.reversed())
            }
        }
        // The token of a zone that somebody takes part in leads on from there.
        let end = try world.store.currentToken(of: bob.zone, as: bob.caller)
        #expect(try await bob.changes(since: end).changes.isEmpty)
        try await bob.accept("s-b", of: anna)
        let expired = await #expect(throws: SyncError.self) {
            try await reversed(bob, since: before, limit: nil)
        }
        #expect(expired?.code == .changeTokenExpired)
        var held: [String: RecordChangeTag?] = [:]
        for change in try await reversed(bob, since: nil, limit: 2).reversed() {
            held.apply(change)
        }
        #expect(Set(held.keys) == (try await bob.visible()))
    }

    @Test func `A public delta contains only what the caller may read`() async throws {
        let folder = try ScratchFolder()
        let store = try store(folder)
        let text = """
            DEFINE SCHEMA
            RECORD TYPE Own (n INT64, GRANT CREATE TO "_icloud", GRANT READ, WRITE TO "_creator");
            """
        try await store.importSchema(try SchemaFile(text).schema)
        func client(_ name: String) -> Client {
            let user = UserID(name)
            return Client(
                store: store,
                caller: Caller(database: DatabaseID(scope: .public), user: user, device: name),
                zone: .default
            )
        }
        for number in 0..<20 {
            let author = client(number % 3 == 0 ? "_anna" : "_ben")
            try await author.modify([try author.save("r\(number)", ["n": 1], type: "Own")])
        }
        for name in ["_anna", "_ben", "_carol"] {
            let forward = try await client(name).changes().changes
            for limit in [1, 5, nil] {
                let backward = try await reversed(client(name), since: nil, limit: limit)
                #expect(backward == forward.reversed())
            }
        }
        try store.close()
    }
}

extension [String: RecordChangeTag?] {
    fileprivate mutating func apply(_ change: RecordChange) {
        switch change {
        case .changed(let record): updateValue(record.changeTag, forKey: record.recordID.recordName)
        case .deleted(let record): removeValue(forKey: record.recordID.recordName)
        }
    }
}
