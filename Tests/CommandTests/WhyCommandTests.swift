// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Tidemark
import TidemarkModel

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
                ["why", store, "--record", name, "--zone", "lists", "--device", "phone"] + more,
                input: []
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
        #expect(try await why("c", "--text").output.contains("Refused: "))
        // The token of a device says what it had.
        let before = try await why("b", "--at", token).objects()
        #expect(before[0]["answer"] as? String == "neverSaved")
        let other = try await Command.run(
            "why",
            store,
            "--record",
            "a",
            "--zone",
            "lists",
            "--device",
            "laptop"
        ).objects()
        #expect(other.map { $0["cause"] as? String } == [nil, "neverAsked", nil])
        #expect(other.last?["unknown"] as? String == "userAssumed")
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
        let why = try await Command.run(
            "why",
            store,
            "--record",
            "b",
            "--zone",
            "lists",
            "--device",
            "phone"
        ).objects()
        #expect(why[0]["answer"] as? String == "unknown")
        #expect(why.contains { $0["unknown"] as? String == "journalDamaged" })
    }
}
