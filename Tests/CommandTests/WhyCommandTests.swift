// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Tidemark
import TidemarkModel

@testable import TidemarkCommand

@Suite struct WhyCommandTests {
    let folder: ScratchFolder

    init() throws {
        folder = try ScratchFolder()
    }

    /// A store in which Anna's phone has been told of `a` and not of `b`, and `c` was refused.
    private func lived() async throws -> String {
        let path = folder.path("s.tide")
        var options = StoreOptions()
        options.journal = .full
        let store = try Store.open(at: path, access: .creating, options: options)
        let zone = ZoneID(zoneName: "lists")
        let caller = Caller(device: "phone", requestID: nil)
        _ = try await store.modifyZones(ModifyZonesRequest(saves: [zone]), as: caller)
        func save(_ name: String, _ parent: ParentChange = .unchanged) async throws {
            let save = RecordSave(
                RecordID(recordName: name, zone: zone),
                type: "Item",
                fields: try Fields(["title": .string("Title of \(name)")]),
                parent: parent
            )
            _ = try await store.modifyRecords(ModifyRecordsRequest(saves: [save]), as: caller)
        }
        try await save("a")
        _ = try await store.zoneChanges(ZoneChangesRequest(zone: zone), as: caller)
        try await save("b")
        try await save("c", .set("missing"))
        try store.close()
        return path
    }

    /// The store of the README, without a journal.
    private func lists() async throws -> String {
        let text = try ExampleTests.text("Docs/Examples/lists.jsonl")
        return try await folder.store(text.split(separator: "\n").map(String.init))
    }

    @Test func `journal shows rejected requests and notifications of devices`() async throws {
        let store = try await lived()
        let entries = try await Command.run("journal", store).objects()
        #expect(entries.first?["began"] as? String == "full")
        #expect(entries.last?["ended"] as? Bool == true)
        let told = try #require(entries.first { $0["told"] != nil })
        #expect(told["told"] as? String == "zoneChanges")
        #expect((told["of"] as? [String: String])?["zone"] == "lists")
        #expect(told["device"] as? String == "phone" && told["changes"] as? Int == 1)
        #expect((told["token"] as? String)?.hasPrefix("t.") == true && told["since"] == nil)
        let refused = try #require(entries.first { $0["refused"] != nil })
        #expect(refused["refused"] as? String == "modifyRecords")
        let refusals = try #require(refused["refusals"] as? [[String: Any]])
        #expect(refusals.count == 1 && refusals[0]["code"] as? String == "referenceViolation")
        #expect((refusals[0]["item"] as? [String: String])?["recordName"] == "c")

        let only = try await Command.run("journal", store, "--refusals").objects()
        #expect(only.contains { $0["refused"] != nil } && !only.contains { $0["told"] != nil })
        let other = try await Command.run("journal", store, "--device", "tablet").objects()
        #expect(other.allSatisfy { $0["told"] == nil && $0["refused"] == nil })
        let nobody = try await Command.run("journal", store, "--user", "nobody").objects()
        #expect(nobody.count == other.count)
        let text = try await Command.run("journal", store, "--text").output
        #expect(text.contains("refused modifyRecords to __defaultOwner__ on phone"))
        #expect(text.contains("  the record ") && text.contains("referenceViolation (31)"))
        #expect(text.contains("1 changes, from the beginning to t."))
    }

    @Test func `why names the cause as JSON and as text`() async throws {
        let store = try await lived()
        func why(_ name: String, _ more: String...) async throws -> Command.Outcome {
            try await Command.run(
                ["why", store, "--record", name, "--zone", "lists", "--device", "phone"] + more
            )
        }
        let told = try await why("a").objects()
        #expect(
            told[0]["answer"] as? String == "delivered"
                && told[0]["happened"] as? String == "created"
        )
        #expect(told[0]["deviceUser"] as? String == "__defaultOwner__")
        #expect(told[1]["isAcknowledged"] as? Bool == false)
        let token = try #require(told[1]["token"] as? String)
        #expect(told.count == 2)
        let behind = try await why("b").objects()
        #expect(behind[1]["cause"] as? String == "committedAfterToken")
        #expect(behind[1]["token"] as? String == token)
        #expect(behind.contains { $0["hint"] as? String == "ownVersion" })
        let refused = try await why("c").objects()
        #expect(refused.map { $0["cause"] as? String } == [nil, "refused", "neverSaved", nil])
        // What was refused before the journal began nobody knows.
        #expect(refused.last?["unknown"] as? String == "journalBegins")
        #expect(refused[1]["code"] as? String == "referenceViolation")
        #expect(refused[1]["number"] as? Int == 31)
        #expect(refused[0]["sequence"] == nil)
        let text = try await why("b", "--text")
        #expect(text.output.contains("→ Committed after the device's last fetch, "))
        #expect(text.output.contains(token) && !text.output.contains("\u{1B}"))
        #expect(text.output.contains("Hint: The device \"phone\" made this version itself"))
        #expect(try await why("c", "--text").output.contains("Refused: "))
        // The token of a device says what it had.
        let before = try await why("b", "--at", token).objects()
        #expect(before[0]["answer"] as? String == "neverSaved")
        let other = try await Command.run([
            "why", store, "--record", "a", "--zone", "lists", "--device", "laptop",
        ]).objects()
        #expect(other.map { $0["cause"] as? String } == [nil, "neverAsked", nil, nil])
        #expect(other[2]["hint"] as? String == "deviceUnknown")
        #expect(other[2]["known"] as? [String] == ["phone"])
        #expect(other.last?["unknown"] as? String == "userAssumed")
    }

    @Test func `A record in another zone or database is named with the command that finds it`()
        async throws
    {
        let store = try await lists()
        let question = ["why", store, "--record", "milk", "--device", "phone"]
        // The question has no zone.
        let nowhere = try await Command.run(question + ["--text"])
        #expect(nowhere.status == 0)
        let advice =
            "Hint: There is a record \"milk\" in the zone \"lists\" of the private database of "
            + "__defaultOwner__. Ask about it: `tidemark why \(store.shellWord) --record milk "
            + "--zone lists --device phone`.\n"
        #expect(nowhere.output.contains(advice), "\(nowhere.output)")
        let hint = try await Command.run(question).objects()[2]
        #expect(hint["hint"] as? String == "recordElsewhere")
        #expect(hint["zone"] as? String == "lists" && hint["isDeleted"] as? Bool == false)
        // The question is about the database of another user, who has no such zone.
        let ben = ["--owner", "_ben", "--zone", "lists", "--text"]
        let foreign = try await Command.run(question + ben)
        #expect(foreign.status == 1)
        #expect(foreign.output.contains("The database has no zones; --owner names"))
        #expect(foreign.output.contains(advice))
        // And the other way round, of the right one.
        let save = ["save", store, "salt", "--type", "Item", "--owner", "_ben", "--as", "_ben"]
        #expect(try await Command.run(save).status == 0)
        let other = ["why", store, "--record", "salt", "--device", "x y", "--text"]
        let owned = try await Command.run(other)
        let command = "why \(store.shellWord) --record salt --owner _ben --device 'x y'"
        #expect(owned.output.contains("`tidemark \(command)`."))
        #expect(owned.output.contains("--owner the owner of the database"))
    }

    @Test func `The advised command takes a name with a hyphen in front`() async throws {
        let store = try await lists()
        let save = ["save", store, "--type", "Item", "--zone", "lists", "--", "-milk"]
        #expect(try await Command.run(save).status == 0)
        let question = ["why", store, "--record=-milk", "--device=-phone", "--text"]
        let found = try await Command.run(question)
        let command = "why \(store.shellWord) --record=-milk --zone lists --device=-phone"
        #expect(found.output.contains("`tidemark \(command)`."), "\(found.output)\(found.errors)")
    }

    @Test func `Many periods without a full journal are one line of the text`() async throws {
        let store = try await lists()
        // The first rejection creates the journal.
        let refused = ["save", store, "milk", "--type", "Item", "--zone", "lists", "title=Oats"]
        #expect(try await Command.run(refused).status == 1)
        for number in 1...5 {
            let save = ["save", store, "n\(number)", "--type", "Item", "--zone", "lists"]
            #expect(try await Command.run(save).status == 0)
        }
        let question = ["why", store, "--record", "n1", "--zone", "lists", "--device", "phone"]
        let facts = try await Command.run(question).objects()
        let periods = facts.filter { $0["unknown"] as? String == "journalNotFull" }
        #expect(periods.count > 3)
        let lines = try await Command.run(question + ["--text"]).lines.map { String($0) }
        let told = lines.filter { $0.contains("what devices fetched") }
        #expect(told.count == 1, "\(told)")
        #expect(told.first?.contains("in \(periods.count) periods from 20") == true, "\(told)")
    }

    @Test func `An unknown zone is reported with the zones that exist`() async throws {
        let store = try await lived()
        let question = ["why", store, "--record", "a", "--zone", "list", "--device", "phone"]
        let text = try await Command.run(question + ["--text"])
        #expect(text.status == 1)
        #expect(
            text.output.contains(
                "→ No such zone: the log has no zone \"list\" of the database. "
                    + "Its zones: lists."
            )
        )
        let json = try await Command.run(question).objects()
        #expect(json[0]["answer"] as? String == "noSuchZone")
        #expect(json[1]["known"] as? [String] == ["lists"] && json[1]["zones"] as? Int == 1)
    }

    @Test func `If history was dropped, the answer says since when there is history`() async throws
    {
        let store = try await lived()
        let delete = try await Command.run("delete", store, "a", "--zone", "lists")
        #expect(delete.status == 0)
        let save = ["save", store, "d", "--zone", "lists", "--type", "Item", "title=D"]
        #expect(try await Command.run(save).status == 0)
        let compact = ["compact", store, "--keep-history", "none", "--tombstones", "none"]
        #expect(try await Command.run(compact).status == 0)
        let question = ["why", store, "--record", "a", "--zone", "lists", "--device", "phone"]
        let json = try await Command.run(question).objects()
        #expect(json[0]["answer"] as? String == "unknown")
        let gap = try #require(json.first { $0["unknown"] as? String == "noTrace" })
        let begins = try #require(gap["historyBegins"] as? Int)
        let text = try await Command.run(question + ["--text"]).output
        #expect(text.contains("→ It is unknown whether the record was ever saved"))
        #expect(!text.contains("Never saved"))
        #expect(text.contains("compaction has dropped the history before event \(begins)"))
        #expect(text.contains("Note: `tidemark compact` keeps all history unless --keep-history"))
    }

    @Test func `A version that no fetch followed has the answer of the page about the past`()
        async throws
    {
        var options = StoreOptions()
        options.journal = .full
        let store = try Store.open(
            at: folder.path("notes.tide"),
            access: .creating,
            options: options
        )
        let zone = ZoneID(zoneName: "lists")
        let (phone, laptop) = (Caller(device: "phone"), Caller(device: "laptop"))
        _ = try await store.modifyZones(ModifyZonesRequest(saves: [zone]), as: phone)
        _ = try await store.zoneChanges(ZoneChangesRequest(zone: zone), as: phone)
        let save = RecordSave(
            RecordID(recordName: "milk", zone: zone),
            type: "Item",
            fields: try Fields(["title": .string("Milk")])
        )
        _ = try await store.modifyRecords(ModifyRecordsRequest(saves: [save]), as: laptop)
        try store.close()
        let blocks = try ExampleTests.text("Docs/past.md").components(separatedBy: "```text\n")
        let block = try #require(blocks.dropFirst().first?.components(separatedBy: "```").first)
        let shown = block.split(separator: "\n")
        let question = try #require(shown.first).replacing("$ tidemark", with: "$tidemark")
        let answer = try await Command.script("\(question) --text", in: folder)
        func steady(_ line: Substring) -> String {
            String(line).replacing(/Version [0-9]+ \([0-9a-z-]+\)/, with: "Version")
                .replacing(/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z/, with: "time")
                .replacing(/t\.[A-Za-z0-9_…-]+/, with: "t")
        }
        #expect(answer.output.split(separator: "\n").map(steady) == shown.dropFirst().map(steady))
    }

    @Test func `Without a journal the answer says what writes one`() async throws {
        let store = try await lists()
        let question = ["why", store, "--record", "milk", "--zone", "lists", "--device", "phone"]
        let text = try await Command.run(question + ["--text"]).output
        #expect(text.contains("there is no journal.\n"))
        #expect(text.contains("Note: A full journal records what devices fetch. `tidemark serve`"))
        #expect(text.contains("`StoreOptions.journal = .full`"))
    }

    @Test(arguments: [
        ("milk", "milk"), ("t.A_-1=", "t.A_-1="), ("two words", "'two words'"), ("", "''"),
        ("it's", "'it'\\''s'"), ("$x", "'$x'"),
    ])
    func `Words of a command line are quoted where a shell needs it`(text: String, word: String) {
        #expect(text.shellWord == word)
    }

    @Test func `verify and why report a damaged journal and use its intact entries`() async throws {
        let store = try await lived()
        let sound = try await Command.run("log", "verify", store)
        #expect(try sound.objects().last?["journalEntries"] as? Int == 4)
        let path = "\(store)/journal/00000001.jnl"
        var bytes = try Data(contentsOf: URL(filePath: path))
        let place = try #require(bytes.range(of: Data("phone".utf8))?.lowerBound)
        bytes[place] ^= 1
        try bytes.write(to: URL(filePath: path))
        let verified = try await Command.run("log", "verify", store)
        #expect(verified.status == 1)
        let finding = try #require(try verified.objects().first)
        #expect(finding["file"] as? String == path)
        #expect((finding["offset"] as? Int).map { $0 < place } == true)
        let why = try await Command.run([
            "why", store, "--record", "b", "--zone", "lists", "--device", "phone",
        ]).objects()
        #expect(why[0]["answer"] as? String == "unknown")
        #expect(why.contains { $0["unknown"] as? String == "journalDamaged" })
    }
}
