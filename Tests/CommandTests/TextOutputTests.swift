// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@Suite struct TextOutputTests {
    let folder: ScratchFolder
    let lines = [
        #"{"time":1700000000000,"user":"u-1","device":"phone","changes":[{"op":"save","zone":"z","recordName":"r","recordType":"T","fields":{"when":{"value":1700000001000,"type":"TIMESTAMP"},"all":{"value":[0,1500],"type":"TIMESTAMP_LIST"},"title":"milk"}}]}"#,
        #"{"time":1700000002000,"user":"u-2","changes":[{"op":"save","zone":"z","recordName":"s","recordType":"T","fields":{}},{"op":"delete","zone":"z","recordName":"r"}]}"#,
    ]

    init() throws {
        folder = try ScratchFolder()
    }

    @Test func `Tables and texts show times as dates, JSON as milliseconds`() async throws {
        let store = try await folder.store([lines[0]])
        for command in [
            ["query", store, "--type", "T"], ["record", store, "r", "--zone", "z"],
            ["export", store], ["changes", store, "--zone", "z"],
            ["blame", store, "r", "--zone", "z"], ["history", store, "r", "--zone", "z"],
            ["diff", store, "--from", "0"],
        ] {
            let text = try await Command.run(command + ["--text"])
            #expect(text.status == 0 && text.output.contains("2023-11-14T22:13:21Z"))
            #expect(text.output.contains("[1970-01-01T00:00:00Z,1970-01-01T00:00:01.500Z]"))
            #expect(!text.output.contains("1700000001000"), "\(command): \(text.output)")
            let json = try await Command.run(command + ["--json"])
            #expect(json.status == 0 && json.output.contains("1700000001000"))
            #expect(try await Command.run(command).output == json.output)
        }
    }

    @Test func `The text of a record shows its identity, owner and fields`() async throws {
        let store = try await folder.store(lines)
        let text = try await Command.run([
            "record", store, "r", "--zone", "z", "--at", "2", "--text",
        ])
        let rows = text.lines.map { String($0) }
        try #require(rows.count == 5, "\(text.output)\(text.errors)")
        #expect(rows[0].hasPrefix("r in zone z  T  ("))
        #expect(
            rows[1] == "    created 2023-11-14T22:13:20Z by u-1 on phone, "
                + "modified 2023-11-14T22:13:20Z by u-1 on phone"
        )
        #expect(rows[2] == "    all    [1970-01-01T00:00:00Z,1970-01-01T00:00:01.500Z]")
        #expect(rows[3] == "    title  milk")
        let changes = try await Command.run("changes", store, "--zone", "z", "--text").lines
        #expect(changes.first?.hasPrefix("s in zone z  T  (") == true)
        #expect(changes.last?.hasPrefix("token t.") == true)
        let refused = try await Command.run("export", store, "--changes", "--text")
        #expect(refused.status == 64 && refused.errors.contains("leave out --text"))
    }

    @Test func `A text of several lines is shown by its lines`() async throws {
        let store = try await folder.store([
            #"{"time":1,"user":"u","changes":[{"op":"save","zone":"z","recordName":"r","recordType":"T","fields":{"a":"one","body":"one\n\r\n two\u0007"}}]}"#
        ])
        let text = try await Command.run("record", store, "r", "--zone", "z", "--text")
        #expect(
            text.lines.dropFirst(2).map { String($0) } == [
                "    a     one", "    body", "        one", "        ", "         two\u{FFFD}",
            ]
        )
    }

    @Test func `An import and an asset are described in words`() async throws {
        let input = lines.map { "\($0)\n" }.joined()
        let path = folder.path("new.tide")
        let first = try await Command.run("import", path, "-", "--text", input: input)
        #expect(first.output == "Imported 3 changes in 2 commits.\n")
        let again = try await Command.run("import", path, "-", "--text", input: input)
        #expect(
            again.output
                == "Imported 0 changes in 0 commits. Passed over 2 that the store has already.\n"
        )
        let put = try await Command.run("asset", "put", path, "-", "--text", input: "bytes")
        #expect(put.output.hasPrefix("stored {"))
    }

    @Test func `log dump filters by the owner of zones`() async throws {
        let path = folder.path("two.tide")
        for owner in ["_anna", "_ben"] {
            let saved = try await Command.run(
                ["save", path, owner, "--type", "T", "--owner", owner, "--as", owner]
            )
            try #require(saved.status == 0, "\(saved.errors)")
        }
        let dump = try await Command.run("log", "dump", path, "--owner", "_ben", "--record", "_ben")
        #expect(dump.lines.count == 1)
        let other = try await Command.run([
            "log", "dump", path, "--owner", "_ben", "--record", "_anna",
        ])
        #expect(other.status == 0 && other.lines.isEmpty)
    }

    @Test func `zones list notes that the owner is unknown`() async throws {
        let path = folder.path("owners.tide")
        let set = ["users", "set", path, "_anna", "--given-name", "Anna"]
        #expect(try await Command.run(set).status == 0)
        func list(_ owner: String) async throws -> Command.Outcome {
            try await Command.run("zones", path, "--owner", owner)
        }
        let unknown = try await list("account:ben")
        #expect(unknown.status == 0 && unknown.output.isEmpty)
        #expect(unknown.errors.hasPrefix("No user account:ben is known: "))
        // A user with an account is known without a zone, and so is the default owner.
        #expect(try await list("_anna").errors.contains("database of _anna in development"))
        #expect(try await Command.run("zones", path).errors.contains("has no zones"))
    }

    @Test func `A read of a database without zones notes that others have some`() async throws {
        let path = folder.path("others.tide")
        let save = ["save", path, "r", "--type", "T", "--owner", "_ben", "--as", "_ben"]
        let saved = try await Command.run(save)
        #expect(saved.errors == "Created the store \(path).\n")
        #expect(try await Command.run(save).errors.contains("Created") == false)
        let query = ["query", path, "--type", "T"]
        for command in [["export", path], ["zones", path], query, query + ["--json"]] {
            let empty = try await Command.run(command)
            #expect(empty.status == 0 && empty.output.isEmpty, "\(command)")
            #expect(empty.errors.contains("has no zones. `tidemark usage`"), "\(empty.errors)")
            let unknown = try await Command.run(command + ["--owner", "_anna"])
            #expect(unknown.status == 0 && unknown.output.isEmpty, "\(command)")
            #expect(unknown.errors.hasPrefix("No user _anna is known"), "\(unknown.errors)")
            let typo = try await Command.run(command + ["--container", "iCloud.typo"])
            // A query for a type that the container does not have is an error.
            let reason = command[0] == "query" ? "Did not find record type: T" : "has no zones"
            #expect(typo.errors.contains(reason), "\(typo.errors)")
            let found = try await Command.run(command + ["--owner", "_ben"])
            #expect(found.lines.isEmpty == false && found.errors.isEmpty, "\(found.errors)")
        }
    }

    @Test func `A word that is no command is called so`() async throws {
        let outcome = try await Command.run("histroy", "notes.tide", "milk")
        #expect(outcome.status == 64)
        #expect(outcome.errors.hasPrefix("Error: There is no command 'histroy'"))
    }

    @Test func `changes prints only the changes that the user may read`() async throws {
        let path = folder.path("ben.tide")
        let place = ["--owner", "_ben"]
        let saved = try await Command.run(
            ["save", path, "r", "--type", "T", "--as", "_ben"] + place
        )
        try #require(saved.status == 0, "\(saved.errors)")
        let command = ["changes", path, "--zone", "_defaultZone"] + place
        let own = try await Command.run(command + ["--as", "_ben"])
        let stranger = try await Command.run(command + ["--as", "_anna"])
        #expect(own.status == 0 && own.lines.count == 2)
        #expect(stranger.status == 1 && stranger.output.isEmpty)
    }
}
