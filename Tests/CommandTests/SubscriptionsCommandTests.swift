// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@Suite struct SubscriptionsCommandTests {
    private let folder: ScratchFolder
    private let store: String

    init() throws {
        folder = try ScratchFolder()
        store = folder.path("notes.tide")
    }

    private func add(_ arguments: String...) async throws -> Command.Outcome {
        try await Command.run(["subscriptions", "add", store] + arguments)
    }

    @Test func `Subscriptions are added, listed, replaced and removed`() async throws {
        let added = try await Command.run([
            "subscriptions", "add", store, "open", "--type", "Item", "--where", "done == 0",
            "--on", "create", "--once", "--alert", "Do it", "--keys", "title,due",
        ])
        #expect(added.status == 0, "\(added.errors)")
        let line = #"""
            {"subscriptionID":"open","subscriptionType":"query","recordType":"Item",\#
            "predicate":"done == 0","firesOn":["create"],"firesOnce":true,"alertBody":"Do it",\#
            "desiredKeys":["title","due"]}
            """#
        #expect(added.lines == ["{\"saved\":\(line)}"])
        #expect(try await Command.run("zones", "create", store, "lists").status == 0)
        #expect(try await add("zone", "--zone", "lists", "--content-available").status == 0)
        #expect(try await add("all").status == 0)
        #expect(
            try await add("tasks", "--type", "Task", "--zone", "lists", "--whole-zone").status == 0
        )
        let listed = try await Command.run("subscriptions", store)
        let zoneLine: Substring = #"""
            {"subscriptionID":"zone","subscriptionType":"zone","zone":"lists",\#
            "shouldSendContentAvailable":true}
            """#
        #expect(
            listed.lines == [
                #"{"subscriptionID":"all","subscriptionType":"database"}"#, Substring(line),
                #"{"subscriptionID":"tasks","subscriptionType":"zone","zone":"lists","recordType":"Task"}"#,
                zoneLine,
            ]
        )
        #expect(try await add("all", "--type", "Item", "--whole-database").status == 0)
        let text = try await Command.run("subscriptions", "list", store, "--text")
        #expect(
            text.lines == [
                "id     about                   fires", "all    database, Item alone",
                "open   Item where done == 0    create, once",
                "tasks  zone lists, Task alone", "zone   zone lists",
            ]
        )
        #expect(try await Command.run("subscriptions", store, "--as", "_bob").output == "")
        let removed = try await Command.run([
            "subscriptions", "remove", store, "open", "all", "tasks",
        ])
        #expect(removed.lines.first == "{\"deleted\":{\"subscriptionID\":\"open\"}}")
        #expect(try await Command.run("subscriptions", store).lines.count == 1)
    }

    @Test func `Invalid subscriptions are rejected`() async throws {
        #expect(try await add("q", "--zone", "lists", "--once").status == 64)
        #expect(try await add("q", "--whole-zone").status == 64)
        #expect(try await add("q", "--type", "Item", "--where", "a LIKE 'b'").status == 64)
        let gone = try await add("q", "--zone", "Gone")
        #expect(gone.status == 1)
        #expect(gone.errors.contains("There is no zone Gone."))
        let publicly = try await add("q", "--database", "public")
        #expect(publicly.status == 1)
        #expect(publicly.errors.contains("badDatabase"))
    }

    @Test func `Notifications are printed, continued and marked as read`() async throws {
        #expect(try await add("new", "--type", "Item", "--keys", "title").status == 0)
        for name in ["milk", "tea"] {
            let saved = try await Command.run([
                "save", store, name, "--type", "Item", "--device", "phone", "title=\(name)",
            ])
            #expect(saved.status == 0, "\(saved.errors)")
        }
        func notifications(_ flags: String...) async throws -> Command.Outcome {
            try await Command.run(["subscriptions", "notifications", store] + flags)
        }
        let all = try await notifications("--catch-up")
        #expect(all.status == 0, "\(all.errors)")
        func names(_ objects: [[String: Any]]) -> [String] {
            objects.compactMap { $0["recordName"] as? String }
        }
        let objects = try all.objects()
        #expect(objects.count == 3)
        #expect(names(objects) == ["milk", "tea"])
        #expect(objects[0]["reason"] as? String == "created")
        let fields = objects[0]["fields"] as? [String: String] ?? [:]
        #expect(fields == ["title": "milk"])
        #expect(objects[2]["moreComing"] as? Bool == false)
        let token = try #require(objects[2]["token"] as? String)
        let first = try #require(objects[0]["notificationID"] as? String)
        // The device that did it hears nothing.
        #expect(try await notifications("--device", "phone").lines.count == 1)
        let page = try await notifications("--limit", "1").objects()
        #expect(page.count == 2)
        #expect(page[1]["moreComing"] as? Bool == true)
        #expect(try await notifications("--since", token).lines.count == 1)
        let rest = try await notifications("--mark-read", first, "--device", "laptop").objects()
        #expect(names(rest) == ["tea"])
        let read = try await notifications("--since", token).objects()
        #expect(read[0]["kind"] as? String == "read")
        #expect(read[0]["notificationID"] as? String == first)
        let unknown = try await notifications("--mark-read", "zz-1")
        #expect(unknown.status == 1)
        #expect(unknown.errors.contains("There is no notification \"zz-1\"."))
        #expect(try await notifications("--since", "nonsense").status == 64)
        let text = try await notifications("--text", "--device", "laptop")
        #expect(text.lines.count == 2)
        #expect(text.lines[1].contains("new") && text.lines[1].contains("tea"))
    }
}
