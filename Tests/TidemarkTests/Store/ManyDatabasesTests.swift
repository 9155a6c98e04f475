// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import Tidemark
import TidemarkModel

/// Lists of one user's zones, in a store where many others write.
@Suite struct ManyDatabasesTests {
    private let folder: ScratchFolder
    private let store: Store

    init() throws {
        folder = try ScratchFolder()
        // Some of it is in the index, some in what a checkpoint takes in, some behind.
        var options = StoreOptions()
        options.checkpointEventCount = 90
        store = try Store.open(at: folder.path(), access: .creating, options: options)
    }

    private func caller(_ user: Int) -> Caller { Caller(user: UserID("user\(user)")) }

    private func save(_ name: String, _ zone: ZoneID, _ user: Int) async throws {
        let save = RecordSave(
            RecordID(recordName: name, zone: zone),
            type: "Note",
            fields: try Fields(["n": 1]),
            policy: .allKeys
        )
        _ = try await store.modifyRecords(ModifyRecordsRequest(saves: [save]), as: caller(user))
            .saves[0].get()
    }

    /// The content of a user's database now, and what changed in it after a token.
    private func look(
        _ user: Int,
        since token: ChangeToken?
    ) async throws -> (zones: Set<String>, changes: Set<String>, token: ChangeToken) {
        let zones = try await store.zones(as: caller(user)).map(\.zoneID.zoneName)
        let page = try await store.databaseChanges(
            DatabaseChangesRequest(since: token),
            as: caller(user)
        )
        let changes = page.changes.map { change in
            switch change {
            case .changed(let zone): "+" + zone.zoneName
            case .deleted(let zone, _): "-" + zone.zoneName
            }
        }
        let changed = changes.filter { $0.hasPrefix("+") }
        #expect(changed.count == Set(changed).count)
        return (Set(zones), Set(changes), page.token)
    }

    @Test(arguments: 1...(runsLongTests ? 20 : 3))
    func `Each user sees only their own zones and their changes`(seed: Int) async throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let users = 24
        var zones = [Set<String>](repeating: [], count: users)
        var news = [Set<String>](repeating: [], count: users)
        var tokens = [ChangeToken?](repeating: nil, count: users)
        for user in 0..<users { tokens[user] = try await look(user, since: nil).token }
        for step in 0..<600 {
            let user = Int.random(in: 0..<users, using: &random)
            let name = "z\(Int.random(in: 0..<4, using: &random))"
            let zone = ZoneID(zoneName: name)
            switch Int.random(in: 0..<10, using: &random) {
            case 0 where zones[user].contains(name):
                let request = ModifyZonesRequest(deletions: [zone])
                _ = try await store.modifyZones(request, as: caller(user))
                zones[user].remove(name)
                // A zone that the device never heard of ends unheard.
                news[user].remove("+" + name)
                news[user].insert("-" + name)
            case 1...3:
                let isNew = zones[user].insert(name).inserted
                let request = ModifyZonesRequest(saves: [zone])
                _ = try await store.modifyZones(request, as: caller(user))
                if isNew { news[user].insert("+" + name) }
            case 4...8 where zones[user].contains(name):
                try await save("r\(step % 3)", zone, user)
                news[user].insert("+" + name)
            default:
                let seen = try await look(user, since: tokens[user])
                #expect(seen.zones == zones[user].union(["_defaultZone"]))
                // What was there and gone between two looks may be told or not.
                #expect(
                    seen.changes.filter { $0.hasPrefix("+") }
                        == news[user].filter { $0.hasPrefix("+") }
                )
                #expect(seen.changes.isSubset(of: news[user]))
                tokens[user] = seen.token
                news[user] = []
            }
        }
        for user in 0..<users {
            #expect(try await look(user, since: nil).zones == zones[user].union(["_defaultZone"]))
        }
        try store.close()
    }
}
