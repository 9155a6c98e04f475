// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@Suite struct ShareCommandTests {
    private let folder: ScratchFolder
    private let store: String

    /// A list of Anna's with an item below it, and another one.
    init() async throws {
        folder = try ScratchFolder()
        store = folder.path("lists.tide")
        let anna = ["--owner", "_anna", "--as", "_anna", "--zone", "lists"]
        _ = try await run("zones", "create", "lists", "--owner", "_anna", "--as", "_anna")
        for (name, parent) in [("home", nil), ("milk", "home"), ("other", nil)] {
            let save = try await run(
                ["save", name, "--type", "Item", "n=1"] + anna
                    + (parent.map { ["--parent", $0] } ?? [])
            )
            #expect(save.status == 0)
        }
    }

    private func run(_ arguments: String...) async throws -> Command.Outcome {
        try await run(arguments)
    }

    /// Runs a command with the store in its place: behind the words that name the command.
    private func run(_ arguments: [String]) async throws -> Command.Outcome {
        let groups: Set = ["zones", "share"]
        let wordCount = groups.contains(arguments[0]) ? 2 : 1
        let all = arguments.prefix(wordCount) + [store] + arguments.dropFirst(wordCount)
        return try await Command.run(Array(all))
    }

    private func object(_ result: Command.Outcome) throws -> [String: Any] {
        try #require(try result.objects().first)
    }

    private func names(seenBy user: String) async throws -> Set<String> {
        let changes = try await run([
            "changes", "--database", "shared", "--owner", user, "--zone", "_anna/lists",
        ])
        var names: Set<String> = []
        for object in try changes.objects() {
            guard let record = object["changed"] as? [String: Any] else { continue }
            #expect(record["zoneOwner"] as? String == "_anna")
            names.insert(record["recordName"] as? String ?? "")
        }
        return names
    }

    @Test func `why says that the owner may have removed the user`() async throws {
        let place = ["--owner", "_anna", "--zone", "lists"]
        let create = ["share", "create", "--root", "other", "--invite", "_bob"]
        let link = try #require(try object(try await run(create + place))["link"] as? String)
        #expect(try await run("share", "accept", link, "--as", "_bob").status == 0)
        let remove = ["share", "set", "share-other", "--remove", "_bob"]
        #expect(try await run(remove + place).status == 0)
        let question = ["why", "--record", "other", "--device", "tablet", "--as", "_bob", "--text"]
        let answer = try await run(question + place).output
        #expect(answer.contains("share-other, which the user has left, or was removed from."))
    }

    @Test func `A share is created, accepted, used, changed and ended`() async throws {
        let anna = ["--owner", "_anna", "--zone", "lists"]
        let made = try await run(
            ["share", "create", "--root", "home", "--invite", "_bob", "--title", "Home"] + anna
        )
        #expect(made.status == 0, "\(made.errors)")
        let link = try #require(try object(made)["link"] as? String)
        let stranger = try await run("share", "accept", link, "--as", "_eve")
        #expect(stranger.status == 1)
        #expect(stranger.errors.contains("not invited"))
        #expect(try await run("share", "metadata", link, "--as", "_bob").status == 0)
        #expect(try await run("share", "accept", link, "--as", "_bob").status == 0)
        #expect(try await names(seenBy: "_bob") == ["home", "milk", "share-home"])
        let zones = try await run("zones", "list", "--database", "shared", "--owner", "_bob")
        #expect(zones.output == "{\"zone\":\"lists\",\"zoneOwner\":\"_anna\"}\n")
        let export = try await run("export", "--database", "shared", "--owner", "_bob")
        #expect(export.status == 64)
        #expect(export.errors.contains("A shared database has no zones of its own"))
        let help = try await Command.run("export", "--help").output
        let words = help.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(words.contains("such as export and history, reject it"))

        let bob = ["--database", "shared", "--owner", "_bob", "--as", "_bob"]
        let saved = try await run(
            ["save", "bread", "--type", "Item", "--zone", "_anna/lists", "--parent", "milk", "n=2"]
                + bob
        )
        #expect(saved.status == 0, "\(saved.output)")
        let refused = try await run(
            ["save", "stray", "--type", "Item", "--zone", "_anna/lists", "n=2"] + bob
        )
        #expect(refused.status == 1)
        #expect(refused.output.contains("permissionFailure"))
        let query = try await run(
            [
                "query", "--type", "Item", "--where", "n >= 1", "--zone", "_anna/lists", "--as",
                "_bob",
            ]
                + bob.prefix(4)
        )
        #expect(query.lines.count == 3, "\(query.output)\(query.errors)")

        let opened = try await run(
            ["share", "set", "share-home", "--requests", "--one-time"] + anna
        )
        #expect(opened.status == 0, "\(opened.errors)")
        #expect(try await run("share", "request", link, "--as", "_eve").status == 0)
        let listed = try object(try await run("share", "list", "--owner", "_anna"))
        #expect(listed["requesters"] as? [String] == ["_eve"])
        let participants = try #require(listed["participants"] as? [[String: Any]])
        let own = try #require(participants.compactMap { $0["link"] as? String }.first)
        #expect(try await run("share", "accept", own, "--as", "_carol").status == 0)
        let fewer = try await run(
            ["share", "set", "share-home", "--remove", "_bob", "--deny", "_eve"] + anna
        )
        #expect(fewer.status == 0, "\(fewer.errors)")
        #expect(try await names(seenBy: "_bob").isEmpty)
        #expect(try await names(seenBy: "_carol").contains("bread"))
        #expect(try await run("share", "leave", link, "--as", "_carol").status == 0)
        #expect(try await names(seenBy: "_carol").isEmpty)

        #expect(try await run(["share", "end", "share-home"] + anna).status == 0)
        #expect(try await run("share", "list", "--owner", "_anna").output == "")
        #expect(try await run(["share", "end", "home"] + anna).status == 1)
        #expect(try await Command.run("log", "verify", store).status == 0)
        let dump = try await Command.run("log", "dump", store, "--text")
        #expect(dump.status == 0)
        #expect(dump.output.contains("shown    lists/milk"))
    }
}
