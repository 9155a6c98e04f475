// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import Tidemark
import TidemarkLog
import TidemarkModel

/// Saving, listing and deleting subscriptions.
@Suite struct SubscriptionStoreTests {
    let folder: ScratchFolder
    let anna: Client
    var store: Store { anna.store }

    init() async throws {
        folder = try ScratchFolder()
        anna = try await Client(ofNewStoreIn: folder)
    }

    private func query(
        _ id: String,
        _ predicate: Query.Predicate = .always,
        _ options: Subscription.Options = [.create, .update, .delete]
    ) -> Subscription {
        Subscription(id, .query(.init(recordType: "Note", predicate: predicate, options: options)))
    }

    private var everything: [Subscription] {
        var content = NotificationContent()
        content.alert = .init("Body", localizationKey: "KEY", localizationArguments: ["text"])
        content.title = .init("Title")
        content.subtitle = .init(localizationKey: "SUB", localizationArguments: ["n", "text"])
        content.actionLocalizationKey = "OPEN"
        content.launchImage = "image"
        content.soundName = "ping"
        content.category = "category"
        content.collapseID = "collapse"
        content.desiredKeys = ["text", "n"]
        content.badges = true
        content.isContentAvailable = true
        content.isMutable = true
        let predicate = Query.Predicate.or([
            .compare("n", .in, .value(.int64List([1, 2]))),
            .not(.compare("text", .beginsWith, "é\"", options: .caseInsensitive)),
        ])
        let inZone = Subscription.RecordQuery(
            recordType: "Note",
            predicate: predicate,
            options: [.create, .once],
            zone: anna.zone
        )
        return [
            Subscription("all/of it %", .query(inZone), content: content),
            Subscription("database", .database(recordType: "Note")),
            query("plain"),
            Subscription("zone", .zone(anna.zone)),
        ]
    }

    @Test func `Saved subscriptions are listed after a restart and read-only`() async throws {
        let request = ModifySubscriptionsRequest(saves: everything)
        let result = try await store.modifySubscriptions(request, as: anna.caller)
        #expect(try result.saves.map { try $0.get() } == everything)
        #expect(try await store.subscriptions(as: anna.caller) == everything)
        let fetched = try await store.fetchSubscriptions(["zone", "none"], as: anna.caller)
        #expect(try fetched[0].get() == everything[3])
        #expect(fetched[1].error?.code == .unknownItem)
        try store.close()
        let reader = try Store.open(at: folder.path(), access: .reading)
        #expect(try await reader.subscriptions(as: anna.caller) == everything)
        let again = try Store.open(at: folder.path(), access: .writing)
        #expect(try await again.subscriptions(as: anna.caller) == everything)
        try again.close()
    }

    @Test func `Subscriptions belong to a user in a database`() async throws {
        try await anna.subscribe(query("a"))
        let bob = anna.client("_bob")
        let annasOwn = anna.client(in: DatabaseID(owner: UserID("_anna")))
        let production = anna.client(in: DatabaseID(environment: .production))
        for other in [bob, annasOwn, production] {
            #expect(try await store.subscriptions(as: other.caller).isEmpty)
        }
        try await bob.subscribe(query("a", .compare("n", .equal, 1)))
        #expect(try await store.subscriptions(as: anna.caller) == [query("a")])
        try await bob.unsubscribe("a")
        #expect(try await store.subscriptions(as: anna.caller) == [query("a")])
        #expect(try await store.subscriptions(as: anna.client().caller) == [query("a")])
    }

    @Test func `An existing ID replaces, and an equal subscription changes nothing`() async throws {
        try await anna.subscribe(query("a"))
        let before = store.lastSequence
        try await anna.subscribe(query("a"))
        #expect(store.lastSequence == before)
        let other = query("a", .compare("n", .equal, 1))
        try await anna.subscribe(other)
        #expect(try await store.subscriptions(as: anna.caller) == [other])
        try await anna.unsubscribe("a", "never there")
        #expect(try await store.subscriptions(as: anna.caller).isEmpty)
    }

    @Test func `Two subscriptions with equal queries are rejected`() async throws {
        try await anna.subscribe(query("a"))
        let error = try await anna.refusal(of: query("b"))
        #expect(error?.code == .serverRejectedRequest)
        #expect(error?.message.hasPrefix("subscription is duplicate of 'a'") == true)
        // Another set of events, another filter, another user.
        try await anna.subscribe(query("b", .always, [.create]))
        try await anna.subscribe(query("c", .compare("n", .equal, 1)))
        try await anna.client("_bob").subscribe(query("b"))
        // What the same request deletes is not in the way.
        let request = ModifySubscriptionsRequest(saves: [query("d")], deletions: ["a"])
        let result = try await store.modifySubscriptions(request, as: anna.caller)
        #expect(result.saves[0].error == nil)
        #expect(try await store.subscriptions(as: anna.caller).map(\.id) == ["b", "c", "d"])
    }

    @Test func `A zone of subscriptions is the same however its owner is written`() async throws {
        var anna = anna
        anna.caller.database = DatabaseID(owner: UserID("_anna"))
        try await anna.createZone()
        func inNotes(_ id: String, ownerName: String) -> Subscription {
            let zone = ZoneID(zoneName: "Notes", ownerName: ownerName)
            return Subscription(id, .query(.init(recordType: "Note", zone: zone)))
        }
        try await anna.subscribe(inNotes("a", ownerName: ZoneID.currentOwner))
        let error = try await anna.refusal(of: inNotes("b", ownerName: "_anna"))
        #expect(error?.code == .serverRejectedRequest)
    }

    @Test func `The error of each item names its subscription`() async throws {
        let request = ModifySubscriptionsRequest(
            saves: [
                query("good"), query("same"), Subscription("lost", .zone(ZoneID(zoneName: "No"))),
            ],
            deletions: ["none"]
        )
        let result = try await store.modifySubscriptions(request, as: anna.caller)
        let error = try #require(result.partialFailure(of: request))
        #expect(error.code == .partialFailure)
        #expect(error.partialErrors.map(\.item) == [.subscription("same"), .subscription("lost")])
        #expect(error.partialErrors.map(\.error.code) == [.serverRejectedRequest, .zoneNotFound])
        let rest = ModifySubscriptionsRequest(deletions: ["good", "same"])
        let done = try await store.modifySubscriptions(rest, as: anna.caller)
        #expect(done.partialFailure(of: rest) == nil)
    }

    @Test func `Items fail separately, and invalid requests fail as a whole`() async throws {
        let silent = query("silent", .always, [.once])
        let request = ModifySubscriptionsRequest(saves: [silent, query("a")])
        let result = try await store.modifySubscriptions(request, as: anna.caller)
        #expect(result.saves.map(\.error?.code) == [.invalidArguments, nil])
        func thrown(_ request: ModifySubscriptionsRequest, _ caller: Caller) async -> SyncError? {
            do throws(SyncError) {
                _ = try await store.modifySubscriptions(request, as: caller)
                return nil
            } catch {
                return error
            }
        }
        let twice = ModifySubscriptionsRequest(saves: [query("x")], deletions: ["x"])
        #expect(await thrown(twice, anna.caller)?.code == .invalidArguments)
        let many = ModifySubscriptionsRequest(deletions: (0...400).map { "\($0)" })
        #expect(await thrown(many, anna.caller)?.code == .limitExceeded)
        var nobody = anna.caller
        nobody.user = nil
        nobody.database = DatabaseID(scope: .public)
        #expect(await thrown(ModifySubscriptionsRequest(), nobody)?.code == .notAuthenticated)
        await #expect(throws: SyncError.self) { try await store.subscriptions(as: nobody) }
        let stranger = anna.client("_bob", in: DatabaseID(owner: UserID("_anna")))
        #expect(
            await thrown(ModifySubscriptionsRequest(), stranger.caller)?.code == .permissionFailure
        )
    }

    @Test func `A subscription's zone must exist and support it`() async throws {
        let gone = ZoneID(zoneName: "Gone")
        #expect(try await anna.refusal(of: Subscription("z", .zone(gone)))?.code == .zoneNotFound)
        let inGone = Subscription.RecordQuery(recordType: "Note", zone: gone)
        #expect(
            try await anna.refusal(of: Subscription("q", .query(inGone)))?.code == .zoneNotFound
        )
        let inDefault = Subscription.RecordQuery(recordType: "Note", zone: .default)
        #expect(try await anna.refusal(of: Subscription("q", .query(inDefault))) == nil)
        let publicly = anna.client(in: DatabaseID(scope: .public))
        #expect(
            try await publicly.refusal(of: Subscription("z", .zone(gone)))?.code == .badDatabase
        )
        let system = Subscription("z", .zone(ZoneID(zoneName: "_notifications")))
        #expect(try await anna.refusal(of: system)?.code == .invalidArguments)
    }

    @Test func `A retried request gets its first result`() async throws {
        var caller = anna.caller
        caller.requestID = "once"
        let silent = query("silent", .always, [.once])
        let request = ModifySubscriptionsRequest(saves: [query("a"), silent])
        let first = try await store.modifySubscriptions(request, as: caller)
        try await anna.unsubscribe("a")
        let before = store.lastSequence
        #expect(try await store.modifySubscriptions(request, as: caller) == first)
        #expect(store.lastSequence == before)
        #expect(try await store.subscriptions(as: caller).isEmpty)
        let other = ModifySubscriptionsRequest(saves: [query("b")])
        await #expect(throws: SyncError.self) {
            try await store.modifySubscriptions(other, as: caller)
        }
    }

    @Test func `Clients can neither see nor name the zones of the store`() async throws {
        let token = try await store.databaseChanges(.init(), as: anna.caller).token
        try await anna.subscribe(query("a"))
        try await anna.client().modify([try anna.save("r", ["n": 1])])
        #expect(try await anna.summary() == ["a query created r"])
        #expect(
            try await store.zones(as: anna.caller).map(\.zoneID.zoneName)
                == ["Notes", "_defaultZone"]
        )
        let changes = try await store.databaseChanges(.init(since: token), as: anna.caller)
        #expect(changes.changes.map(\.zone.zoneName) == ["Notes"])
        for name in ["_subscriptions", "_notifications", "_notified"] {
            var client = anna
            client.zone = ZoneID(zoneName: name)
            #expect(try await client.fetch("a")[0].error?.code == .invalidArguments)
            #expect(
                try await client.modify([try client.save("a", ["n": 1])]).saves[0].error?.code
                    == .invalidArguments
            )
        }
        #expect(try store.figures().zoneCount == 1)
    }

    // MARK: The schema

    @Test func `In development, a type may be created later, with its indexes`() async throws {
        try await anna.subscribe(query("early", .compare("later", .equal, 1)))
        try await anna.put("a", ["n": 1])
        #expect(try store.schema()["Note"]?["___recordID"]?.indexes.isEmpty == true)
        try await anna.subscribe(query("all"))
        #expect(try store.schema()["Note"]?["___recordID"]?.indexes == .queryable)
        let error = try await anna.refusal(of: query("bad", .compare("n", .equal, "text")))
        #expect(error?.code == .invalidArguments)
        #expect(error?.message.contains("holds INT64 and is compared with STRING") == true)
        var content = NotificationContent()
        content.desiredKeys = ["raw"]
        try await anna.put("b", ["raw": .bytes([1])])
        var bringing = query("raw", .compare("n", .equal, 2))
        bringing.content = content
        #expect(try await anna.refusal(of: bringing)?.message.contains("cannot carry") == true)
    }

    @Test func `In production, missing types and indexes are rejected`() async throws {
        try await anna.put("a", ["n": 1, "text": "x"])
        try await store.promoteSchema()
        let released = anna.client(in: DatabaseID(environment: .production))
        try await released.createZone()
        func error(_ subscription: Subscription) async throws -> SyncError? {
            try await released.refusal(of: subscription)
        }
        #expect(try await error(query("n", .compare("n", .equal, 1))) == nil)
        let unknown = Subscription("t", .query(.init(recordType: "Task")))
        #expect(try await error(unknown)?.code == .unknownItem)
        let field = try await error(query("f", .compare("other", .equal, 1)))
        #expect(field?.message == "Unknown field 'other' for type 'Note'.")
        let index = try await error(query("all"))
        #expect(index?.code == .invalidArguments)
        #expect(index?.message.contains("is not marked queryable.") == true)
        var bringing = query("k", .compare("n", .equal, 2))
        bringing.content.desiredKeys = ["other"]
        #expect(try await error(bringing)?.message == "Unknown field 'other' for type 'Note'.")
        // Once development has it, it can be promoted.
        try await anna.subscribe(query("all"))
        try await store.promoteSchema()
        #expect(try await error(query("all")) == nil)
    }

    @Test func `A strict store rejects what CloudKit does not support`() async throws {
        try store.close()
        var options = StoreOptions()
        options.isStrict = true
        let strict = try Store.open(at: folder.path(), access: .writing, options: options)
        let client = Client(store: strict)
        try await client.put("a", ["n": 1])
        let either = Query.Predicate.or([.compare("n", .equal, 1), .compare("n", .equal, 2)])
        #expect(
            try await client.refusal(of: query("or", either))?.message
                .hasPrefix("CloudKit does not support OR") == true
        )
        let unknown = Subscription("t", .query(.init(recordType: "Task")))
        #expect(try await client.refusal(of: unknown)?.code == .unknownItem)
        #expect(try await client.refusal(of: query("n", .compare("n", .equal, 1))) == nil)
        try strict.close()
    }

    // MARK: Export and import

    @Test func `An export contains subscriptions and notifications`() async throws {
        try await anna.subscribe(everything[0], everything[1], query("plain"))
        let bob = anna.client("_bob", on: nil)
        try await bob.subscribe(query("bobs"))
        try await anna.modify([try anna.save("r", ["n": 1, "text": "x"])])
        // Also a subscription that has ended by firing.
        #expect(try await bob.summary() == ["bobs query created r"])
        let laptop = anna.client()
        let heard = try await laptop.heard().notifications
        #expect(
            Set(heard.map(\.summary)) == [
                "all/of it % query created r", "plain query created r", "database database",
            ]
        )
        let copyFolder = try ScratchFolder()
        let copy = try Store.open(at: copyFolder.path(), access: .creating)
        let lines = try store.commits()
        try await copy.importLines(lines)
        try await copy.waitUntilNotified()
        var there = laptop
        there = Client(store: copy, caller: laptop.caller, zone: laptop.zone)
        #expect(try await copy.subscriptions(as: there.caller) == [everything[1], query("plain")])
        #expect(
            Set(try await there.heard().notifications.map(\.summary)) == Set(heard.map(\.summary))
        )
        // The copy goes on by itself, without telling again what was told.
        try await Client(store: copy).modify([
            try anna.save("r", ["n": 2], policy: .changedKeys)
        ])
        #expect(
            try await there.summary().filter { $0.contains("updated") } == ["plain query updated r"]
        )
        // And what was imported is passed over the next time.
        var again = try copy.beginImport()
        for line in lines { #expect(try await again.add(line) == .skipped) }
        try copy.close()
    }

    @Test func `An import rejects an invalid subscription`() async throws {
        let zone = ZoneID(zoneName: "_subscriptions")
        func error(_ name: String, _ fields: Fields, _ zone: ZoneID) async throws -> SyncError? {
            var stream = try store.beginImport()
            let change = ChangeStreamLine.Change.save(
                recordID: RecordID(recordName: name, zone: zone),
                recordType: "Subscription",
                fields: fields
            )
            do throws(SyncError) {
                _ = try await stream.add(
                    ChangeStreamLine(time: 1, user: UserID("_anna"), changes: [change])
                )
                return nil
            } catch {
                return error
            }
        }
        let empty = try await error("a", try Fields(["n": 1]), zone)
        #expect(empty?.code == .invalidArguments)
        #expect(empty?.message.contains("is not a subscription") == true)
        let position = try await error("position", Fields(), ZoneID(zoneName: "_notified"))
        #expect(position?.code == .invalidArguments)
    }
}
