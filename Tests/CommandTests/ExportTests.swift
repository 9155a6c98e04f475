// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TidemarkModel

@testable import TidemarkCommand

@Suite struct ExportTests {
    let folder: ScratchFolder
    let lines = SampleHistory.lines(60)

    init() throws {
        folder = try ScratchFolder()
    }

    /// Where each commit of a store ends, and its time.
    func commitEnds(_ store: String) async throws -> [(last: Int, time: Int64)] {
        var ends: [(last: Int, time: Int64)] = []
        for event in try await Command.run("log", "dump", store).objects() {
            let commit = try #require(event["commit"] as? [String: Any])
            let first = try #require(commit["first"] as? Int)
            let count = try #require(commit["events"] as? Int)
            let time = try #require(commit["time"] as? Int64)
            if ends.last?.last != first + count - 1 { ends.append((first + count - 1, time)) }
        }
        return ends
    }

    @Test func `An export at any commit equals the fold, by sequence and by time`() async throws {
        let store = try await folder.store(lines)
        let ends = try await commitEnds(store)
        try #require(ends.count == lines.count)
        var fold = IndependentFold()
        for (line, end) in zip(lines, ends) {
            try fold.add(Data(line.utf8))
            let time = RFC3339.text(milliseconds: end.time + 500)
            let bySequence = try await Command.run("export", store, "--at", "\(end.last)")
            let byTime = try await Command.run("export", store, "--at", time)
            #expect(bySequence.status == 0)
            #expect(try fold.difference(from: bySequence.lines) == nil)
            #expect(byTime.output == bySequence.output)
        }
        let now = try await Command.run("export", store)
        #expect(try fold.difference(from: now.lines) == nil)
        let before = try await Command.run("export", store, "--at", "2000-01-01T00:00:00Z")
        #expect(before.status == 0)
        #expect(before.output == "")
    }

    @Test func `A change stream up to the middle of a commit ends before the commit`() async throws
    {
        let saves = ["a", "b"].map { name in
            #"{"op":"save","zone":"z","recordName":"\#(name)","recordType":"T","fields":{}}"#
        }
        let changes = saves.joined(separator: ",")
        let line = #"{"time":9000000000000,"user":"u","request":"r1","changes":[\#(changes)]}"#
        let store = try await folder.store([lines[0], line])
        let all = try await Command.run("export", store, "--changes")
        let last = try #require(try await commitEnds(store).last?.last)
        let part = try await Command.run("export", store, "--changes", "--at", "\(last - 1)")
        #expect(part.status == 0)
        #expect(part.lines.count == all.lines.count - 1)
        #expect(all.output.hasPrefix(part.output))
        let whole = try await Command.run("export", store, "--changes", "--at", "\(last)")
        #expect(whole.output == all.output)
        let beyond = try await Command.run("export", store, "--changes", "--at", "\(last + 1)")
        #expect(beyond.status == 1)
    }

    @Test func `Errors show names without control characters`() async throws {
        let store = try await folder.store(lines)
        let name = "a\u{1B}[31m\nb"
        let found = try await Command.run("record", store, name, "--zone", "lists")
        #expect(found.status == 1)
        #expect(found.errors.contains("a\u{FFFD}[31m\u{FFFD}b"), "\(found.errors)")
        #expect(!found.errors.contains("\u{1B}"))
    }

    @Test func `The export of a zone is a part of the whole export`() async throws {
        let store = try await folder.store(lines)
        let all = try await Command.run("export", store)
        let lists = try await Command.run("export", store, "--zone", "lists")
        let kitchen = try await Command.run("export", store, "--zone", "Küche")
        // The order of zones is that of their bytes: K comes before l.
        #expect(all.output == kitchen.output + lists.output)
        #expect(!lists.lines.isEmpty && !kitchen.lines.isEmpty)
        // A decomposed ü is another name.
        let other = try await Command.run("export", store, "--zone", "Ku\u{308}che")
        #expect(other.status == 1)
        #expect(other.errors.hasPrefix("Error: zoneNotFound (26)"))
    }

    @Test func `record prints a record as it was at each point`() async throws {
        let store = try await folder.store(lines)
        let name = "item 3 \u{1F600}"
        for (last, _) in try await commitEnds(store).suffix(20) {
            let exported = try await Command.run([
                "export", store, "--zone", "lists", "--at", "\(last)",
            ])
            let line = exported.lines.first { $0.contains(#""recordName":"\#(name)""#) }
            let record = try await Command.run([
                "record", store, name, "--zone", "lists", "--at", "\(last)",
            ])
            #expect(record.status == (line == nil ? 1 : 0))
            #expect(record.lines == (line.map { [$0] } ?? []))
        }
        let missing = try await Command.run("record", store, "nothing", "--zone", "lists")
        #expect(missing.status == 1)
        #expect(missing.errors.hasPrefix("Error: unknownItem (11)"))
    }

    @Test func `Importing the change stream of a store makes an equal store`() async throws {
        let noted =
            #"{"time":9,"user":"u","changes":[{"op":"delete","zone":"z","recordName":"n"}]}"#
        let store = try await folder.store(lines + [noted, noted])
        let stream = try await Command.run("export", store, "--changes")
        #expect(stream.status == 0)
        #expect(stream.lines.count == 62)
        let copy = try await folder.store(stream.lines.map(String.init), name: "copy.tide")
        var fold = IndependentFold()
        for line in lines { try fold.add(Data(line.utf8)) }
        #expect(try await fold.difference(from: Command.run("export", copy).lines) == nil)
        #expect(try await Command.run("export", copy, "--changes").output == stream.output)
        // Neither doubles what the other holds.
        for (from, into) in [(stream.output, store), (lines.joined(separator: "\n"), copy)] {
            let again = try await Command.run("import", into, "-", input: from)
            #expect(try again.objects().first?["commits"] as? Int == 0)
        }
        let kitchen = try await Command.run("export", store, "--changes", "--zone", "Küche")
        #expect(kitchen.lines.count < 60)
        #expect(!kitchen.output.contains(#""zone":"lists""#))
    }

    @Test func `Importing a part of a commit does not block the whole one`() async throws {
        let save = #"{"op":"save","recordName":"r","recordType":"T","fields":{"n":1},"zone":"#
        let store = try await folder.store([
            #"{"time":9,"user":"u","request":"id-1","changes":["#
                + save + #""a"},"# + save + #""b"}]}"#,
            #"{"time":9,"user":"u","request":"id-2","changes":["# + save + #""c"}]}"#,
        ])
        let copy = folder.path("copy.tide")
        for part in [["--zone", "a"], ["--zone", "b"], ["--zone", "c"], []] {
            let stream = try await Command.run(["export", store, "--changes"] + part)
            // A line that is the whole commit keeps its id.
            #expect(stream.output.contains("id-1") == part.isEmpty)
            #expect(stream.output.contains("id-2") == (part == ["--zone", "c"] || part.isEmpty))
            let taken = try await Command.run("import", copy, "-", input: stream.output)
            #expect(taken.status == 0, "\(taken.errors)")
        }
        let live = try await Command.run("export", copy)
        #expect(live.lines.count == 3)
        let refused = try await Command.run("export", store, "--changes", "--owner", "u")
        #expect(refused.status == 64)
        #expect(refused.errors.contains("leave out"))
    }

    @Test(arguments: [
        ("0", 0), ("99999", 1), ("yesterday", 64), ("2023-11-14", 0), ("-99999", 1),
        ("t.AAAA", 1), ("t.", 1), ("t.***", 1),
    ])
    func `A point that does not exist is rejected`(point: String, status: Int32) async throws {
        let store = try await folder.store(Array(lines.prefix(5)))
        let outcome = try await Command.run("export", store, "--at=\(point)")
        #expect(outcome.status == status, "\(outcome.errors)")
        #expect(outcome.output == "")
        #expect((outcome.errors == "") == (status == 0))
    }

    @Test func `A closed pipe is not a failure`() async throws {
        let store = try await folder.store(SampleHistory.lines(600))
        let outcome = try await Command.script(
            """
            for command in "export $store" "export --changes" "log dump"; do
                ( "$tidemark" $command \(store); echo "status $?" >&2 ) | head -n 1 | wc -l
            done
            """,
            in: folder
        )
        #expect(outcome.output == "1\n1\n1\n")
        #expect(outcome.errors == "status 0\nstatus 0\nstatus 0\n")
    }

    @Test func `A store can be exported while another process writes it`() async throws {
        let store = try await folder.store(Array(lines.prefix(20)))
        try Data(lines.suffix(40).map { "\($0)\n" }.joined().utf8)
            .write(to: folder.url.appending(path: "rest"))
        let outcome = try await Command.script(
            """
            mkfifo pipe
            before=$("$tidemark" log dump \(store) | wc -l)
            "$tidemark" import \(store) - <pipe >/dev/null & writer=$!
            exec 3>pipe
            head -n 10 rest >&3
            "$tidemark" log tail \(store) --from $((before + 1)) --count 1 >/dev/null
            "$tidemark" import \(store) rest && echo "two writers"
            until "$tidemark" export \(store) --changes | grep -q '"request":"r-29"'; do
                sleep 0.1
            done
            "$tidemark" export \(store)
            exec 3>&-
            wait $writer
            """,
            in: folder
        )
        #expect(outcome.status == 0)
        #expect(outcome.errors.contains("has the store open for writing"), "\(outcome.errors)")
        var fold = IndependentFold()
        for line in lines.prefix(30) { try fold.add(Data(line.utf8)) }
        #expect(try fold.difference(from: outcome.lines) == nil)
    }
}
