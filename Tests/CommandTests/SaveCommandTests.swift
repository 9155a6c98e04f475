// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@Suite struct SaveCommandTests {
    let folder: ScratchFolder
    let store: String

    init() async throws {
        folder = try ScratchFolder()
        store = folder.path("notes.tide")
        #expect(try await Command.run("zones", "create", store, "lists").status == 0)
    }

    private func save(_ arguments: String..., input: String = "") async throws -> Command.Outcome {
        try await Command.run(["save", store] + arguments, input: Array(input.utf8))
    }

    private func record(_ name: String) async throws -> Command.Outcome {
        try await Command.run("record", store, name, "--zone", "lists")
    }

    /// The objects under a member of each line.
    private func objects(_ member: String, _ outcome: Command.Outcome) throws -> [[String: Any]] {
        try outcome.objects().compactMap { $0[member] as? [String: Any] }
    }

    @Test func `Arguments set fields of every type`() async throws {
        let outcome = try await save(
            "milk",
            "--type",
            "Item",
            "--zone",
            "lists",
            "--as",
            "_anna",
            "--device",
            "phone",
            "title=Oat milk",
            "count=2",
            "code:STRING=42",
            "price:DOUBLE=1.5",
            "due:TIMESTAMP=2026-02-03T04:05:06Z",
            "raw:BYTES=AAEC",
            "shop:REFERENCE=corner",
            #"tags=["a","b"]"#,
            #"place:LOCATION={"latitude":52.5,"longitude":13.4}"#,
            "note=",
            "spot:LOCATION=52.5,13.4",
            #"secret={"value":"AAEC","type":"BYTES","isEncrypted":true}"#
        )
        #expect(outcome.status == 0, "\(outcome.errors)")
        let saved = try #require(try objects("saved", outcome).first)
        let stored = try #require(try await record("milk").objects().first)
        #expect(saved as NSDictionary == stored as NSDictionary)
        let fields = try #require(stored["fields"] as? [String: Any])
        #expect(
            fields as NSDictionary == [
                "title": "Oat milk", "count": 2, "code": "42", "note": "", "tags": ["a", "b"],
                "price": ["value": 1.5, "type": "DOUBLE"],
                "due": ["value": 1_770_091_506_000, "type": "TIMESTAMP"],
                "raw": ["value": "AAEC", "type": "BYTES"],
                "shop": [
                    "value": ["recordName": "corner", "action": "NONE"], "type": "REFERENCE",
                ],
                "place": ["value": ["latitude": 52.5, "longitude": 13.4], "type": "LOCATION"],
                "spot": ["value": ["latitude": 52.5, "longitude": 13.4], "type": "LOCATION"],
                "secret": ["value": "AAEC", "type": "BYTES", "isEncrypted": true],
            ] as NSDictionary
        )
        let created = try #require(stored["created"] as? [String: Any])
        #expect(created["userRecordName"] as? String == "_anna")
        #expect(created["deviceID"] as? String == "phone")
    }

    @Test(arguments: [
        ["a=1", "a=2"], [#"tags=[1,"a"]"#], ["a=1", "--remove", "a"], ["photo:ASSET=@missing.jpg"],
    ])
    func `A mistake in a field creates no store`(fields: [String]) async throws {
        let path = folder.path("new.tide")
        let outcome = try await Command.run(["save", path, "milk", "--type", "Item"] + fields)
        #expect(outcome.status == 1, "\(outcome)")
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test func `Printed records can be edited and saved back once`() async throws {
        _ = try await save("milk", "--type", "Item", "--zone", "lists", "title=Milk", "count=1")
        let line = try await record("milk").output
        let edited = line.replacing("\"Milk\"", with: "\"Oat\"")
            .replacing("\"count\":1", with: "\"count\":null")
        #expect(try await save("-", input: edited).status == 0)
        let stored = try #require(try await record("milk").objects().first)
        #expect(stored["fields"] as? [String: String] == ["title": "Oat"])
        let again = try await save("-", input: line)
        #expect(again.status == 1)
        let error = try #require(try objects("error", again).first)
        #expect(error["code"] as? String == "serverRecordChanged")
        #expect(error["number"] as? Int == 14)
        let server = try #require(error["serverRecord"] as? [String: Any])
        #expect(server as NSDictionary == stored as NSDictionary)
        let ancestor = try #require(error["ancestorRecord"] as? [String: Any])
        #expect((ancestor["fields"] as? [String: Any])?["title"] as? String == "Milk")
        #expect(try await save("-", "--policy", "all-keys", input: line).status == 0)
    }

    @Test func `The changes of one store can be saved into another`() async throws {
        _ = try await save("a", "--type", "Item", "--zone", "lists", "n=1")
        _ = try await save("b", "--type", "Item", "--zone", "lists", "n=2", "--parent", "a")
        let first = try await Command.run("changes", store, "--zone", "lists")
        let token = try #require(try first.objects().last?["token"] as? String)
        let copy = folder.path("copy.tide")
        _ = try await Command.run("zones", "create", copy, "lists")
        let flags = ["-", "--policy", "replace"]
        let into = ["save", copy] + flags
        #expect(try await Command.run(into, input: Array(first.output.utf8)).status == 0)
        _ = try await Command.run("delete", store, "b", "--zone", "lists")
        _ = try await save("a", "--type", "Item", "--zone", "lists", "--policy", "all-keys", "n=3")
        let rest = try await Command.run("changes", store, "--zone", "lists", "--since", token)
        let outcome = try await Command.run(into, input: Array(rest.output.utf8))
        #expect(outcome.status == 0)
        #expect(try objects("deleted", outcome).first?["recordName"] as? String == "b")
        let exports = [
            try await Command.run("export", store), try await Command.run("export", copy),
        ]
        let contents = try exports.map { export in
            try export.objects().map { $0["fields"] as? [String: Int] }
        }
        #expect(contents[0] == [["n": 3]])
        #expect(contents[1] == contents[0])
    }

    @Test func `Parents are set, kept and removed`() async throws {
        func parent() async throws -> String? {
            try await record("b").objects().first?["parent"] as? String
        }
        _ = try await save("a", "--type", "Item", "--zone", "lists")
        _ = try await save("b", "--type", "Item", "--zone", "lists", "--parent", "a")
        #expect(try await parent() == "a")
        let changed = ["--type", "Item", "--zone", "lists", "--policy", "changed-keys"]
        _ = try await Command.run(["save", store, "b", "n=1"] + changed)
        #expect(try await parent() == "a")
        _ = try await Command.run(["save", store, "b", "--no-parent"] + changed)
        #expect(try await parent() == nil)
    }

    @Test func `A request is atomic unless an option disables it`() async throws {
        _ = try await save("a", "--type", "Item", "--zone", "lists", "n=1")
        let lines = ["b", "a", "c"].map { name in
            "{\"zone\":\"lists\",\"recordName\":\"\(name)\",\"recordType\":\"Item\",\"fields\":{}}\n"
        }
        let whole = try await save("-", input: lines.joined())
        #expect(whole.status == 1)
        let codes = try objects("error", whole).compactMap { $0["code"] as? String }
        #expect(codes == ["batchRequestFailed", "serverRecordChanged", "batchRequestFailed"])
        let apart = try await save("-", "--no-atomic", input: lines.joined())
        #expect(apart.status == 1)
        #expect(
            try objects("saved", apart).compactMap { $0["recordName"] as? String } == ["b", "c"]
        )
    }

    @Test func `A batch over the request limit is split, or rejected if it must be atomic`()
        async throws
    {
        let lines = (0..<401).map { index in
            "{\"zone\":\"lists\",\"recordName\":\"r\(index)\",\"recordType\":\"T\",\"fields\":{}}\n"
        }
        let whole = try await save("-", input: lines.joined())
        #expect(whole.status == 1)
        #expect(whole.errors.contains("401 items"))
        #expect(whole.errors.contains("Add --no-atomic"))
        let apart = try await save("-", "--no-atomic", "--request-id", "x", input: lines.joined())
        #expect(apart.status == 0)
        #expect(apart.lines.count == 401)
        let again = try await save("-", "--no-atomic", "--request-id", "x", input: lines.joined())
        #expect(again.output == apart.output)
    }

    @Test func `If a later request is rejected, what earlier ones saved is printed`() async throws {
        // The id that the second request of the batch gets.
        _ = try await save("first", "--type", "T", "--zone", "lists", "--request-id", "y/2")
        let lines = (0..<401).map { index in
            "{\"zone\":\"lists\",\"recordName\":\"r\(index)\",\"recordType\":\"T\",\"fields\":{}}\n"
        }
        let input = lines.joined()
        let outcome = try await save("-", "--no-atomic", "--request-id", "y", input: input)
        #expect(outcome.status == 1)
        #expect(outcome.errors.contains("y/2"), "\(outcome.errors)")
        #expect(try objects("saved", outcome).count == 400)
    }

    @Test func `A value of a wrong type is reported with the form that names one`() async throws {
        #expect(try await save("a", "--type", "Item", "title=x").status == 0)
        let number = try await save("b", "--type", "Item", "title=1", "--text")
        #expect(number.status == 1)
        #expect(number.output.contains("save a value of that type"), "\(number)")
        #expect(number.output.contains("such as title:STRING=1."), "\(number)")
        #expect(try await save("b", "--type", "Item", "title:STRING=1").status == 0)
    }

    @Test(arguments: [
        (["x", "--type", "T", "a=1.5"], "write {\"value\": 1.5, \"type\": \"DOUBLE\"}"),
        (["x", "--type", "T", "a=true"], "There is no Boolean type"),
        (["x", "--type", "T", "a={x"], "The field \"a\": Expected a string"),
        (["x", "--type", "T", "a"], "'a' is not a field"),
        (["x", "--type", "T", "a:KILO=1"], "there is no field type KILO"),
        (["x", "--type", "T", "a:INT64=abc"], "INT64 is written as a whole number."),
        (["x", "--type", "T", "a:TIMESTAMP=2026-13-01T00:00:00Z"], "such as 2026-02-03T04:05:06Z"),
        (["x", "--type", "T", "a:LOCATION=1"], "Expected an object"),
        (["x", "--type", "T", "a:LOCATION=1,b"], "LATITUDE,LONGITUDE"),
        (["x", "--type", "T", "a:STRING_LIST=b"], "a JSON array"),
        (["x", "--type", "T", "a:ASSET=@/"], "/ is a folder. Name a file in it."),
        (["x", "--type", "T", "a=1", "a=2"], "given twice"),
        (["x", "a=1"], "Name the record's type"),
        (["-", "--type", "T"], "name their own zone and type"),
    ])
    func `Invalid arguments are reported before anything is saved`(
        arguments: [String],
        text: String
    )
        async throws
    {
        let outcome = try await Command.run(["save", store] + arguments)
        #expect(outcome.status != 0)
        #expect(outcome.errors.contains(text), "\(outcome.errors)")
        #expect(try await Command.run("zones", store).objects().count == 1)
    }

    @Test func `The error names an invalid line, and nothing is saved`() async throws {
        let good = "{\"zone\":\"lists\",\"recordName\":\"a\",\"recordType\":\"T\",\"fields\":{}}\n"
        let outcome = try await save("-", input: good + "{\"recordName\":\"b\"}\n")
        #expect(outcome.status == 1)
        #expect(outcome.errors.contains("line 2: A record to save needs"))
        #expect(try await record("a").status == 1)
    }

    @Test func `Closed output is an error, and no output is written into the store`() async throws {
        let outcome = try await Command.script(
            "$tidemark save notes.tide a --type T --zone lists n=1 >&- <&-",
            in: folder
        )
        #expect(outcome.status == 1)
        #expect(outcome.errors.contains("standard output cannot be written: Bad file descriptor"))
        #expect(try await Command.run("log", "verify", store).status == 0)
        #expect(try await record("a").status == 0)
    }

    @Test func `--text prints a table`() async throws {
        let outcome = try await save("a", "--type", "T", "--zone", "lists", "--text")
        #expect(outcome.lines.first == "result  item             tag or reason")
        #expect(outcome.lines.last?.hasPrefix("saved   a in zone lists  ") == true)
        let failed = try await save("a", "--type", "T", "--zone", "gone", "--text")
        #expect(failed.status == 1)
        #expect(failed.lines.last?.hasPrefix("failed  a in zone gone  zoneNotFound (26): ") == true)
        #expect(failed.output.contains("Create it with `tidemark zones create STORE gone`; "))
        // Such a zone is not the caller's to create.
        let shared = ["--database", "shared", "--zone", "gone", "--text"]
        let hidden = try await Command.run(["save", store, "a", "--type", "T"] + shared)
        #expect(hidden.status == 1 && !hidden.output.contains("zones create"))
    }

    @Test func `Records are deleted by name, by tag, and from standard input`() async throws {
        for name in ["a", "b", "c"] { _ = try await save(name, "--type", "T", "--zone", "lists") }
        func delete(_ arguments: String..., input: String = "") async throws -> Command.Outcome {
            try await Command.run(["delete", store] + arguments, input: Array(input.utf8))
        }
        let stale = try await delete("a", "--zone", "lists", "--tag", "1-zzzzzz")
        #expect(stale.status == 1)
        #expect(try objects("error", stale).first?["code"] as? String == "serverRecordChanged")
        #expect(try await delete("a", "missing", "--zone", "lists").status == 0)
        #expect(try await record("a").status == 1)
        let line = try await record("b").output
        #expect(try await delete("-", input: line).status == 0)
        #expect(try await record("b").status == 1)
        let rest = try await Command.run("export", store)
        #expect(try await delete("-", input: rest.output).lines.count == 1)
        #expect(try await Command.run("export", store).output == "")
        #expect(try await delete("-", "--zone", "lists").status == 64)
        #expect(try await delete("a", "b", "--tag", "1-z").status == 64)
    }

    @Test func `Zones are created, deleted with a reason, and listed`() async throws {
        let created = try await Command.run("zones", "create", store, "lists", "archive", "_x")
        #expect(created.status == 1)
        #expect(
            try objects("created", created).compactMap { $0["zone"] as? String } == [
                "lists", "archive",
            ]
        )
        #expect(try objects("error", created).first?["code"] as? String == "invalidArguments")
        let purged = ["zones", "delete", store, "archive", "--reason", "purged"]
        #expect(try await Command.run(purged).status == 0)
        let names = try await Command.run("zones", store).objects().compactMap { $0["zone"] }
        #expect(names as? [String] == ["lists"])
        let late = try await save("x", "--type", "T", "--zone", "archive")
        #expect(try objects("error", late).first?["code"] as? String == "userDeletedZone")
    }
}
