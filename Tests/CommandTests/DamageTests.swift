// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Tidemark
import TidemarkEvents
import TidemarkLog

@Suite struct DamageTests {
    let folder: ScratchFolder
    let lines = SampleHistory.lines(400)

    init() throws {
        folder = try ScratchFolder()
    }

    static let segment = "segments/00000000000000000001-0.seg"

    @Test func `Intact parts of a damaged store are printed, the rest is reported`() async throws {
        let store = try await folder.store(lines)
        let whole = try await Command.run("log", "dump", store)
        try overwrite("\(store)/\(Self.segment)", at: 20_000, with: garbage)
        for command in [["log", "dump"], ["export", "--at", "20"], ["export", "--changes"]] {
            let outcome = try await Command.run(command + [store])
            #expect(outcome.status == 1, "\(command)")
            #expect(!outcome.output.isEmpty)
            #expect(outcome.errors.contains("Damaged: \(store)/\(Self.segment), offset "))
            #expect(outcome.errors.contains("log salvage"))
        }
        let dump = try await Command.run("log", "dump", store)
        #expect(dump.lines.count < whole.lines.count)
        #expect(Set(dump.lines).isSubset(of: Set(whole.lines)))
        // Nobody may write behind the damage.
        let writing = try await Command.run("import", store, "-", input: lines[0] + "\n")
        #expect(writing.status == 1)
        #expect(writing.errors.contains("\(Self.segment), offset "))
    }

    @Test(arguments: [
        "CURRENT", "LOCK", "manifest-000001", "segments/00000000000000000001-0.seg",
        "views/data.mdb", "views/lock.mdb", "views/checks",
    ])
    func `A folder in place of a file is reported`(name: String) async throws {
        let store = try await folder.store(SampleHistory.lines(3))
        let path = "\(store)/\(name)"
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        let file = try #require(path.split(separator: "/").last)
        let verified = try await Command.run("log", "verify", store, "--text")
        #expect(verified.status == 1)
        #expect((verified.output + verified.errors).contains(file))
        #expect((verified.output + verified.errors).contains("file is expected"))
        let written = try await Command.run("save", store, "r", "--type", "T")
        #expect(written.status == 1)
        #expect(written.errors.contains(file) && written.errors.contains("The path is a folder"))
    }

    @Test func `A time in a damaged store is rejected`() async throws {
        let store = try await folder.store(lines)
        let dump = try await Command.run("log", "dump", store).objects()
        let last = try #require(dump.last?["commit"] as? [String: Any])
        let time = try #require(last["time"] as? Int)
        let seconds = Date(timeIntervalSince1970: Double(time) / 1000)
        let text = ISO8601DateFormatter().string(from: seconds.addingTimeInterval(1))
        try overwrite("\(store)/\(Self.segment)", at: 20_000, with: garbage)
        for command in ["fork", "restore"] {
            let copy = folder.path("\(command).tide")
            let outcome = try await Command.run(command, store, copy, "--at", text)
            #expect(outcome.status == 1, "\(command)")
            #expect(outcome.errors.contains("Damaged: \(store)/\(Self.segment), offset "))
            #expect(!FileManager.default.fileExists(atPath: "\(copy)/CURRENT"))
        }
        let replay = try await Command.run("replay", store, "--to", text)
        #expect(replay.status == 1)
        #expect(replay.errors.contains("Give a sequence number"))
    }

    @Test func `bisect reports a damaged store`() async throws {
        let store = try await folder.store(lines)
        try overwrite("\(store)/\(Self.segment)", at: 20_000, with: garbage)
        let byPredicate = ["--bad", "nowhere = 1"]
        for options in [byPredicate, ["--run", "exit 0"]] {
            let outcome = try await Command.run(["bisect", store] + options)
            #expect(outcome.status == 1)
            #expect(outcome.errors.contains("Damaged: \(store)/\(Self.segment), offset "))
            #expect(outcome.errors.contains("log salvage"))
        }
    }

    @Test func `Events of a zone whose creation event is lost are printed`() async throws {
        let store = try await folder.store(lines)
        let whole = try await Command.run("log", "dump", store).objects()
        // In the first block, which holds the creation of a zone; the views know of it too.
        try overwrite("\(store)/\(Self.segment)", at: 420, with: garbage)
        try FileManager.default.removeItem(atPath: "\(store)/views")
        let replay = try await Command.run("replay", store)
        #expect(replay.status == 1)
        #expect(replay.errors.hasPrefix("Damaged: \(store)/\(Self.segment), offset "))
        #expect(!replay.errors.contains("ViewIndexError"))
        let dump = try await Command.run("log", "dump", store)
        #expect(dump.status == 1)
        let events = try dump.objects()
        try #require(!events.isEmpty)
        var namelessCount = 0
        for (event, original) in zip(events, whole.suffix(events.count)) {
            #expect(event["sequence"] as? Int == original["sequence"] as? Int)
            #expect(event["recordName"] as? String == original["recordName"] as? String)
            guard event["event"] as? String != "requestNoted" else { continue }
            if event["zone"] is NSNull {
                let key = try #require(event["zoneKey"] as? Int)
                #expect(whole[key - 1]["zone"] as? String == original["zone"] as? String)
                namelessCount += 1
            } else {
                #expect(event["zone"] as? String == original["zone"] as? String)
            }
        }
        #expect(namelessCount > 0)
        let stat = try await Command.run("log", "stat", store)
        #expect(stat.status == 1)
        #expect(try stat.objects().first?["events"] as? Int == events.count)
        #expect(try stat.objects().first?["liveRecords"] is NSNull)
        let export = try await Command.run("export", store)
        #expect(export.status == 1)
        #expect(export.errors.contains("Damaged: \(store)/\(Self.segment), offset 256: "))
    }

    @Test func `A torn write is not damage, and the next writer repairs it`() async throws {
        let store = folder.path("a.tide")
        let cut = try makeTornStore(store)
        let torn = try folder.files()
        for command in [["log", "verify"], ["log", "dump"], ["log", "stat"], ["export"]] {
            let outcome = try await Command.run(command + [store])
            #expect(outcome.status == 0, "\(command)")
            let note = """
                The last write was cut short before it was acknowledged; the next writer \
                discards its \(cut) bytes. Nothing is lost.

                """
            if command == ["export"] {
                // The zones are of another database, which has a note too.
                #expect(outcome.errors.hasSuffix(note) && outcome.errors.contains("no zones"))
            } else {
                #expect(outcome.errors == note)
            }
        }
        #expect(try folder.files() == torn)
        #expect(try await Command.run("log", "dump", store).lines.count == 10)
        let writing = try await Command.run("import", store, "-", input: lines[0] + "\n")
        #expect(writing.status == 0)
        let verified = try await Command.run("log", "verify", store)
        #expect(verified.status == 0)
        #expect(verified.errors == "")
        let recoveries = try await Command.run("log", "ls", store).objects()
            .compactMap { $0["recovery"] as? [String: Int] }
        #expect(recoveries.map { $0["discardedBytes"] } == [cut])
    }

    /// A store whose writer stopped when of its last write only a sector had reached the disk;
    /// returns how many bytes of that are there.
    private func makeTornStore(_ store: String) throws -> Int {
        var environment = StoreEnvironment().log
        environment.writesInline = true
        func append(_ user: String, to log: SegmentLog) throws {
            let envelope = CommitEnvelope(user: user).bytes
            var draft = CommitDraft(time: 1, received: 1, envelope: envelope)
            draft.append(zone: 0) { $0 += [EventKind.requestNoted.rawValue, 0, 0, 0] }
            try log.blockUntilDurable(try log.append(draft))
        }
        func framesEnd() throws -> UInt64 {
            let reader = try LogReader(store, fileSystem: PosixFileSystem())
            return try #require(try reader.figures().segments.last).byteCount
        }
        var start: UInt64 = 0
        do {
            let log = try SegmentLog.open(
                store,
                creating: true,
                configuration: LogConfiguration(),
                environment: environment,
                onDurable: { _ in }
            ).log
            for number in 0..<10 { try append("user \(number)", to: log) }
            start = try framesEnd()
            var numbers = SeededGenerator(seed: 1)
            let letters = (0..<4_000).map { _ in "abcdefgh".randomElement(using: &numbers) ?? "a" }
            try append(String(letters), to: log)
        }
        let end = try framesEnd()
        let kept = (start / 512 + 1) * 512
        try overwrite(
            "\(store)/\(Self.segment)",
            at: kept,
            with: [UInt8](repeating: 0, count: Int(end - kept))
        )
        let reader = try LogReader(store, fileSystem: PosixFileSystem())
        try #require(reader.tornByteCount > 0 && reader.damage.isEmpty)
        return Int(reader.tornByteCount)
    }

    @Test(arguments: [1, 255, 5_000, 40_000])
    func `A segment truncated at any offset is damaged`(length: UInt64) async throws {
        let store = try await folder.store(lines)
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: "\(store)/\(Self.segment)"))
        try file.truncate(atOffset: length)
        try file.close()
        let outcome = try await Command.run("log", "verify", store)
        #expect(outcome.status == 1)
        #expect(outcome.output.contains(Self.segment))
        let reading = try await Command.run("export", store)
        #expect(reading.status == 1)
        #expect(reading.errors.contains(Self.segment))
        let writing = try await Command.run("import", store, "-", input: lines[0] + "\n")
        #expect(writing.status == 1)
    }

    @Test func `Errors name a missing, an empty and an unreadable file`() async throws {
        let store = try await folder.store(lines)
        func outcome(_ script: String, _ file: String) async throws -> Command.Outcome {
            try shell("cp -R '\(store)' broken.tide; cd broken.tide; \(script)", in: folder)
            let outcome = try await Command.run("log", "verify", folder.path("broken.tide"))
            try shell("rm -rf broken.tide", in: folder)
            #expect(outcome.status == 1, "\(script)")
            #expect((outcome.output + outcome.errors).contains(file), "\(script)")
            return outcome
        }
        _ = try await outcome("rm \(Self.segment)", Self.segment)
        _ = try await outcome(": >\(Self.segment)", Self.segment)
        _ = try await outcome("rm \(Self.segment); mkdir \(Self.segment)", Self.segment)
        _ = try await outcome(": >CURRENT", "CURRENT")
        _ = try await outcome("echo manifest-000077 0 >CURRENT", "CURRENT")
        _ = try await outcome("rm CURRENT", "CURRENT")
        _ = try await outcome("rm manifest-*", "CURRENT")
        _ = try await outcome("for f in manifest-*; do : >$f; done", "manifest-")
    }

    @Test func `A file of another store is rejected`() async throws {
        let store = try await folder.store(lines)
        let other = try await folder.store(lines, name: "other.tide")
        try shell("cp '\(other)/\(Self.segment)' '\(store)/\(Self.segment)'", in: folder)
        for command in [["log", "verify"], ["export"], ["log", "dump"]] {
            let outcome = try await Command.run(command + [store])
            #expect(outcome.status == 1)
            #expect((outcome.output + outcome.errors).contains("belongs to store"))
        }
    }

    @Test func `A store of a newer version is rejected with a remedy`() async throws {
        let store = try await folder.store(lines)
        let segment = "\(store)/\(Self.segment)"
        let url = URL(fileURLWithPath: segment)
        var header = Array(try Data(contentsOf: url).prefix(248))
        header.replaceSubrange(8..<12, with: [9, 0, 9, 0])
        var hash = xxh3(header.span.bytes, seed: 0)
        for _ in 0..<8 {
            header.append(UInt8(truncatingIfNeeded: hash))
            hash >>= 8
        }
        try overwrite(segment, at: 0, with: header)
        for command in [["export"], ["import", "-"]] {
            let outcome = try await Command.run([command[0], store] + command[1...])
            #expect(outcome.status == 1)
            #expect(outcome.errors.contains("format version 9"))
            #expect(outcome.errors.contains("Use a newer version of Tidemark."))
        }
    }

    @Test(arguments: [420, 8_000, 20_000], [true, false])
    func `A salvaged store has the last intact version of each record once`(
        offset: UInt64,
        hasViews: Bool
    ) async throws {
        let store = try await folder.store(lines)
        let whole = try await Command.run("log", "dump", store).objects()
        try overwrite("\(store)/\(Self.segment)", at: offset, with: garbage)
        if !hasViews { try FileManager.default.removeItem(atPath: "\(store)/views") }
        let survivors = try await Command.run("log", "dump", store).objects()
        #expect(survivors.count < whole.count)
        let copy = folder.path("copy.tide")
        let salvage = try await Command.run("log", "salvage", store, copy)
        #expect(salvage.errors.contains("have their versions from before"))
        let report = try salvage.objects().first
        let mended = try #require(report?["mendedZones"] as? [Int])
        #expect(mended.isEmpty == (offset != 420))

        var expected: [String: NSDictionary] = [:]
        for event in survivors {
            guard let name = event["recordName"] as? String,
                let sequence = event["sequence"] as? Int
            else { continue }
            // Under its old name, if anything knows that still.
            var zone = try #require(whole[sequence - 1]["zone"] as? String)
            if let key = event["zoneKey"] as? Int, !hasViews { zone = "salvaged-\(key)" }
            expected["\(zone)/\(name)"] = event["fields"] as? NSDictionary
        }
        let exported = try await Command.run("export", copy)
        #expect(exported.status == 0)
        var found: [String: NSDictionary] = [:]
        for record in try exported.objects() {
            let zone = try #require(record["zone"] as? String)
            let name = try #require(record["recordName"] as? String)
            #expect(found["\(zone)/\(name)"] == nil)
            found["\(zone)/\(name)"] = record["fields"] as? NSDictionary
        }
        #expect(found == expected)
        let stat = try await Command.run("log", "stat", copy).objects().first
        #expect(stat?["liveRecords"] as? Int == found.count)
        // Somebody writes it, so that views are made; they are what the log says.
        let writing = try await Command.run("import", copy, "-", input: lines[0] + "\n")
        #expect(writing.status == 0)
        #expect(try await Command.run("log", "verify", copy).status == 0)
    }

    @Test(arguments: [["export"], ["zones"], ["changes", "--zone", "lists"]])
    func `A zone without a known name is reported with a remedy`(
        command: [String]
    ) async throws {
        let store = try await folder.store(lines)
        try overwrite("\(store)/\(Self.segment)", at: 420, with: garbage)
        try FileManager.default.removeItem(atPath: "\(store)/views")
        let outcome = try await Command.run(command + [store])
        #expect(outcome.status == 1)
        #expect(outcome.errors.contains("Damaged: \(store)/\(Self.segment), offset "))
        let error = try #require(
            outcome.errors.split(separator: "\n").last { $0.hasPrefix("Error: ") }
        )
        #expect(error.contains(store))
        #expect(error.contains("zone"))
        #expect(error.contains("`tidemark log salvage \(store) NEW`"))
    }

    @Test func `salvage works without a manifest`() async throws {
        let store = try await folder.store(lines)
        let exported = try await Command.run("export", store)
        try shell("cd '\(store)' && rm CURRENT manifest-*", in: folder)
        let copy = folder.path("copy.tide")
        let outcome = try await Command.run("log", "salvage", store, copy)
        #expect(try outcome.objects().first?["commits"] as? Int == 400)
        func untagged(_ text: String) -> String {
            text.replacing(/"recordChangeTag":"[^"]*"/, with: "")
        }
        let salvaged = try await Command.run("export", copy)
        #expect(untagged(salvaged.output) == untagged(exported.output))
    }
}
