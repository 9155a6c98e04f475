// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import Tidemark
import TidemarkLog
import TidemarkModel

/// What subscriptions come to.
@Suite struct NotificationTests {
    let folder: ScratchFolder
    let store: Store
    /// Makes the changes.
    let phone: Client
    /// Hears of them.
    let laptop: Client

    init() async throws {
        folder = try ScratchFolder()
        store = try Store.open(at: folder.path(), access: .creating)
        phone = Client(store: store)
        laptop = phone.client(on: "laptop")
        try await phone.createZone()
    }

    private func put(_ name: String, _ fields: KeyValuePairs<String, FieldValue?>) async throws {
        let save = try phone.save(name, fields, policy: .changedKeys)
        _ = try await phone.modify([save]).saves[0].get()
    }

    private func delete(_ name: String) async throws {
        _ = try await phone.modify([], delete: [RecordDeletion(phone.id(name))]).deletions[0].get()
    }

    // MARK: What fires

    @Test func `A predicate applies to the new version, or the deleted one`() async throws {
        try await laptop.subscribe("open", where: .compare("done", .equal, 0))
        try await put("a", ["done": 0])
        try await put("b", ["done": 1])
        try await put("b", ["done": 0])
        try await put("a", ["done": 1])
        try await delete("a")
        try await delete("b")
        try await put("b", ["done": 0])
        #expect(
            try await laptop.summary() == [
                "open query created a", "open query updated b", "open query deleted b",
                "open query created b",
            ]
        )
    }

    @Test func `Only events of the chosen kind, type and zone fire`() async throws {
        let other = ZoneID(zoneName: "Other")
        _ = try await store.modifyZones(.init(saves: [other]), as: phone.caller)
        try await laptop.subscribe("created", on: [.create])
        try await laptop.subscribe("deleted", on: [.delete])
        try await laptop.subscribe("tasks", to: "Task")
        try await laptop.subscribe("other", in: other)
        try await put("a", ["n": 1])
        try await put("a", ["n": 2])
        var elsewhere = phone
        elsewhere.zone = other
        try await elsewhere.modify([try elsewhere.save("b", ["n": 1])])
        try await elsewhere.modify([try elsewhere.save("t", ["n": 1], type: "Task")])
        try await delete("a")
        #expect(
            try await laptop.summary() == [
                "created query created a", "created query created b", "other query created b",
                "tasks query created t", "deleted query deleted a",
            ]
        )
    }

    @Test func `Changes before a subscription and after its end are not reported`() async throws {
        try await put("a", ["n": 1])
        try await laptop.subscribe("late")
        try await put("b", ["n": 1])
        #expect(try await laptop.summary() == ["late query created b"])
        // Nor what came after.
        try await laptop.unsubscribe("late")
        try await put("c", ["n": 1])
        #expect(try await laptop.summary() == ["late query created b"])
    }

    @Test func `A predicate may use the current user and the time`() async throws {
        let mine = Query.Predicate.compare("creatorUserRecordID", .equal, "__defaultOwner__")
        try await laptop.subscribe("mine", where: mine)
        try await laptop.subscribe("due", where: .compare("due", .lessThan, .now))
        try await laptop.subscribe("words", where: .words(Query.WordSearch("milk")), on: [.create])
        try await put("a", ["due": .timestamp(1), "text": "Fresh milk"])
        let bob = phone.client("_bob")
        try await bob.modify([try bob.save("b", ["due": .timestamp(.max), "text": "tea"])])
        #expect(
            Set(try await laptop.summary()) == [
                "mine query created a", "due query created a", "words query created a",
            ]
        )
    }

    @Test func `A cascade is reported like other deletions`() async throws {
        try await laptop.subscribe("all", on: [.delete])
        try await put("a", ["n": 1])
        let link = Reference(recordName: "a", action: .deleteSelf)
        try await put("b", ["link": .reference(link)])
        try await delete("a")
        #expect(Set(try await laptop.summary()) == ["all query deleted a", "all query deleted b"])
    }

    // MARK: Who hears

    @Test func `A device is not notified of its own changes`() async throws {
        try await laptop.subscribe("all")
        let nameless = phone.client(on: nil)
        try await put("a", ["n": 1])
        try await laptop.modify([try laptop.save("b", ["n": 1])])
        try await nameless.modify([try nameless.save("c", ["n": 1])])
        try await phone.client("_bob", on: "phone").modify([try phone.save("d", ["n": 1])])
        func heard(_ client: Client) async throws -> [String] {
            try await client.heard().notifications.compactMap(\.recordID?.recordName)
        }
        #expect(try await heard(phone) == ["b", "c", "d"])
        #expect(try await heard(laptop) == ["a", "c", "d"])
        #expect(try await heard(nameless) == ["a", "b", "d"])
        #expect(try await heard(phone.client("_bob")).isEmpty)
    }

    @Test func `Only the owner is notified of changes in a private database`() async throws {
        let own = DatabaseID(owner: UserID("_anna"))
        let annas = phone.client(on: "phone", in: own)
        try await annas.createZone()
        let hers = laptop.client(in: own)
        try await hers.subscribe("hers")
        try await laptop.subscribe("common")
        try await annas.modify([try annas.save("a", ["n": 1])])
        #expect(try await hers.summary() == ["hers query created a"])
        // All of a user's notifications in an environment are one collection.
        #expect(try await laptop.summary() == ["hers query created a"])
        let released = laptop.client(in: DatabaseID(environment: .production))
        #expect(try await released.summary().isEmpty)
    }

    @Test func `In the public database, roles determine who is notified`() async throws {
        let everybody = DatabaseID(scope: .public)
        let schema = try SchemaFile(
            """
            DEFINE SCHEMA
                RECORD TYPE Note (n INT64 QUERYABLE, GRANT READ, WRITE TO "_creator",
                    GRANT CREATE TO "_icloud");
                RECORD TYPE News (n INT64 QUERYABLE, GRANT READ TO "_world",
                    GRANT CREATE TO "_icloud");
            """
        ).schema
        try await store.importSchema(schema)
        var anna = laptop.client(in: everybody)
        anna.zone = .default
        var bob = anna.client("_bob", on: "tablet")
        bob.zone = .default
        for client in [anna, bob] {
            try await client.subscribe("notes", where: .compare("n", .greaterThan, 0))
            try await client.subscribe("news", to: "News", where: .compare("n", .equal, 1))
        }
        var writer = bob.client("_bob", on: "watch")
        writer.zone = .default
        _ = try await writer.modify([
            try writer.save("secret", ["n": 1]), try writer.save("news", ["n": 1], type: "News"),
        ]).saves.map { try $0.get() }
        _ = try await writer.modify([], delete: [RecordDeletion(writer.id("secret"))])
        #expect(try await anna.summary() == ["news query created news"])
        #expect(
            try await bob.summary() == [
                "notes query created secret", "news query created news",
                "notes query deleted secret",
            ]
        )
    }

    @Test func `Imported changes are not reported`() async throws {
        try await laptop.subscribe("all")
        var stream = try store.beginImport()
        let change = ChangeStreamLine.Change.save(
            recordID: phone.id("a"),
            recordType: "Note",
            fields: try Fields(["n": 1])
        )
        _ = try await stream.add(ChangeStreamLine(time: 1, user: UserID("_bob"), changes: [change]))
        try await stream.finish()
        try await put("b", ["n": 1])
        #expect(try await laptop.summary() == ["all query created b"])
    }

    // MARK: What it brings along

    @Test func `Notifications contain fields, truncated and where possible`() async throws {
        var content = NotificationContent()
        content.desiredKeys = ["text", "n", "gone"]
        content.alert = .init(localizationKey: "KEY", localizationArguments: ["n", "text", "gone"])
        content.isContentAvailable = true
        try await laptop.subscribe("all", content: content)
        let long = String(repeating: "é", count: 150)
        try await put("a", ["text": .string(long), "n": 7, "other": 1])
        let heard = try #require(try await laptop.heard().notifications.first)
        let cut = String(repeating: "é", count: 100)
        #expect(heard.fields == (try Fields(["text": .string(cut), "n": 7])))
        #expect(heard.content.alert.localizationArguments == ["7", cut, ""])
        #expect(heard.recordID == phone.id("a"))
        #expect(heard.scope == .private)
        #expect(heard.container == .standard)
        #expect(heard.user == UserID("_anna"))
        #expect(heard.priority == .high)
        #expect(heard.content.isContentAvailable)
        #expect(!heard.isPruned)
        // Of a deletion it is the last version.
        try await delete("a")
        let last = try #require(try await laptop.heard().notifications.last)
        #expect(last.reason == .deleted)
        #expect(last.fields == heard.fields)
    }

    // MARK: Once

    @Test func `A subscription that fires once ends with its first notification`() async throws {
        try await laptop.subscribe("once", on: [.update, .once])
        try await put("a", ["n": 1])
        #expect(try await laptop.summary().isEmpty)
        #expect(try await store.subscriptions(as: laptop.caller).count == 1)
        try await put("a", ["n": 2])
        try await put("a", ["n": 3])
        #expect(try await laptop.summary() == ["once query updated a"])
        #expect(try await store.subscriptions(as: laptop.caller).isEmpty)
        // Saved anew it fires anew.
        try await laptop.subscribe("once", on: [.update, .once])
        try await put("a", ["n": 4])
        #expect(try await laptop.summary().count == 2)
    }

    // MARK: Zones and databases

    @Test func `Changes of a zone are one notification until it is fetched`() async throws {
        try await laptop.subscribe(
            Subscription("zone", .zone(phone.zone)),
            Subscription("notes", .zone(phone.zone, recordType: "Note")),
            Subscription("base", .database())
        )
        for number in 0..<5 {
            try await put("a\(number)", ["n": 1])
            try await store.waitUntilNotified()
        }
        try await phone.modify([try phone.save("t", ["n": 1], type: "Task")])
        let (first, token) = try await laptop.heard()
        #expect(
            Set(first.map(\.summary)) == ["zone zone Notes", "notes zone Notes", "base database"]
        )
        #expect(first.count == 3)
        #expect(try await laptop.summary(since: token).isEmpty)
        try await put("a0", ["n": 2])
        #expect(try await laptop.heard(since: token).notifications.count == 3)
        // The client that made the changes hears nothing, nor does it hear of the laptop's own.
        #expect(try await phone.summary().isEmpty)
        try await laptop.modify([try laptop.save("l", ["n": 1])])
        #expect(try await phone.heard().notifications.count == 3)
        #expect(try await laptop.heard().notifications.count == 3)
    }

    @Test func `A database subscription covers creation and deletion of zones`() async throws {
        try await laptop.subscribe(
            Subscription("base", .database()),
            Subscription("tasks", .database(recordType: "Task"))
        )
        var token = try await laptop.heard().token
        func news() async throws -> [String] {
            let heard = try await laptop.heard(since: token)
            token = heard.token
            return heard.notifications.map(\.summary)
        }
        var plain = phone
        plain.zone = .default
        try await plain.modify([try plain.save("d", ["n": 1], type: "Task")])
        #expect(try await news().isEmpty)
        let zone = ZoneID(zoneName: "New")
        _ = try await store.modifyZones(.init(saves: [zone]), as: phone.caller)
        #expect(try await news() == ["base database"])
        try await put("t", ["n": 1])
        #expect(try await news() == ["base database"])
        _ = try await store.modifyZones(.init(deletions: [zone]), as: phone.caller)
        #expect(try await news() == ["base database"])
    }

    @Test func `Deleting a zone deletes its subscriptions`() async throws {
        try await laptop.subscribe(
            Subscription("zone", .zone(phone.zone)),
            Subscription("notes", .zone(phone.zone, recordType: "Note"))
        )
        try await laptop.subscribe("inside", in: phone.zone)
        try await laptop.subscribe("anywhere", on: [.create])
        _ = try await store.modifyZones(.init(deletions: [phone.zone]), as: phone.caller)
        #expect(try await laptop.summary() == ["zone zone Notes"])
        #expect(try await store.subscriptions(as: laptop.caller).map(\.id) == ["anywhere"])
        try await phone.createZone()
        try await put("a", ["n": 1])
        #expect(try await laptop.summary() == ["zone zone Notes", "anywhere query created a"])
    }

    // MARK: The collection

    @Test func `Pages and tokens continue a fetch`() async throws {
        try await laptop.subscribe("all")
        let empty = try await laptop.heard().token
        for number in 0..<7 { try await put("r\(number)", ["n": 1]) }
        let all = try await laptop.heard(limit: 2)
        #expect(all.notifications.count == 7)
        #expect(try await laptop.heard(since: empty).notifications == all.notifications)
        #expect(try await laptop.heard(since: all.token).notifications.isEmpty)
        await #expect(throws: SyncError.self) {
            try await store.notificationChanges(.init(limit: 0), as: laptop.caller)
        }
        // A token of something else is refused; one of another user's collection is too.
        let zoneToken = try await laptop.changes().token
        await #expect(throws: SyncError.self) { try await laptop.heard(since: zoneToken) }
        let bob = laptop.client("_bob")
        try await bob.subscribe("all")
        try await put("r0", ["n": 2])
        #expect(try await bob.summary() == ["all query updated r0"])
        await #expect(throws: SyncError.self) { try await bob.heard(since: all.token) }
    }

    @Test func `Marking a notification as read reaches the other clients`() async throws {
        let tablet = phone.client(on: "tablet")
        try await laptop.subscribe("all")
        try await put("a", ["n": 1])
        try await put("b", ["n": 1])
        let (heard, token) = try await laptop.heard()
        let tabletToken = try await tablet.heard().token
        let ids = heard.compactMap(\.id)
        #expect(ids.count == 2)
        let answers = try await store.markNotificationsRead(
            [ids[0], "never", "zzzz-1"],
            as: laptop.caller
        )
        #expect(answers.map(\.error?.code) == [nil, .unknownItem, .unknownItem])
        #expect(try await tablet.summary() == ["all query created b"])
        let news = try await tablet.heard(since: tabletToken).notifications
        #expect(news.map(\.kind) == [.read])
        #expect(news.map(\.id) == [ids[0]])
        #expect(try await laptop.heard(since: token).notifications.isEmpty)
        // Again, and by somebody else.
        let before = store.lastSequence
        #expect(try await store.markNotificationsRead([ids[0]], as: tablet.caller)[0].error == nil)
        #expect(store.lastSequence == before)
        let bob = phone.client("_bob")
        #expect(
            try await store.markNotificationsRead([ids[1]], as: bob.caller)[0].error?.code
                == .unknownItem
        )
    }

    @Test func `Marking an earlier zone notification as read keeps a later one`() async throws {
        try await laptop.subscribe(Subscription("zone", .zone(phone.zone)))
        try await put("a", ["n": 1])
        let first = try #require(try await laptop.heard().notifications.first?.id)
        try await put("a", ["n": 2])
        try await store.waitUntilNotified()
        let answer = try await store.markNotificationsRead([first], as: laptop.caller)
        #expect(answer[0].error == nil)
        let later = try await laptop.heard().notifications
        #expect(later.map(\.summary) == ["zone zone Notes"])
        #expect(later[0].id != first)
    }

    // MARK: As they come

    @Test func `A stream delivers notifications, each with its token`() async throws {
        try await laptop.subscribe("all")
        let stream = try await store.notifications(as: laptop.caller)
        let reader = Task {
            var heard: [Subscription.Push] = []
            for try await push in stream {
                heard.append(push)
                if heard.count == 5 { break }
            }
            return heard
        }
        for number in 0..<5 { try await put("r\(number)", ["n": 1]) }
        let heard = try await reader.value
        #expect(heard.map(\.notification.recordID?.recordName) == (0..<5).map { "r\($0)" })
        let later = try await store.notifications(since: heard[2].token, as: laptop.caller)
        var rest: [String?] = []
        for try await push in later {
            rest.append(push.notification.recordID?.recordName)
            if rest.count == 2 { break }
        }
        #expect(rest == ["r3", "r4"])
    }

    @Test func `A push is truncated, and a fetched notification is not`() async throws {
        try store.close()
        var options = StoreOptions()
        options.limits.bytesPerPush = 150
        let small = try Store.open(at: folder.path(), access: .writing, options: options)
        let writer = Client(store: small)
        let reader = writer.client()
        var content = NotificationContent()
        content.alert.text = "Something has changed, and this is a rather long way to say so."
        try await reader.subscribe("all", content: content)
        let stream = try await small.notifications(as: reader.caller)
        try await writer.modify([try writer.save("a", ["n": 1])])
        for try await push in stream {
            #expect(push.notification.isPruned)
            #expect(push.notification.recordID == nil)
            #expect(push.notification.payloadByteCount <= 150)
            break
        }
        let whole = try await reader.heard().notifications
        #expect(whole.map(\.recordID?.recordName) == ["a"])
        #expect(whole[0].content.alert.text == content.alert.text)
        try small.close()
    }

    @Test func `A stream ends with its store or its task`() async throws {
        let stream = try await store.notifications(as: laptop.caller)
        let reader = Task {
            var count = 0
            for try await _ in stream { count += 1 }
            return count
        }
        let other = try await store.notifications(as: phone.caller)
        let cancelled = Task {
            var count = 0
            for try await _ in other { count += 1 }
            return count
        }
        cancelled.cancel()
        #expect(try await cancelled.value == 0)
        try store.close()
        #expect(try await reader.value == 0)
    }

    @Test func `A restart repeats and loses no notification`() async throws {
        try await laptop.subscribe("all")
        try await laptop.subscribe("once", on: [.create, .once])
        try await put("a", ["n": 1])
        var opened = store
        for number in 0..<4 {
            try opened.close()
            opened = try Store.open(at: folder.path(), access: .writing)
            let writer = Client(store: opened)
            try await writer.modify([try writer.save("r\(number)", ["n": 1])])
        }
        let reader = Client(store: opened, caller: laptop.caller)
        #expect(
            Set(try await reader.summary()) == [
                "all query created a", "once query created a", "all query created r0",
                "all query created r1", "all query created r2", "all query created r3",
            ]
        )
        #expect(try await reader.heard().notifications.count == 6)
        #expect(try await opened.subscriptions(as: reader.caller).map(\.id) == ["all"])
        try opened.close()
    }

    @Test func `Marking a notification twice in one call marks it once`() async throws {
        try await laptop.subscribe("all")
        try await put("a", ["n": 1])
        let id = try #require(try await laptop.heard().notifications.first?.id)
        let before = store.lastSequence
        let answers = try await store.markNotificationsRead([id, id, id], as: laptop.caller)
        #expect(answers == Array(repeating: .success(id), count: 3))
        #expect(store.lastSequence.rawValue == before.rawValue + 1)
    }
}
