// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@Suite struct QueryCommandTests {
    private func store(_ folder: ScratchFolder) async throws -> String {
        let path = folder.path("shop.tide")
        for zone in ["lists", "kitchen"] {
            let outcome = try await Command.run("zones", "create", path, zone)
            try #require(outcome.status == 0, "\(outcome.errors)")
        }
        for (name, zone, fields) in [
            (
                "milk", "lists",
                [
                    "title=Oat milk", "count=2",
                    #"place:LOCATION={"latitude":52.5,"longitude":13.4}"#,
                ]
            ),
            (
                "bread", "lists",
                ["title=Bread", "count=1", #"place:LOCATION={"latitude":48.1,"longitude":11.6}"#]
            ),
            ("salt", "kitchen", ["title=Salt", "count=3"]),
        ] {
            let outcome = try await Command.run(
                ["save", path, name, "--type", "Item", "--zone", zone] + fields
            )
            try #require(outcome.status == 0, "\(outcome.errors)")
        }
        return path
    }

    private func names(_ arguments: [String]) async throws -> [String] {
        let outcome = try await Command.run(["query"] + arguments)
        #expect(outcome.status == 0, "\(outcome.errors)")
        return try outcome.objects().compactMap { $0["recordName"] as? String }
    }

    @Test func `Records are filtered, sorted, limited and projected`() async throws {
        let folder = try ScratchFolder()
        let path = try await store(folder)
        let item = [path, "--type", "Item"]
        let before = try folder.files()
        #expect(try await names(item) == ["bread", "milk", "salt"])
        #expect(try await names(item + ["--zone", "lists"]) == ["bread", "milk"])
        #expect(try await names(item + ["--where", "count > 1"]) == ["milk", "salt"])
        let words = "self CONTAINS 'MILK' OR count == 3"
        #expect(try await names(item + ["--where", words]) == ["milk", "salt"])
        let sorted = item + ["--sort", "count:desc"]
        #expect(try await names(sorted) == ["salt", "milk", "bread"])
        #expect(try await names(sorted + ["--limit", "2"]) == ["salt", "milk"])
        let near = ["--sort", "place:48,11", "--sort", "title"]
        #expect(try await names(item + near) == ["bread", "milk", "salt"])
        let far = ["--sort", "place:48,11:desc", "--sort", "title:asc"]
        #expect(try await names(item + far) == ["milk", "bread", "salt"])
        let narrow = try await Command.run(
            ["query"] + item + ["--keys", "count,title", "--where", "title == 'Salt'"]
        )
        let fields = try #require(try narrow.objects().first?["fields"] as? [String: Any])
        #expect(Set(fields.keys) == ["count", "title"])
        #expect(try folder.files() == before)
    }

    @Test func `A table has a column for each field`() async throws {
        let folder = try ScratchFolder()
        let path = try await store(folder)
        let all = try await Command.run(
            ["query", path, "--type", "Item", "--keys", "title,count", "--text"]
        )
        #expect(
            all.lines == [
                "zone     record  title     count", "lists    bread   Bread     1",
                "lists    milk    Oat milk  2", "kitchen  salt    Salt      3",
            ]
        )
    }

    @Test func `A past point is queried`() async throws {
        let folder = try ScratchFolder()
        let path = try await store(folder)
        let log = try await Command.run("log", "stat", path)
        let last = try #require(try log.objects().first?["lastSequence"] as? Int)
        let delete = try await Command.run("delete", path, "milk", "--zone", "lists")
        #expect(delete.status == 0)
        let item = [path, "--type", "Item", "--where", "count >= 2"]
        #expect(try await names(item) == ["salt"])
        #expect(try await names(item + ["--at", "\(last)"]) == ["milk", "salt"])
        let early = try await Command.run(["query"] + item + ["--at", "0"])
        #expect(early.status == 1)
        #expect(early.errors.contains("Did not find record type: Item."))
        let late = try await Command.run(["query"] + item + ["--at", "\(last + 99)"])
        #expect(late.status == 1)
        #expect(late.errors.contains("there is no event \(last + 99)"))
    }

    @Test func `A rejected query has a reason`() async throws {
        let folder = try ScratchFolder()
        let path = try await store(folder)
        for (arguments, status, text) in [
            (["--type", "Nope"], 1, "Did not find record type: Nope."),
            (["--type", "Item", "--where", "nope == 1"], 1, "Unknown field 'nope'"),
            (["--type", "Item", "--where", "title == 1"], 1, "is compared with INT64"),
            (["--type", "Item", "--zone", "nowhere"], 1, "There is no zone nowhere"),
            (["--type", "Users"], 1, "cannot be found by a query"),
            (["--type", "Item", "--where", "title LIKE 'x'"], 64, "LIKE"),
            (["--type", "Item", "--sort", "place:north"], 64, "is not an order"),
            (["--type", "Item", "--sort", "place:999,999"], 64, "a latitude from -90 to 90"),
            (["--type", "Item", "--sort", "place:nan,0"], 64, "is not an order"),
            (["--type", "Item", "--sort", "count:down"], 64, "is not an order"),
            (["--type", "Item", "--limit", "0"], 64, "--limit must be at least 1."),
            (["--type", "Item", "--limit", "-1"], 64, "--limit must be at least 1."),
            ([], 64, "--type"),
        ] as [([String], Int32, String)] {
            let outcome = try await Command.run(["query", path] + arguments)
            #expect(outcome.status == status)
            #expect(outcome.errors.contains(text), "\(outcome.errors)")
            #expect(outcome.output == "")
        }
    }

    @Test func `The command that an error suggests adds the index`() async throws {
        let folder = try ScratchFolder()
        let path = try await store(folder)
        #expect(try await Command.run("schema", "promote", path).status == 0)
        let save = ["save", path, "salt", "--type", "Item", "--environment", "production"]
        let saved = try await Command.run(save + ["count=1"])
        #expect(saved.status == 0, "\(saved.errors)")
        let query = [path, "--type", "Item", "--environment", "production"]
        let refused = try await Command.run(["query"] + query)
        #expect(refused.status == 1)
        let start = try #require(refused.errors.range(of: "tidemark schema index STORE "))
        let rest = refused.errors[start.upperBound...].prefix { $0 != "`" }
        let arguments = rest.split(whereSeparator: \.isWhitespace).map { String($0) }
        #expect(arguments == ["Item.___recordID", "queryable", "--environment", "production"])
        let added = try await Command.run(["schema", "index", path] + arguments)
        #expect(added.status == 0, "\(added.errors)")
        #expect(added.lines.count == 2)
        #expect(try await names(query) == ["salt"])
        #expect(try await Command.run("schema", "diff", path).output == "")
        let removed = try await Command.run(["schema", "index", path, "--remove"] + arguments)
        #expect(removed.lines.count == 2)
        #expect(try await Command.run(["query"] + query).status == 1)
        for (field, index, text) in [
            ("Item.nope", "queryable", "Unknown field"), ("No.title", "queryable", "Did not find"),
            ("Item.place", "searchable", "only texts"),
        ] {
            let outcome = try await Command.run("schema", "index", path, field, index)
            #expect(outcome.status == 1)
            #expect(outcome.errors.contains(text), "\(outcome.errors)")
        }
    }
}
