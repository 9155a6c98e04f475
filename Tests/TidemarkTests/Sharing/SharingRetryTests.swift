// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing
import Tidemark
import TidemarkModel
import TidemarkTesting

/// Requests about taking part in shares that come again, because their answer was lost.
@Suite struct SharingRetryTests {
    let world: SharingWorld
    let bob: Client
    var anna: Client { world.anna }
    var store: Store { world.store }

    init() async throws {
        world = try await SharingWorld()
        bob = world.guest("bob")
        let anna = world.anna
        let saves = [
            try anna.node("root"), try anna.node("leaf", under: "root"), try anna.node("other"),
            try anna.share("s", of: "root", open: .readWrite),
            try anna.share("t", of: "other", open: .readWrite),
        ]
        for save in try await anna.modify(saves).saves { _ = try save.get() }
    }

    /// Another zone with a share, of another owner.
    private func shareOfCarol() async throws -> (zone: ZoneID, link: String) {
        let user = UserID("_carol")
        let carol = Client(
            store: store,
            caller: Caller(database: DatabaseID(owner: user), user: user),
            zone: ZoneID(zoneName: "Hers")
        )
        try await carol.createZone()
        let saves = [try carol.node("r"), try carol.share("s", of: "r", open: .readWrite)]
        for save in try await carol.modify(saves).saves { _ = try save.get() }
        let zone = ZoneID(zoneName: "Hers", ownerName: "_carol")
        return (zone, store.url(of: try await carol.shared("s")))
    }

    private func link(_ name: String = "s") async throws -> String {
        store.url(of: try await anna.shared(name))
    }

    private func accept(_ link: String, _ request: String?) async throws -> Record {
        var caller = bob.caller
        caller.requestID = request
        return try await store.acceptShare(link, as: caller)
    }

    private func leave(_ zones: ZoneID..., request: String?) async throws -> ModifyZonesResult {
        var caller = bob.caller
        caller.requestID = request
        return try await store.modifyZones(ModifyZonesRequest(deletions: zones), as: caller)
    }

    private func partners() async throws -> Int { try await anna.shared("s").participants.count }

    @Test func `A retried accept has the first result and does not undo leaving`() async throws {
        let link = try await link()
        let first = try await accept(link, "1")
        #expect(try await partners() == 2)
        #expect(try await accept(link, "1") == first)
        _ = try await leave(bob.zone, request: nil).deletions[0].get()
        // The retry of what was done is not done again, whatever happened since.
        #expect(try await accept(link, "1") == first)
        #expect(try await partners() == 1)
        #expect(try await store.zones(as: bob.caller).isEmpty)
        try await anna.modify([], delete: [RecordDeletion(anna.id("s"))])
        #expect(try await accept(link, "1") == first, "the link leads nowhere any more")
        #expect(try await accept(try await self.link("t"), "2").recordID == bob.id("t"))
    }

    @Test func `A request ID is unique across all share requests of a user`() async throws {
        let link = try await link()
        _ = try await accept(link, "1")
        let other = try await self.link("t")
        #expect(await refusal { try await accept(other, "1") } == .invalidArguments)
        let save = await #expect(throws: SyncError.self) {
            try await bob.modify([try bob.node("leaf", ["n": 2])], request: "1")
        }
        #expect(save?.code == .invalidArguments)
        let asked = await #expect(throws: SyncError.self) {
            var caller = bob.caller
            caller.requestID = "1"
            try await store.requestShareAccess(link, as: caller)
        }
        #expect(asked?.code == .invalidArguments)
        // In the caller's own database the call is the same; somebody else's id is another.
        var own = bob.caller
        own.database = DatabaseID(owner: UserID("_bob"))
        own.requestID = "1"
        #expect(try await store.acceptShare(link, as: own).recordID == bob.id("s"))
        var dan = world.guest("dan").caller
        dan.requestID = "1"
        _ = try await store.acceptShare(link, as: dan)
        #expect(try await partners() == 3)
    }

    @Test func `A rejected request is decided again`() async throws {
        var closed = try anna.share("s", of: "root")
        try await anna.modify([closed])
        let link = try await link()
        #expect(await refusal { try await accept(link, "1") } == .permissionFailure)
        closed.share?.publicPermission = .readOnly
        try await anna.modify([closed])
        _ = try await accept(link, "1")
        #expect(try await partners() == 2)
    }

    @Test func `A lost result is returned again, also after a restart`() async throws {
        let service = FaultyService(store)
        service.loseNextAnswer(to: .other)
        var caller = bob.caller
        caller.requestID = "1"
        let link = try await link()
        await #expect(throws: SyncError.self) { try await service.acceptShare(link, as: caller) }
        let last = store.lastSequence
        let answer = try await service.acceptShare(link, as: caller)
        #expect(store.lastSequence == last)
        #expect(answer.share?.participants.count == 2)
        try store.close()
        let reopened = try Store.open(at: world.folder.path(), access: .writing)
        let again = try await reopened.acceptShare(link, as: caller)
        #expect(again.body == answer.body)
        #expect(reopened.lastSequence == last)
        try reopened.close()
    }

    @Test func `A retried leave has the first result and does not leave twice`() async throws {
        let (hers, link) = try await shareOfCarol()
        for link in [try await self.link(), try await self.link("t"), link] {
            _ = try await accept(link, nil)
        }
        let missing = ZoneID(zoneName: "Gone", ownerName: "_carol")
        let start = store.lastSequence
        let first = try await leave(bob.zone, missing, hers, request: "1")
        #expect(first.deletions.map { $0.error?.code } == [nil, .zoneNotFound, nil])
        #expect(try await store.zones(as: bob.caller).isEmpty)
        var commits: Set<String> = []
        try store.visitCommits(from: start.next) { line in
            commits.insert("\(line.time) \(line.requestID ?? "none")")
            return true
        }
        #expect(commits.count == 1, "all of it is one commit, a line for each database")
        _ = try await accept(link, nil)
        let last = store.lastSequence
        #expect(try await leave(bob.zone, missing, hers, request: "1") == first)
        #expect(store.lastSequence == last)
        #expect(try await store.zones(as: bob.caller).map(\.zoneID) == [hers])
        #expect(await refusal { try await leave(hers, request: "1") } == .invalidArguments)
        #expect(try await leave(hers, request: "2").deletions[0].error == nil)
        #expect(await refusal { try await leave(hers, hers, request: nil) } == .invalidArguments)
    }

    @Test func `A retried access request has the first result`() async throws {
        var save = try anna.share("s", of: "root")
        save.share?.allowsAccessRequests = true
        _ = try await anna.modify([save]).saves[0].get()
        let link = try await link()
        var caller = bob.caller
        caller.requestID = "1"
        try await store.requestShareAccess(link, as: caller)
        #expect(try await anna.shared("s").requesters == [UserID("_bob")])
        save.share?.requesters = []
        _ = try await anna.modify([save]).saves[0].get()
        let requesters = try await anna.shared("s").requesters
        try await store.requestShareAccess(link, as: caller)
        #expect(try await anna.shared("s").requesters == requesters)
    }

    @Test func `An export can be imported with its request IDs`() async throws {
        let (hers, link) = try await shareOfCarol()
        for (link, request) in [(try await self.link(), "1"), (link, "2")] {
            _ = try await accept(link, request)
        }
        _ = try await leave(bob.zone, hers, request: "3")
        _ = try await accept(link, "4")
        let lines = try store.commits()
        let other = try Store.open(at: world.folder.path("other.tide"), access: .creating)
        try await other.importLines(lines)
        #expect(try await other.zones(as: bob.caller).map(\.zoneID) == [hers])
        try other.close()
    }
}
