// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import Tidemark
import TidemarkModel

/// A call for changes reads a bounded number of entries, however many of them are not told.
@Suite struct DeltaBudgetTests {
    /// With two records in a page, a call reads 128 entries and events at most.
    private static var options: StoreOptions {
        var options = StoreOptions()
        options.limits.recordsPerPage = 2
        options.durability = .none
        return options
    }

    private static let budget = 128
    private static let count = 600

    private func name(_ change: RecordChange) -> String {
        switch change {
        case .changed(let record): record.recordID.recordName
        case .deleted(let record): "-\(record.recordID.recordName)"
        }
    }

    /// The pages of a delta, of which each is the same as of the store's last event.
    private func pages(
        _ client: Client,
        since start: ChangeToken? = nil,
        pageCount: Int = .max
    ) async throws -> (names: [String], pageCount: Int, token: ChangeToken?) {
        var (token, names, count) = (start, [String](), 0)
        while count < pageCount {
            let request = ZoneChangesRequest(zone: client.zone, since: token)
            let page = try await client.store.zoneChanges(request, as: client.caller)
            if client.caller.database.scope == .private {
                let position = client.store.lastSequence
                let past = try await client.store.zoneChanges(
                    request,
                    as: client.caller,
                    asOf: position
                )
                #expect(past == page)
            }
            names += page.changes.map(name)
            token = page.token
            count += 1
            if !page.moreComing { break }
        }
        return (names, count, token)
    }

    /// Saves and deletes many records; every twentieth one on a device of its own.
    private func fillAndEmpty(_ client: Client, _ other: Client) async throws {
        for start in stride(from: 0, to: Self.count, by: 200) {
            for (client, isOwn) in [(client, true), (other, false)] {
                let names = (start..<start + 200).filter { ($0 % 20 == 0) == isOwn }
                try await client.modify(names.map { try client.save("r\($0)", ["n": 1]) })
            }
        }
        for start in stride(from: 0, to: Self.count, by: 200) {
            let deletions = (start..<start + 200).map { RecordDeletion(client.id("r\($0)")) }
            for deletion in try await client.modify([], delete: deletions).deletions {
                _ = try deletion.get()
            }
        }
    }

    @Test(arguments: ["phone", "pad", "watch", nil])
    func `A first sync reads the deletions of a zone in pages`(device: String?) async throws {
        let folder = try ScratchFolder()
        let store = try Store.open(at: folder.path(), access: .creating, options: Self.options)
        let phone = Client(store: store)
        try await phone.createZone()
        try await phone.modify([try phone.save("first", ["n": 1])])
        try await fillAndEmpty(phone, phone.client(on: "pad"))
        try await phone.modify([try phone.save("last", ["n": 1])])
        let all = (0..<Self.count).map { "-r\($0)" }
        let own =
            switch device {
            case "phone": all.indices.filter { $0 % 20 == 0 }.map { all[$0] }
            case "pad": all.indices.filter { $0 % 20 != 0 }.map { all[$0] }
            default: [String]()
            }
        let client = phone.client(on: device)
        let found = try await pages(client)
        #expect(found.names == ["first"] + own + ["last"])
        #expect(found.pageCount > Self.count / Self.budget)
        #expect(try await pages(client, since: found.token).names.isEmpty)
        // What happens between two pages is told, however far these have come.
        let begun = try await pages(client, pageCount: 3)
        try await phone.modify([try phone.save("r1", ["n": 2])])
        try await phone.modify([], delete: [RecordDeletion(phone.id("first"))])
        let rest = try await pages(client, since: begun.token)
        #expect(begun.names.first == "first" && rest.names.suffix(2) == ["r1", "-first"])
        let expected = (own + ["last"]).filter { $0 != "-r1" || begun.names.contains($0) }
        #expect(Array((begun.names + rest.names).dropFirst().dropLast(2)) == expected)
        try store.close()
    }

    @Test func `A first sync reads the deleted zones in pages`() async throws {
        let folder = try ScratchFolder()
        let store = try Store.open(at: folder.path(), access: .creating, options: Self.options)
        let client = Client(store: store)
        try await client.createZone()
        let zones = (0..<Self.count).map { ZoneID(zoneName: "z\($0)") }
        for start in stride(from: 0, to: Self.count, by: 100) {
            let some = Array(zones[start..<start + 100])
            _ = try await store.modifyZones(ModifyZonesRequest(saves: some), as: client.caller)
            _ = try await store.modifyZones(ModifyZonesRequest(deletions: some), as: client.caller)
        }
        var last = client
        last.zone = ZoneID(zoneName: "last")
        try await last.createZone()
        var (changes, count) = ([ZoneChange](), 0)
        var token: ChangeToken?
        while true {
            let request = DatabaseChangesRequest(since: token)
            let page = try await store.databaseChanges(request, as: client.caller)
            changes += page.changes
            token = page.token
            count += 1
            if !page.moreComing { break }
        }
        #expect(changes == [.changed(client.zone), .changed(last.zone)])
        #expect(count > Self.count / Self.budget)
        try store.close()
    }

    @Test func `A participant reads records that left the share in pages`() async throws {
        let world = try await SharingWorld(options: Self.options)
        let anna = world.anna
        let (bob, carol) = (world.guest("bob"), world.guest("carol"))
        try await anna.modify([
            anna.node("root"), anna.share("s", of: "root", with: [("bob", .readOnly)]),
        ])
        let link = world.store.url(of: try await anna.shared("s"))
        _ = try await world.store.acceptShare(link, as: bob.caller)
        let start = try await bob.changes()
        for number in 0..<Self.count / 100 {
            let names = (0..<100).map { "r\(number)-\($0)" }
            try await anna.modify(names.map { try anna.node($0, under: "root") })
            try await anna.modify([], delete: names.map { RecordDeletion(anna.id($0)) })
        }
        try await anna.modify([anna.node("last", under: "root")])
        // Bob was there, Carol comes later.
        let users = [("bob", SharePermission.readOnly), ("carol", .readOnly)]
        try await anna.modify([anna.share("s", of: "root", with: users)])
        _ = try await world.store.acceptShare(link, as: carol.caller)
        let told = try await pages(bob, since: start.token)
        #expect(told.names.filter { $0.hasPrefix("-") }.count == Self.count)
        for client in [bob, carol] {
            let found = try await pages(client)
            #expect(Set(found.names) == ["root", "s", "last"])
            #expect(found.pageCount > Self.count / Self.budget)
            #expect(try await pages(client, since: found.token).names.isEmpty)
        }
        try world.store.close()
    }
}
