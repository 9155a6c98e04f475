// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import TidemarkCommand

@Suite struct PastCommandTests {
    let folder: ScratchFolder

    init() throws {
        folder = try ScratchFolder()
    }

    @Test func `history prints the logged versions of a record, newest first`() async throws {
        let store = try await folder.store(SampleHistory.lines(200))
        let name = "item 3 \u{1F600}"
        let dump = try await Command.run("log", "dump", store, "--record", name, "--zone", "lists")
            .objects()
        let history = try await Command.run("history", store, name, "--zone", "lists").objects()
        try #require(dump.count > 3)
        #expect(history.count == dump.count)
        for (entry, event) in zip(history, dump.reversed()) {
            let commit = try #require(event["commit"] as? [String: Any])
            #expect(entry["sequence"] as? Int == event["sequence"] as? Int)
            #expect(entry["time"] as? Int == commit["time"] as? Int)
            #expect(entry["user"] as? String == commit["user"] as? String)
            #expect(entry["device"] as? String == commit["device"] as? String)
            #expect(entry["request"] as? String == commit["request"] as? String)
            let isDeletion = event["event"] as? String == "recordDeleted"
            #expect((entry["happened"] as? String == "deleted") == isDeletion)
            #expect(entry["recordChangeTag"] as? String == event["recordChangeTag"] as? String)
        }
        // What a version set is what the one after it says was before.
        for (newer, older) in zip(history, history.dropFirst()) {
            let before = newer["before"] as? [String: Any]
            guard let count = before?["count"] as? Int else { continue }
            #expect((older["set"] as? [String: Any])?["count"] as? Int == count)
        }
        let text = try await Command.run("history", store, name, "--zone", "lists", "--text")
        #expect(text.output.contains("  created  "))
        #expect(text.output.contains(" → "))
        #expect(!text.output.contains("\u{1B}"))
        let one = try await Command.run(["history", store, name, "--zone", "lists", "--limit", "1"])
        #expect(one.lines.count == 1)
    }

    @Test func `Negative points, dates and ages are accepted`() async throws {
        let store = try await folder.store(SampleHistory.lines(20))
        let dump = try await Command.run("log", "dump", store).objects()
        let last = try #require(dump.last?["sequence"] as? Int)
        let then = try await Command.run("export", store, "--at", "\(last - 3)").output
        let now = try await Command.run("export", store).output
        #expect(!then.isEmpty && then != now)
        #expect(try await Command.run("export", store, "--at", "-3").output == then)
        #expect(try await Command.run("export", store, "--at", "1 hour ago").output == now)
        #expect(try await Command.run("export", store, "--at", "2023-11-15").output == now)
        #expect(try await Command.run("export", store, "--at", "2023-11-14").output.isEmpty)
        let diff = try await Command.run("diff", store, "-3", "-1")
        let numbers = try await Command.run("diff", store, "--from", "-3", "--to", "-1")
        #expect(diff.status == 64 && numbers.status == 0)
        let sequences = try await Command.run([
            "diff", store, "--from", "\(last - 3)", "--to", "\(last - 1)",
        ])
        #expect(numbers.output == sequences.output && !numbers.output.isEmpty)
        #expect(try await Command.run("log", "dump", store, "--until", "2023-11-14").output == "")
        #expect(
            try await Command.run("log", "dump", store, "--since", "2023-11-14").lines.count == last
        )
        for command in ["fork", "restore"] {
            let copy = folder.path(command)
            #expect(try await Command.run(command, store, copy, "--at=-\(last + 1)").status == 1)
            #expect(try await Command.run(command, store, copy, "--at", "-3").status == 0)
        }
        let refused = try await Command.run("export", store, "--at", "-\(last + 1)")
        #expect(refused.status == 1 && refused.errors.contains("The newest event is \(last)"))
    }

    @Test func `An option is not parsed as a point`() async throws {
        let store = try await folder.store(SampleHistory.lines(2))
        let outcome = try await Command.run("query", store, "--type", "Item", "--at", "--json")
        #expect(outcome.status == 64)
        #expect(outcome.errors.contains("'--json' is not a point"))
    }

    @Test func `blame names the import line that set each field`() async throws {
        let lines = [
            #"{"time":1000,"user":"u-1","device":"phone","build":"7","changes":[{"op":"save","zone":"z","recordName":"r","recordType":"T","fields":{"a":1,"b":"x"}}]}"#,
            #"{"time":2000,"user":"u-2","request":"again","changes":[{"op":"save","zone":"z","recordName":"r","recordType":"T","fields":{"a":1,"b":"y"}}]}"#,
            #"{"time":3000,"user":"u-3","changes":[{"op":"save","zone":"z","recordName":"r","recordType":"T","fields":{"a":1}}]}"#,
        ]
        let store = try await folder.store(lines)
        let blame = try await Command.run("blame", store, "r", "--zone", "z").objects()
        #expect(blame.map { $0["field"] as? String } == ["a", "b"])
        #expect(blame.map { $0["user"] as? String } == ["u-1", "u-3"])
        #expect(blame[0]["value"] as? Int == 1)
        #expect(blame[0]["device"] as? String == "phone" && blame[0]["build"] as? String == "7")
        #expect(blame[0]["time"] as? Int == 1000)
        #expect(blame[1]["isRemoved"] as? Bool == true)
        let before = try await Command.run([
            "blame", store, "r", "--zone", "z", "--at", "1970-01-01T00:00:02Z",
        ]).objects()
        #expect(before.map { $0["value"] as? String } == [nil, "y"])
        #expect(before[1]["request"] as? String == "again")
        let text = try await Command.run("blame", store, "r", "--zone", "z", "--text")
        #expect(text.output.contains("u-1 on phone"))
        #expect(text.output.contains("(removed)"))
    }

    @Test func `The error for a wrong zone or record names other commands to try`() async throws {
        let store = try await folder.store(SampleHistory.lines(20))
        for command in ["history", "blame", "record"] {
            let noZone = try await Command.run(command, store, "item 1", "--zone", "nowhere")
            #expect(noZone.status == 1)
            #expect(
                noZone.errors.contains(
                    "There is no zone nowhere. `tidemark zones list \(store)` tells"
                )
            )
            let noRecord = try await Command.run(command, store, "nothing", "--zone", "lists")
            #expect(noRecord.status == 1)
            #expect(
                noRecord.errors.contains(
                    "There is no record nothing in zone lists. It may be in another zone"
                )
            )
        }
    }

    @Test func `diff shows the type of a record that was recreated with another`() async throws {
        let lines = [
            #""op":"save","recordType":"Old","fields":{"n":1}"#, #""op":"delete""#,
            #""op":"save","recordType":"New","fields":{"n":1}"#,
        ].map { change in
            #"{"time":1000,"user":"u","changes":[{"zone":"z","recordName":"r",\#(change)}]}"#
        }
        let store = try await folder.store(lines)
        let diff = try await Command.run("diff", store, "--from", "2").objects()
        #expect(diff.count == 1)
        #expect(diff.first?["happened"] as? String == "changed")
        #expect(diff.first?["recordType"] as? String == "New")
        #expect(diff.first?["recordTypeBefore"] as? String == "Old")
        let text = try await Command.run("diff", store, "--from", "2", "--text").output
        #expect(text.contains("~ z/r  Old → New"))
    }

    @Test func `A delete and save on one line are both printed and exported`() async throws {
        let lines = [
            #"{"time":1000,"user":"u","changes":[{"op":"save","zone":"z","recordName":"r","recordType":"Old","fields":{"n":1}}]}"#,
            #"{"time":2000,"user":"u","changes":[{"op":"delete","zone":"z","recordName":"r"},{"op":"save","zone":"z","recordName":"r","recordType":"New","fields":{}}]}"#,
        ]
        let store = try await folder.store(lines)
        let history = try await Command.run("history", store, "r", "--zone", "z").objects()
        #expect(history.map { $0["happened"] as? String } == ["recreated", "created"])
        #expect(history[0]["recordTypeBefore"] as? String == "Old")
        #expect(history[0]["removed"] as? [String] == ["n"])
        #expect((history[0]["set"] as? [String: Any])?.isEmpty == true)
        let text = try await Command.run("history", store, "r", "--zone", "z", "--text").output
        #expect(text.contains("  deleted and created again  "))
        #expect(text.contains("    record type: Old → New\n"))
        let dump = try await Command.run("log", "dump", store, "--record", "r").objects()
        #expect(dump.map { $0["isRecreation"] as? Bool } == [nil, true])
        // Without an id: the same line comes to the same one.
        let export = try await Command.run("export", store, "--changes").output
        #expect(export == lines.joined(separator: "\n") + "\n")
    }

    @Test func `diff prints the difference of the exports at two points`() async throws {
        let store = try await folder.store(SampleHistory.lines(120))
        func records(at point: Int) async throws -> [String: NSDictionary] {
            var records: [String: NSDictionary] = [:]
            for record in try await Command.run("export", store, "--at", "\(point)").objects() {
                let zone = try #require(record["zone"] as? String)
                let name = try #require(record["recordName"] as? String)
                records["\(zone)/\(name)"] = try #require(record["fields"] as? NSDictionary)
            }
            return records
        }
        let (before, after) = try await (records(at: 60), records(at: 200))
        let differing = Set(before.keys).union(after.keys).filter { before[$0] != after[$0] }
        let diff = try await Command.run("diff", store, "--from", "60", "--to", "200").objects()
        var found: Set<String> = []
        for difference in diff {
            guard let name = difference["recordName"] as? String else { continue }
            let zone = try #require(difference["zone"] as? String)
            let place = "\(zone)/\(name)"
            found.insert(place)
            let happened = try #require(difference["happened"] as? String)
            #expect((happened == "added") == (before[place] == nil))
            #expect((happened == "removed") == (after[place] == nil))
            // What was there, without what it was before, with what was set, is what is there.
            var fields = before[place] as? [String: NSObject] ?? [:]
            let old = try #require(difference["before"] as? [String: NSObject])
            for (name, value) in old { #expect(fields[name] == value) }
            for name in old.keys { fields[name] = nil }
            let set = try #require(difference["set"] as? [String: NSObject])
            fields.merge(set) { $1 }
            #expect(fields as NSDictionary == after[place] ?? [:], "\(place)")
        }
        #expect(found == differing)
        #expect(!found.isEmpty)
    }

    @Test func `diff compares texts by lines and lists by elements`() async throws {
        func line(_ time: Int, _ fields: String) -> String {
            #"{"time":\#(time),"user":"u","changes":[{"op":"save","zone":"z","recordName":"r","recordType":"T","fields":{\#(fields)}}]}"#
        }
        let store = try await folder.store([
            line(1, #""text":"one\ntwo\nthree\n","tags":["a","b"]"#),
            line(2, #""text":"one\n2\nthree\n","tags":["b","c"]"#),
        ])
        let diff = try await Command.run("diff", store, "--from", "2", "--zone", "z").objects()
        let record = try #require(diff.last)
        #expect(
            record["lines"] as? [String: [String]]
                == ["text": ["@@ -1,3 +1,3 @@", " one", "-two", "+2", " three"]]
        )
        #expect(
            record["elements"] as? [String: [String: [String]]]
                == ["tags": ["removed": ["a"], "added": ["c"]]]
        )
        let text = try await Command.run("diff", store, "--from", "2", "--text")
        #expect(
            text.output == """
                ~ z/r  T
                    tags
                        - "a"
                        + "c"
                    text
                        @@ -1,3 +1,3 @@
                         one
                        -two
                        +2
                         three

                """
        )
        #expect(try await Command.run("diff", store, "--from", "0").lines.count == 2)
        let history = try await Command.run("history", store, "r", "--zone", "z", "--text")
        #expect(history.output.contains("    text\n        @@ -1,3 +1,3 @@\n"))
    }

    @Test func `A record that never existed ends with status 1`() async throws {
        let store = try await folder.store(SampleHistory.lines(5))
        for command in ["history", "blame"] {
            let outcome = try await Command.run(command, store, "nobody", "--zone", "lists")
            #expect(outcome.status == 1 && outcome.output == "")
            #expect(outcome.errors.contains("nobody"))
        }
        #expect(try await Command.run("diff", store, "--from", "99999").status == 1)
        #expect(try await Command.run("diff", store, "--from", "tomorrow").status == 64)
    }

    @Test func `Colors are used on terminals unless disabled`() {
        let coloured = Ink(isTerminal: true, ["TERM": "xterm"]).text("x", .added)
        #expect(coloured == "\u{1B}[32mx\u{1B}[0m")
        #expect(Ink(isTerminal: false, [:]).text("x", .added) == "x")
        #expect(Ink(isTerminal: true, ["NO_COLOR": "1"]).text("x", .added) == "x")
        #expect(Ink(isTerminal: true, ["NO_COLOR": ""]).text("x", .added) != "x")
        #expect(Ink(isTerminal: true, ["TERM": "dumb"]).text("x", .added) == "x")
    }
}
