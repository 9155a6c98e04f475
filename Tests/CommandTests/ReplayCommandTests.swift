// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Tidemark
import TidemarkEvents
import TidemarkLog
import TidemarkViews

@testable import TidemarkCommand

@Suite struct ReplayCommandTests {
    let folder: ScratchFolder

    init() throws {
        folder = try ScratchFolder()
    }

    @Test(arguments: [nil, "all", "none"])
    func `A replay results in the state of the views`(_ keptHistory: String?) async throws {
        let store = try await folder.store(SampleHistory.lines(150))
        if let keptHistory {
            let compacted = try await Command.run("compact", store, "--keep-history", keptHistory)
            #expect(compacted.status == 0, "\(compacted.errors)")
        }
        let outcome = try await Command.run("replay", store, "--verify")
        #expect(outcome.status == 0, "\(outcome.errors)")
        var lines = try outcome.objects()
        let summary = lines.removeLast()
        #expect(summary["views"] as? String == "compared")
        #expect(summary["differingZones"] as? Int == 0 && summary["findings"] as? Int == 0)
        #expect(lines.allSatisfy { $0["isSame"] as? Bool == true })
        let stat = try #require(
            try await Command.run("log", "stat", store, "--json").objects().first
        )
        #expect(summary["events"] as? Int == stat["events"] as? Int)
        let figures = try await Command.run("zones", store).objects()
        for zone in figures {
            let replayed = lines.first { $0["zone"] as? String == zone["zone"] as? String }
            #expect(replayed?["records"] as? Int == zone["records"] as? Int)
            #expect(replayed?["tombstones"] as? Int == zone["tombstones"] as? Int)
        }
        #expect(!figures.isEmpty)
        let text = try await Command.run("replay", store, "--verify", "--text")
        #expect(text.output.hasSuffix("The views on disk are the same.\n"))
    }

    @Test func `A replay up to a point results in the state at the point`() async throws {
        let store = try await folder.store(SampleHistory.lines(60))
        let lines = try await Command.run("replay", store, "--to", "50").objects()
        let exported = try await Command.run("export", store, "--at", "50").lines.count
        let live = lines.compactMap { zone -> Int? in
            (zone["zone"] as? String).flatMap { $0.hasPrefix("_") ? nil : zone["records"] as? Int }
        }
        #expect(live.reduce(0, +) == exported)
        #expect(lines.last?["events"] as? Int == 50)
    }

    @Test func `Views that differ from the log are reported by zone`() async throws {
        let path = try await folder.store(SampleHistory.lines(60))
        let reader = try LogReader(path, fileSystem: PosixFileSystem())
        let zones = try await Command.run("replay", path).objects()
        let lists = try #require(zones.first { $0["zone"] as? String == "lists" })
        let key = try #require(lists["zoneKey"] as? UInt64)
        do {
            let index = try LMDBViewIndex.open(
                "\(path)/views",
                access: .writing,
                store: reader.store
            )
            let checkpoint = try #require(index.checkpoint)
            var batch = ViewBatch()
            batch.put(.word(1, tag: 1), in: .names, for: ViewKey(key, 42))
            try index.apply(batch, checkpoint: checkpoint)
        }
        let outcome = try await Command.run("replay", path, "--verify")
        #expect(outcome.status == 1)
        for zone in try outcome.objects() where zone["zone"] != nil {
            #expect((zone["isSame"] as? Bool == false) == (zone["zone"] as? String == "lists"))
        }
        #expect(outcome.errors.contains("table of names"))
    }

    @Test func `Steps go forward and back and show the record of each event`() async throws {
        let store = try await folder.store(SampleHistory.lines(40))
        let dump = try await Command.run("log", "dump", store).objects()
        let input = "n\n\np\ng 20\np\nn\nwhat\nq\nn\n"
        let outcome = try await Command.run(["replay", store, "--step"], input: Array(input.utf8))
        #expect(outcome.status == 0)
        let steps = try outcome.objects()
        let events = try steps.map { try #require($0["event"] as? [String: NSObject]) }
        #expect(events.map { $0["sequence"] as? Int } == [1, 2, 3, 2, 20, 19, 20])
        #expect(outcome.errors.contains("'what' is not a step"))
        for (step, event) in zip(steps, events) {
            let sequence = try #require(event["sequence"] as? Int)
            #expect(event as NSDictionary == dump[sequence - 1] as NSDictionary)
            for (member, last) in [("record", sequence), ("before", sequence - 1)] {
                guard event["recordName"] != nil else { continue }
                let shown = step[member] as? NSDictionary
                let name = try #require(event["recordName"] as? String)
                let zone = try #require(event["zone"] as? String)
                let found = try await Command.run([
                    "record", store, name, "--zone", zone, "--at", "\(last)",
                ])
                #expect(try found.objects().first as NSDictionary? == shown)
            }
        }
    }

    @Test func `Steps end at the last event`() async throws {
        let store = try await folder.store(SampleHistory.lines(5))
        let last = try await Command.run("log", "dump", store).lines.count
        let outcome = try await Command.run(
            ["replay", store, "--step", "--from", "\(last)", "--text"],
            input: Array("n\np\np\n".utf8)
        )
        #expect(outcome.status == 0)
        #expect(outcome.errors.contains("That was the last event."))
        #expect(outcome.errors.contains("That was the first event."))
        #expect(outcome.output.hasPrefix("\(last)  "))
    }

    @Test func `Steps leave out the events of the server's own container`() async throws {
        let path = folder.path("s.tide")
        let store = try Store.open(at: path, access: .creating)
        let zone = ZoneID(zoneName: "lists")
        for (number, container) in [ContainerID.standard, .server, .standard].enumerated() {
            var caller = Caller()
            caller.database = DatabaseID(container: container)
            _ = try await store.modifyZones(ModifyZonesRequest(saves: [zone]), as: caller)
            let save = RecordSave(
                RecordID(recordName: "r\(number)", zone: zone),
                type: "Item",
                fields: try Fields(["count": .int64(Int64(-number))])
            )
            _ = try await store.modifyRecords(ModifyRecordsRequest(saves: [save]), as: caller)
        }
        try store.close()
        for (input, names) in [
            (String(repeating: "n\n", count: 20), ["r0", "r2"]),
            ("g 1000000\n" + String(repeating: "p\n", count: 20), ["r2", "r0"]),
        ] {
            let outcome = try await Command.run(
                ["replay", path, "--step"],
                input: Array(input.utf8)
            )
            let events = try outcome.objects().compactMap { $0["event"] as? [String: Any] }
            #expect(
                events.compactMap { $0["recordName"] as? String }.filter { $0.hasPrefix("r") }
                    == names
            )
            #expect(!outcome.output.contains("tidemark.server"))
        }
        // Where the container is named, its events are printed.
        let found = try await Command.run(
            ["bisect", path, "--container", "tidemark.server", "--bad", "count < 0"]
        )
        #expect(found.status == 0, "\(found.errors)")
        let event = try found.objects().first?["event"] as? [String: Any]
        #expect(event?["recordName"] as? String == "r1")
    }

    @Test(arguments: [["--step", "--verify"], ["--from", "3"], ["--verify", "--to", "3"]])
    func `Conflicting options are a usage error`(arguments: [String]) async throws {
        let store = try await folder.store(SampleHistory.lines(3))
        let outcome = try await Command.run(["replay", store] + arguments)
        #expect(outcome.status == 64)
    }

    @Test func `Step commands are parsed`() {
        #expect(StepCommand("") == .next && StepCommand("n") == .next)
        #expect(StepCommand(" p ") == .previous && StepCommand("q") == .quit)
        #expect(StepCommand("g 12") == .go(SequenceNumber(rawValue: 12)))
        #expect(StepCommand("g") == .unknown("g") && StepCommand("g x") == .unknown("g x"))
        #expect(StepCommand("n n") == .unknown("n n"))
    }
}
