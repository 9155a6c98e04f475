// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// The reader in Python was written from the pages on formats alone, so it shows that they suffice.
@Suite struct FormatReaderTests {
    let folder: ScratchFolder

    init() throws {
        folder = try ScratchFolder()
    }

    private struct Reading {
        var status: Int32
        var events: [NSDictionary]
        var messages: String
    }

    /// Runs the reader; its messages come in the same output, so they go to a file.
    private func read(_ store: String, _ options: String = "") async throws -> Reading {
        let reader = ExampleTests.project.appendingPathComponent("Docs/Examples/FormatReader").path
        let script = "PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 '\(reader)' '\(store)' \(options)"
        let outcome = try await Command.script(script, in: folder)
        let isMissing = outcome.status == 127 || outcome.errors.contains("is missing")
        try #require(!isMissing, "Run tools/prerequisites: \(outcome.errors)")
        #expect(!outcome.errors.contains("Traceback"), "\(outcome.errors)")
        let events = try outcome.objects().map { NSDictionary(dictionary: $0) }
        return Reading(status: outcome.status, events: events, messages: outcome.errors)
    }

    private func expectSameEvents(
        _ store: String,
        location: SourceLocation = #_sourceLocation
    ) async throws {
        let dump = try await Command.run("log", "dump", store, "--json")
        try #require(dump.status == 0, "\(dump.errors)", sourceLocation: location)
        let expected = try dump.objects().map { NSDictionary(dictionary: $0) }
        let reading = try await read(store)
        #expect(reading.status == 0, "\(reading.messages)", sourceLocation: location)
        #expect(!expected.isEmpty, sourceLocation: location)
        #expect(reading.events.count == expected.count, sourceLocation: location)
        for (event, expected) in zip(reading.events, expected) where event != expected {
            Issue.record("\(event) is not \(expected)", sourceLocation: location)
            return
        }
    }

    private func run(_ arguments: [String]) async throws {
        let outcome = try await Command.run(arguments)
        try #require(outcome.status == 0, "\(arguments): \(outcome.errors)")
    }

    private func firstSegment(_ store: String) throws -> String {
        let segments = store + "/segments"
        let names = try FileManager.default.contentsOfDirectory(atPath: segments)
        return segments + "/" + (try #require(names.filter { $0.hasSuffix(".seg") }.min()))
    }

    @Test func `The reader reads an import with every type of field`() async throws {
        let path = "Tests/TidemarkModelTests/Fixtures/v1/changes.jsonl"
        let lines = try ExampleTests.text(path).split(separator: "\n").map(String.init)
        try await expectSameEvents(try await folder.store(lines))
    }

    @Test func `The reader reads compacted, copied and erased stores`() async throws {
        let store = try await folder.store(SampleHistory.lines(300))
        try await expectSameEvents(store)
        let paths = ["none", "day", "backup", "restored", "fork", "salvaged", "erased"]
            .map { folder.path("\($0).tide") }
        for copy in [paths[0], paths[1], paths[6]] {
            try FileManager.default.copyItem(atPath: store, toPath: copy)
        }
        try await run(["compact", paths[0], "--keep-history", "none"])
        try await run(["compact", paths[1], "--keep-history", "1d"])
        try await run(["backup", store, paths[2]])
        try await run(["restore", paths[2], paths[3], "--at", "200"])
        try await run(["fork", store, paths[4], "--at", "300"])
        try await run(["log", "salvage", paths[0], paths[5]])
        try await run(["erase", paths[6], "--user", "u-1"])
        for path in paths {
            try await expectSameEvents(path)
        }
    }

    @Test func `The reader reads shares, assets, users and rejections`() async throws {
        let store = folder.path()
        try Data("abc".utf8).write(to: URL(filePath: folder.path("photo")))
        try await run(["zones", "create", store, "Notes"])
        let photo = "photo:ASSET=@" + folder.path("photo")
        try await run([
            "save", store, "root", "--zone", "Notes", "--type", "Note", "text=hi", photo,
        ])
        try await run([
            "save", store, "child", "--zone", "Notes", "--type", "Note", "--parent", "root",
        ])
        try await run([
            "share", "create", store, "--zone", "Notes", "--root", "root", "--public", "readWrite",
        ])
        try await run(["users", "set", store, "anna", "--email", "anna@example.com"])
        let refused = try await Command.run("save", store, "x", "--zone", "Nowhere", "--type", "T")
        #expect(refused.status == 1)
        let assets = try await read(store, "--assets").events
        #expect(assets.map { $0["size"] as? Int } == [3])
        #expect(assets.map { $0["isSound"] as? Bool } == [true])
        try await run(["zones", "delete", store, "Notes"])
        try await expectSameEvents(store)
        let kinds = Set(try await read(store).events.compactMap { $0["event"] as? String })
        #expect(
            kinds.isSuperset(of: ["zoneCreated", "recordSaved", "audienceEntered", "zoneDeleted"])
        )
        let journal = try await read(store, "--journal").events
        let known = try await Command.run("journal", store, "--json")
        #expect(known.status == 0, "\(known.errors)")
        let messages = journal.flatMap { $0["refusals"] as? [NSDictionary] ?? [] }
            .compactMap { $0["message"] as? String }
        #expect(!messages.isEmpty)
        for message in messages { #expect(known.output.contains(message)) }
    }

    @Test func `The reader reads the log of a killed process`() async throws {
        let lines = SampleHistory.lines(3_000)
        let store = try await folder.store(Array(lines[..<2_000]))
        let input = folder.path("rest.jsonl")
        try lines[2_000...].map { $0 + "\n" }.joined()
            .write(toFile: input, atomically: true, encoding: .utf8)
        let outcome = try await Command.script(
            "$tidemark import test.tide rest.jsonl > imported & sleep 0.3; kill -9 $!; wait $!; true",
            in: folder
        )
        #expect(outcome.status == 0)
        // The next opening ends what was cut off.
        try await run(["import", store, input])
        try await expectSameEvents(store)
    }

    @Test func `The reader skips a torn tail and reports damage`() async throws {
        let store = try await folder.store(SampleHistory.lines(20))
        let torn = folder.path("torn.tide")
        try FileManager.default.copyItem(atPath: store, toPath: torn)
        let whole = try await read(store).events
        try overwrite(try firstSegment(torn), at: 500_000, with: garbage)
        let passed = try await read(torn)
        #expect(passed.status == 0, "\(passed.messages)")
        #expect(passed.events == whole)
        try overwrite(try firstSegment(store), at: 400, with: garbage)
        let damaged = try await read(store)
        #expect(damaged.status == 1)
        #expect(damaged.messages.contains("00000000000000000001-0.seg, b"))
        #expect(damaged.events.count < whole.count)
        try Data("manifest-000001 0\n".utf8).write(to: URL(filePath: torn + "/CURRENT"))
        let other = try await read(torn)
        #expect(other.status == 1)
        #expect(other.messages.contains("CURRENT: the hash of the name is wrong"))
    }

    @Test(arguments: ["v1/log", "v1/compacted", "v2/striped"])
    func `The reader reads the golden files of the log`(name: String) async throws {
        let fixtures = "Tests/TidemarkLogTests/Fixtures/\(name)"
        let reading = try await read(
            ExampleTests.project.appendingPathComponent(fixtures).path,
            "--log"
        )
        #expect(reading.status == 0, "\(reading.messages)")
        let dump = try ExampleTests.text(fixtures + ".dump.txt").split(separator: "\n")
        let expected = dump.filter { $0.contains(" commit ") && $0.contains(" zone ") }
        #expect(reading.events.count == expected.count)
        for (event, line) in zip(reading.events, expected) {
            func number(_ key: String) -> Int { event[key] as? Int ?? -1 }
            let place = "\(number("position")) zone \(number("zone")) "
            let commit = "commit \(number("first"))+\(number("events")) "
            let times = "time \(number("time")) received \(number("received")) "
            #expect(line.hasPrefix(place + commit + times))
        }
    }
}
