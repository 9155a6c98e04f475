// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Tidemark
import TidemarkEvents
import TidemarkLog
import TidemarkViews

@Suite struct LogCommandTests {
    let folder: ScratchFolder

    init() throws {
        folder = try ScratchFolder()
    }

    @Test func `A store with touched records can be shown, verified and salvaged`() async throws {
        let path = folder.path("strict.tide")
        var options = StoreOptions()
        options.isStrict = true
        let store = try Store.open(at: path, access: .creating, options: options)
        let caller = Caller(database: .standard, user: .current)
        func node(_ name: String, under parent: ParentChange = .unchanged) -> RecordSave {
            let id = RecordID(recordName: name, zone: .default)
            return RecordSave(id, type: "Node", fields: Fields(), parent: parent)
        }
        for save in [node("parent"), node("child", under: .set(Name("parent")))] {
            let request = ModifyRecordsRequest(saves: [save])
            _ = try await store.modifyRecords(request, as: caller).saves[0].get()
        }
        try store.close()
        let events = try await Command.run("log", "dump", path).objects()
        let touch = try #require(events.last)
        #expect(touch["event"] as? String == "recordTouched")
        #expect(touch["recordName"] as? String == "parent")
        #expect(touch["policy"] == nil)
        let saved = try #require(events.first { $0["recordName"] as? String == "parent" })
        #expect(touch["replaces"] as? Int == saved["sequence"] as? Int)
        let text = try await Command.run("log", "dump", path, "--text")
        #expect(text.output.contains("touched  _defaultZone/parent  Node"))
        let copy = folder.path("copy.tide")
        #expect(try await Command.run("log", "salvage", path, copy).status == 0)
        for store in [path, copy] {
            #expect(try await Command.run("log", "verify", store).status == 0)
            let record = try #require(
                try await Command.run("record", store, "parent").objects().first
            )
            // Of the touch, under the incarnation of each store.
            let tag = try #require(record["recordChangeTag"] as? String)
            #expect(tag.hasPrefix("\(String(events.count, radix: 36))-"))
        }
    }

    @Test func `ls lists the segments`() async throws {
        let store = try await folder.store(SampleHistory.lines(50))
        let outcome = try await Command.run("log", "ls", store)
        #expect(outcome.status == 0)
        let segment = try #require(try outcome.objects().first)
        #expect(segment["segment"] as? String == "00000000000000000001-0.seg")
        #expect(segment["first"] as? Int == 1)
        #expect(segment["state"] as? String == "active")
        #expect(segment["commits"] as? Int == 50)
        #expect((segment["incarnation"] as? String)?.count == 16)
        #expect(segment["last"] as? Int == segment["events"] as? Int)
        #expect(segment["recovery"] == nil)
    }

    @Test func `dump prints every event with its commit`() async throws {
        let store = try await folder.store(SampleHistory.lines(50))
        let outcome = try await Command.run("log", "dump", store)
        #expect(outcome.status == 0)
        let events = try outcome.objects()
        #expect(events.map { $0["sequence"] as? Int } == (1...events.count).map(Optional.some))
        #expect(
            Set(events.compactMap { $0["event"] as? String }).isSuperset(
                of: ["zoneCreated", "recordSaved", "recordDeleted"]
            )
        )
        // A commit's events lie together, and say how many they are.
        var place = 0
        while place < events.count {
            let commit = try #require(events[place]["commit"] as? [String: Any])
            let count = try #require(commit["events"] as? Int)
            #expect(commit["first"] as? Int == place + 1)
            for event in events[place..<place + count] {
                let other = event["commit"] as? [String: Any]
                #expect(other?["request"] as? String == commit["request"] as? String)
                #expect(other?["time"] as? Int == commit["time"] as? Int)
            }
            place += count
        }
        // A save says which event it replaces: the last one of the same record.
        var last: [[String]: Int] = [:]
        for event in events {
            guard let name = event["recordName"] as? String,
                let zone = event["zone"] as? String
            else { continue }
            #expect(event["replaces"] as? Int == last[[zone, name], default: 0])
            last[[zone, name]] = event["sequence"] as? Int
        }
    }

    @Test(arguments: [
        (["--zone", "Küche"], #"$0.zone == "Küche""#),
        (["--record", "item 3 \u{1F600}"], "record"),
        (["--type", "Item"], "type"),
        (["--user", "u-1"], "user"),
        (["--device", "phone"], "device"),
        (["--from", "20", "--to", "30"], "sequence"),
        (["--since", "2023-11-14T22:13:40Z", "--until", "2023-11-14T22:13:45Z"], "time"),
        (["--user", "u-1", "--zone", "Küche", "--since", "2023-11-14T22:13:40Z"], "all"),
    ])
    func `dump prints the events that match its conditions`(
        arguments: [String],
        name: String
    ) async throws {
        let store = try await folder.store(SampleHistory.lines(80))
        let all = try await Command.run("log", "dump", store)
        let some = try await Command.run(["log", "dump", store] + arguments)
        func value(_ option: String) -> String? {
            arguments.firstIndex(of: option).map { arguments[$0 + 1] }
        }
        // The same conditions, on the whole output.
        let times = [
            "2023-11-14T22:13:40Z": SampleHistory.start + 20_000,
            "2023-11-14T22:13:45Z": SampleHistory.start + 25_000,
        ]
        let expected = try zip(all.lines, all.objects()).filter { _, event in
            let commit = try #require(event["commit"] as? [String: Any])
            let time = try #require(commit["time"] as? Int64)
            let sequence = try #require(event["sequence"] as? Int)
            return value("--zone").map { event["zone"] as? String == $0 } ?? true
                && value("--record").map { event["recordName"] as? String == $0 } ?? true
                && value("--type").map { event["recordType"] as? String == $0 } ?? true
                && value("--user").map { commit["user"] as? String == $0 } ?? true
                && value("--device").map { commit["device"] as? String == $0 } ?? true
                && value("--from").map { sequence >= Int($0) ?? 0 } ?? true
                && value("--to").map { sequence <= Int($0) ?? 0 } ?? true
                && value("--since").map { time >= times[$0] ?? 0 } ?? true
                && value("--until").map { time <= times[$0] ?? 0 } ?? true
        }.map(\.0)
        #expect(some.status == 0)
        #expect(some.lines == expected)
        #expect(!expected.isEmpty && expected.count < all.lines.count)
    }

    @Test(arguments: [
        ["--from", "3", "--to", "2"], ["--since", "2026-01-02", "--until", "2026-01-01"],
    ])
    func `dump rejects a range that ends before it begins`(range: [String]) async throws {
        let store = try await folder.store(SampleHistory.lines(2))
        let outcome = try await Command.run(["log", "dump", store] + range)
        #expect(outcome.status == 64)
        #expect(outcome.errors.contains("Exchange the"), "\(outcome.errors)")
    }

    @Test func `stat prints exactly the documented figures`() async throws {
        let store = try await folder.store(SampleHistory.lines(120))
        let outcome = try await Command.run("log", "stat", store, "--json")
        #expect(outcome.status == 0)
        #expect(
            outcome.output.matches(of: /"([A-Za-z]+)":/).map { String($0.1) } == [
                "events", "commits", "segments", "bytesOnDisk", "spareBytes", "viewBytes",
                "rawBytes", "ratio", "liveRecords", "tombstones", "firstSequence", "lastSequence",
                "journalEntries", "journalBytes", "journalLost",
            ]
        )
        let figures = try #require(try outcome.objects().first)
        let dumped = try await Command.run("log", "dump", store).objects()
        #expect(figures["events"] as? Int == dumped.count)
        #expect(figures["lastSequence"] as? Int == dumped.count)
        #expect(figures["firstSequence"] as? Int == 1)
        #expect(figures["commits"] as? Int == 120)
        var latest: [[String]: Bool] = [:]
        for event in dumped {
            guard let name = event["recordName"] as? String,
                let zone = event["zone"] as? String
            else { continue }
            latest[[zone, name]] = event["event"] as? String == "recordSaved"
        }
        #expect(figures["liveRecords"] as? Int == latest.values.count { $0 })
        #expect(figures["tombstones"] as? Int == latest.values.count { !$0 })
        // Everything in the folder is counted once.
        let onDisk = ["bytesOnDisk", "spareBytes", "viewBytes"].compactMap { figures[$0] as? Int }
        #expect(onDisk.reduce(0, +) == (try folder.files().values.reduce(0) { $0 + $1.count }))
    }

    @Test func `verify of an intact store exits with status 0`() async throws {
        let store = try await folder.store(SampleHistory.lines(120))
        let outcome = try await Command.run("log", "verify", store)
        #expect(outcome.status == 0)
        #expect(outcome.errors == "")
        #expect(try outcome.objects().first?["findings"] as? Int == 0)
        #expect(try outcome.objects().first?["commits"] as? Int == 120)
        #expect(try outcome.objects().first?["views"] as? String == "compared")
    }

    @Test func `verify reports if it cannot compare the views of a live store`() async throws {
        let path = folder.path("live.tide")
        var environment = StoreEnvironment().log
        // A writer that never comes to vouch for its last commit.
        environment.writesInline = true
        let log = try SegmentLog.open(
            path,
            creating: true,
            configuration: LogConfiguration(),
            environment: environment,
            onDurable: { _ in }
        ).log
        for _ in 0..<2 {
            let envelope = CommitEnvelope(user: "anna").bytes
            var draft = CommitDraft(time: 1, received: 1, envelope: envelope)
            draft.append(zone: 0) { $0 += [EventKind.requestNoted.rawValue, 0, 0, 0] }
            try log.blockUntilDurable(try log.append(draft))
        }
        let index = try LMDBViewIndex.open("\(path)/views", access: .writing, store: log.store)
        let checkpoint = ViewCheckpoint(
            store: log.store,
            incarnation: log.line.current,
            sequence: log.lastSequence
        )
        try index.apply(ViewBatch(), checkpoint: checkpoint)
        let outcome = try await Command.run("log", "verify", path)
        #expect(outcome.status == 0, "\(outcome.output)\(outcome.errors)")
        #expect(try outcome.objects().last?["views"] as? String == "ahead")
        let text = try await Command.run("log", "verify", path, "--text")
        #expect(text.output.contains("The views were not compared"))
        try log.close()
        let closed = try await Command.run("log", "verify", path)
        #expect(try closed.objects().last?["views"] as? String == "compared")
    }

    @Test func `verify names the file and the offset of damage in the log`() async throws {
        let store = try await folder.store(SampleHistory.lines(400))
        let segment = "\(store)/segments/00000000000000000001-0.seg"
        try overwrite(segment, at: 20_000, with: garbage)
        let outcome = try await Command.run("log", "verify", store)
        #expect(outcome.status == 1)
        let findings = try outcome.objects().filter { $0["finding"] != nil }
        #expect(Set(findings.map { $0["file"] as? String }) == [segment])
        #expect(Set(findings.map { $0["finding"] as? String }) == ["corrupted"])
        let offset = try #require(findings.first?["offset"] as? Int)
        #expect((1...20_000).contains(offset))
    }

    @Test func `verify reports views that differ from the log`() async throws {
        let store = try await folder.store(SampleHistory.lines(50))
        let views = URL(fileURLWithPath: "\(store)/views")
        let data = views.appendingPathComponent("data.mdb").path
        let byteCount = try Data(contentsOf: URL(fileURLWithPath: data)).count
        for page in 2..<UInt64(byteCount / 4096) {
            try overwrite(data, at: page * 4096 + 64, with: [1, 2, 3, 4, 5, 6, 7, 8])
        }
        let damaged = try await Command.run("log", "verify", store)
        #expect(damaged.status == 1)
        #expect(damaged.output.contains("/views"))
        #expect(damaged.output.contains("delete the folder"))
        // As a process leaves them that was killed while it made them: the next one begins anew.
        try FileManager.default.removeItem(at: views.appendingPathComponent("checks"))
        let unfinished = try await Command.run("log", "verify", store)
        #expect(unfinished.status == 0)
        #expect(try unfinished.objects().last?["views"] as? String == "unfinished")
        // Without views there is nothing to compare, and nothing wrong.
        try FileManager.default.removeItem(at: views)
        #expect(try await Command.run("log", "verify", store).status == 0)
    }

    @Test(arguments: [40, 200, 1_000, 4_000])
    func `salvage counts the loss at the end of the log`(distance: UInt64) async throws {
        // One commit of many blocks, so that the last frame holds nearly everything.
        let changes = (0..<600).map { index in
            #"{"op":"save","zone":"z","recordName":"r\#(index)","recordType":"T","#
                + #""fields":{"text":"\#(index &* 7919)"}}"#
        }
        let line = #"{"time":1,"user":"u","changes":[\#(changes.joined(separator: ","))]}"#
        let store = try await folder.store([line])
        let segment = "\(store)/segments/00000000000000000001-0.seg"
        let data = try Data(contentsOf: URL(filePath: segment))
        let end = try #require(data.lastIndex { $0 != 0 })
        // A closing frame comes last; before it lies the commit's last block.
        try overwrite(segment, at: UInt64(end) - 300 - distance, with: garbage)
        let outcome = try await Command.run("log", "salvage", store, folder.path("copy.tide"))
        #expect(outcome.status == 1, "\(outcome.errors)")
        let report = try #require(try outcome.objects().first)
        let lost = try #require(report["lost"] as? [[String: Int]])
        let lostCount = lost.reduce(0) { $0 + ($1["last"] ?? 0) - ($1["first"] ?? 0) + 1 }
        #expect(lostCount > 0)
        #expect(try #require(report["events"] as? Int) + lostCount == 601)
    }

    @Test func `salvage copies all intact events and reports the loss`() async throws {
        let store = try await folder.store(SampleHistory.lines(400))
        let whole = try await Command.run("log", "dump", store)
        try overwrite(
            "\(store)/segments/00000000000000000001-0.seg",
            at: 20_000,
            with: garbage
        )
        let before = try folder.files()
        let copy = folder.path("copy.tide")
        let outcome = try await Command.run("log", "salvage", store, copy)
        #expect(outcome.status == 1)
        #expect(outcome.errors.contains("00000000000000000001-0.seg, offset "))
        let report = try #require(try outcome.objects().first)
        let lost = try #require(report["lost"] as? [[String: Int]])
        let events = try #require(report["events"] as? Int)
        let lostCount = lost.reduce(0) { $0 + ($1["last"] ?? 0) - ($1["first"] ?? 0) + 1 }
        #expect(lostCount > 0)
        #expect(events + lostCount == whole.lines.count)
        for (name, content) in before { #expect(try folder.files()[name] == content, "\(name)") }
        #expect(try await Command.run("log", "verify", copy).status == 0)
        // What is there is what was there, at the same place.
        let kept = try await Command.run("log", "dump", copy)
        #expect(kept.lines.count == events)
        let again = try await Command.run("log", "salvage", store, copy)
        #expect(again.status == 1)
        #expect(again.errors.contains("Give a path that does not exist yet, or"))
    }

    @Test func `salvage of an intact store loses nothing`() async throws {
        let store = try await folder.store(SampleHistory.lines(100))
        let copy = folder.path("copy.tide")
        let outcome = try await Command.run("log", "salvage", store, copy)
        #expect(outcome.status == 0)
        let commits = try outcome.objects().first?["commits"] as? Int
        #expect(commits == 100)
    }
}
