// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing
import TidemarkLog
import TidemarkModel

@testable import Tidemark

/// What somebody hears who subscribed to their shared database.
@Suite struct SharedNotificationTests {
    let world: SharingWorld
    let bob: Client
    var anna: Client { world.anna }
    var store: Store { world.store }

    init() async throws {
        world = try await SharingWorld()
        bob = world.guest("bob")
        let saved = try await world.anna.modify([
            try world.anna.node("root"), try world.anna.node("leaf", under: "root"),
            try world.anna.node("other"),
        ])
        for save in saved.saves { _ = try save.get() }
        let share = try world.anna.share("s", of: "root", with: [("bob", .readWrite)])
        _ = try await world.anna.modify([share]).saves[0].get()
        try await bob.accept("s", of: world.anna)
        try await bob.subscribe(
            Subscription("shared", .database()),
            Subscription("tasks", .database(recordType: "Task"))
        )
    }

    @Test func `A participant is notified only of changes to shared records`() async throws {
        let carol = world.guest("carol")
        try await carol.subscribe(Subscription("hers", .database()))
        var token = try await bob.heard().token
        func news() async throws -> [String] {
            let heard = try await bob.heard(since: token)
            token = heard.token
            return heard.notifications.map(\.summary)
        }
        #expect(try await news().isEmpty)
        _ = try await anna.modify([try anna.node("other", ["n": 2])]).saves[0].get()
        #expect(try await news().isEmpty)
        _ = try await anna.modify([try anna.node("leaf", under: "root", ["n": 2])]).saves[0].get()
        #expect(try await news() == ["shared database"])
        // Not changed itself, but under the share now; then no longer.
        _ = try await anna.modify([try anna.node("other", under: "leaf")]).saves[0].get()
        #expect(try await news() == ["shared database"])
        _ = try await anna.modify([], delete: [RecordDeletion(anna.id("other"))])
        #expect(try await news() == ["shared database"])
        // His own changes reach his other devices, and their owner.
        try await anna.subscribe(Subscription("zone", .zone(anna.zone)))
        _ = try await bob.modify([try bob.node("leaf", ["n": 3])]).saves[0].get()
        #expect(try await news().isEmpty)
        #expect(try await bob.client("_bob", on: "laptop").heard().notifications.count == 2)
        #expect(try await anna.summary() == ["zone zone Notes"])
        #expect(try await carol.summary().isEmpty)
    }

    @Test func `A removed participant is notified of the removal and not later`() async throws {
        let token = try await bob.heard().token
        _ = try await anna.modify([try anna.share("s", of: "root")]).saves[0].get()
        let heard = try await bob.heard(since: token)
        #expect(heard.notifications.map(\.summary) == ["shared database"])
        _ = try await anna.modify([try anna.node("leaf", under: "root", ["n": 2])]).saves[0].get()
        #expect(try await bob.heard(since: heard.token).notifications.isEmpty)
    }

    @Test func `Participations that change while nobody subscribes are known afterwards`()
        async throws
    {
        try await anna.modify([try anna.share("t", of: "other", with: [("bob", .readWrite)])])
        _ = try await anna.modify([try anna.node("leaf", under: "root", ["n": 2])]).saves[0].get()
        #expect(try await bob.heard().notifications.count == 1)
        // The store's only subscriptions. Nobody reads what follows.
        try await bob.unsubscribe("shared", "tasks")
        _ = try await anna.modify([try anna.share("s", of: "root")]).saves[0].get()
        try await bob.accept("t", of: anna)
        try await bob.subscribe(Subscription("again", .database()))
        let token = try await bob.heard().token
        _ = try await anna.modify([try anna.node("leaf", under: "root", ["n": 3])]).saves[0].get()
        #expect(try await bob.heard(since: token).notifications.isEmpty, "he was removed")
        _ = try await anna.modify([try anna.node("other", ["n": 3])]).saves[0].get()
        #expect(
            try await bob.heard(since: token).notifications.map(\.summary) == ["again database"]
        )
    }

    @Test
    func `A subscription with a reused ID gets no notification of its predecessor`() async throws {
        try await world.guest("dave").subscribe(Subscription("his", .database()))
        let home = DatabaseID(owner: UserID("_carol"))
        let carol = anna.client("_carol", in: home)
        _ = try await anna.modify([try anna.node("leaf", under: "root", ["n": 2])]).saves[0].get()
        try await bob.unsubscribe("shared", "tasks")
        try await carol.subscribe(
            Subscription("hers", .database()),
            Subscription("tasks", .database(recordType: "Task"))
        )
        _ = try await anna.modify([try anna.node("leaf", under: "root", ["n": 3])]).saves[0].get()
        // All of it in one reading, as after a time without a notifier.
        let notifications = try store.parts.notifications
        let picture = try notifications.reader.picture(.visible)
        var reading = EventReading(Following(position: 0), notifications, picture)
        try reading.read(through: store.lastSequence, eventLimit: .max, notificationLimit: .max)
        #expect(reading.batch.groups.map(\.collection.owner) == [UserID("_bob")])
    }

    /// Lets what happens from here on be looked at in one go, when somebody waits for it.
    private func holdUpNotifier() async throws {
        try await store.waitUntilNotified()
        try store.parts.notifications.notifier().wakeup.arm(false)
    }

    @Test
    func `Notifications of a change depend on its time, not on when they are made`() async throws {
        let carol = world.guest("carol")
        try await carol.subscribe(Subscription("hers", .database()))
        let invited = [("bob", SharePermission.readWrite), ("carol", .readOnly)]
        _ = try await anna.modify([try anna.share("s", of: "root", with: invited)])
        let token = try await bob.heard().token
        try await holdUpNotifier()
        let task = RecordSave(
            anna.id("task"),
            type: "Task",
            fields: try Fields(["n": 1]),
            parent: .set("leaf")
        )
        _ = try await anna.modify([task]).saves[0].get()
        // Bob saw that, and then no more; Carol sees it from here on.
        let left = [("carol", SharePermission.readOnly)]
        _ = try await anna.modify([try anna.share("s", of: "root", with: left)]).saves[0].get()
        try await carol.accept("s", of: anna)
        let heard = try await bob.heard(since: token).notifications.map(\.summary).sorted()
        #expect(heard == ["shared database", "tasks database"])
        #expect(try await carol.summary().isEmpty)
    }

    @Test func `A subscription created during notification gets only later changes`() async throws {
        let carol = world.guest("carol")
        let invited = [("bob", SharePermission.readWrite), ("carol", .readOnly)]
        _ = try await anna.modify([try anna.share("s", of: "root", with: invited)]).saves[0].get()
        try await carol.accept("s", of: anna)
        try await holdUpNotifier()
        _ = try await anna.modify([try anna.node("leaf", ["n": 2])]).saves[0].get()
        try await carol.subscribe(Subscription("hers", .database()))
        try store.parts.notifications.notifier().wakeup.arm(false)
        _ = try await anna.modify([try anna.node("leaf", ["n": 3])]).saves[0].get()
        #expect(try await carol.summary() == ["hers database"])
    }
}
