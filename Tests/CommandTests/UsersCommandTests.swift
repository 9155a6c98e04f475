// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@Suite struct UsersCommandTests {
    let folder: ScratchFolder
    let store: String

    init() throws {
        folder = try ScratchFolder()
        store = folder.path("notes.tide")
    }

    private func users(_ command: String, _ arguments: String...) async throws -> Command.Outcome {
        try await Command.run(["users", command, store] + arguments)
    }

    @Test func `Users are set, listed and looked up`() async throws {
        let set = try await Command.run([
            "users", "set", store, "_anna", "--email", "anna@example.org", "--given-name", "Anna",
            "--discoverable",
        ])
        #expect(set.status == 0, "\(set.errors)")
        let line =
            "{\"user\":\"_anna\",\"status\":\"available\",\"isDiscoverable\":true,"
            + "\"givenName\":\"Anna\",\"emails\":[\"anna@example.org\"]}"
        #expect(set.lines == [line[...]])
        _ = try await users("set", "_bert", "--phone", "+49301", "--contact", "anna@example.org")
        #expect(try await users("list").lines.first == line[...])
        let text = try await Command.run("users", store, "--text")
        #expect(text.lines.count == 3)
        #expect(text.lines.last?.hasPrefix("_bert  available  no") == true)
        let found = try await users("lookup", "ANNA@example.org", "+49301")
        #expect(found.status == 1)
        #expect(
            found.lines == [
                "{\"lookup\":\"ANNA@example.org\",\"user\":\"_anna\",\"hasAccount\":true,"
                    + "\"givenName\":\"Anna\"}",
                "{\"lookup\":\"+49301\"}",
            ]
        )
        let contacts = try await users("lookup", "--as", "_bert", "--text")
        #expect(contacts.lines.last == "anna@example.org  _anna  Anna")
    }

    @Test func `Properties without an option are not changed`() async throws {
        _ = try await users("set", "_anna", "--email", "a@example.org", "--nickname", "An")
        _ = try await users("set", "_anna", "--status", "restricted", "--nickname", "")
        let account = try #require(try await users("list").objects().first)
        #expect(account["emails"] as? [String] == ["a@example.org"])
        #expect(account["nickname"] == nil)
        _ = try await users("set", "_anna", "--no-email")
        let bare = try #require(try await users("list").objects().first)
        #expect(bare["emails"] == nil)
        #expect(bare["status"] as? String == "restricted")
        #expect(try await users("set", "_anna", "--no-email", "--email", "x@y").status == 64)
    }

    @Test func `The account status blocks the commands of its user`() async throws {
        #expect(
            try await users("status", "_anna").errors.contains("notes.tide")
        )
        _ = try await users("set", "_anna", "--status", "temporarilyUnavailable")
        let status = try await users("status", "_anna")
        #expect(status.lines == ["{\"status\":\"temporarilyUnavailable\",\"number\":4}"])
        #expect(try await users("status", "_bert", "--text").lines == ["available"])
        let save = ["save", store, "n", "--type", "T", "--owner", "_anna", "--as", "_anna"]
        let refused = try await Command.run(save)
        #expect(refused.status == 1)
        #expect(refused.errors.contains("accountTemporarilyUnavailable (36)"))
        #expect(try await users("set", "_anna", "--status", "gone").status == 64)
        #expect(try await users("set", "_anna", "--status", "available").status == 0)
        #expect(try await Command.run(save).status == 0)
    }

    @Test func `An address of another user is rejected`() async throws {
        _ = try await users("set", "_anna", "--email", "a@example.org")
        let refused = try await users("set", "_bert", "--email", "A@example.org")
        #expect(refused.status == 1)
        #expect(refused.errors.contains("belongs to _anna"))
    }
}
