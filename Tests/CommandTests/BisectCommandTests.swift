// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@Suite struct BisectCommandTests {
    let folder: ScratchFolder

    init() throws {
        folder = try ScratchFolder()
    }

    /// A store whose records count up, and of which one is wrong from a commit on.
    private func store(wrongFrom wrong: Int, mendedAt mended: Int? = nil) async throws -> String {
        let lines = (1...100).map { number in
            let isWrong = number == wrong
            let count = isWrong ? -1 : number
            let name = isWrong || number == mended ? "odd" : "item \(number % 10)"
            return
                #"{"time":\#(number * 1000),"user":"u-\#(number)","changes":[{"op":"save","zone":"z","recordName":"\#(name)","recordType":"Item","fields":{"count":\#(count)}}]}"#
        }
        return try await folder.store(lines)
    }

    @Test func `A predicate finds the event that broke a rule`() async throws {
        let store = try await store(wrongFrom: 63)
        let found = try await Command.run("bisect", store, "--bad", "count < 0").objects()
        let event = try #require(found.first?["event"] as? [String: Any])
        // The zone's creation comes before the first record.
        #expect(found.first?["bad"] as? Int == 64)
        #expect(found.first?["isMonotone"] as? Bool == true)
        #expect((event["commit"] as? [String: Any])?["user"] as? String == "u-63")
        let text = try await Command.run("bisect", store, "--bad", "count < 0", "--text")
        #expect(text.output.contains("u-63"))
        let typed = try await Command.run("bisect", store, "--bad", "count < 0", "--type", "Other")
        #expect(typed.status == 1 && typed.errors.contains("record type: Other"))
        let late = try await Command.run("bisect", store, "--bad", "count < 0", "--from", "80")
        #expect(late.status == 1 && late.errors.contains("already bad"))
    }

    @Test(arguments: [
        ["--type", "Itme", "count > 1"], ["--type", "Item", "cuont > 1"],
        ["--type", "Item", "count BEGINSWITH 'a'"],
    ])
    func `A name that query rejects is rejected with the same error`(
        arguments: [String]
    ) async throws {
        let store = folder.path("typed.tide")
        let saved = try await Command.run("save", store, "milk", "--type", "Item", "count=1")
        #expect(saved.status == 0)
        let (type, predicate) = (Array(arguments[..<2]), arguments[2])
        let query = ["query", store, "--where", predicate] + type
        let rejected = try await Command.run(query)
        let bisect = ["bisect", store, "--bad", predicate] + type
        let found = try await Command.run(bisect)
        #expect(found.status == 1 && rejected.status == 1)
        #expect(!found.errors.isEmpty && found.errors == rejected.errors)
    }

    @Test func `A field that no record type and no record has is rejected`() async throws {
        let store = try await store(wrongFrom: 63)
        for type in [[], ["--type", "Item"]] {
            let bisect = ["bisect", store, "--bad", "cuont < 0"] + type
            let unknown = try await Command.run(bisect)
            #expect(unknown.status == 1)
            #expect(unknown.errors.contains("Unknown field 'cuont'"), "\(unknown.errors)")
        }
        // An import extends no schema, and the field of its records is known.
        let never = try await Command.run("bisect", store, "--bad", "count < -5")
        #expect(never.status == 1 && never.errors.contains("No record matches"))
    }

    @Test func `A predicate that becomes false again is reported as not monotone`() async throws {
        let store = try await store(wrongFrom: 20, mendedAt: 30)
        let found = try await Command.run("bisect", store, "--bad", "count < 0").objects()
        #expect(found.first?["bad"] as? Int == 21)
        #expect(found.first?["isMonotone"] as? Bool == false)
        #expect(found.first?["contradiction"] as? Int == 31)
    }

    @Test func `A command that inspects the state finds the same event`() async throws {
        let store = try await store(wrongFrom: 63)
        let script = "! grep -q '\"count\":-1'"
        let found = try await Command.run("bisect", store, "--zone", "z", "--run", script).objects()
        #expect(found.first?["bad"] as? Int == 64)
        #expect(found.first?["isMonotone"] == nil)
        // Seven halvings of 101 events, both ends, and three quarters on each side.
        let probes = try #require(found.first?["probes"] as? Int)
        #expect(probes <= 7 + 2 + 6)
    }

    @Test func `A violation within one commit that the commit fixes is ignored`() async throws {
        // What is taken from one is given to the other; commit 28 gives one too many.
        var (first, second) = (50, 50)
        var lines: [String] = []
        func add(_ time: Int) {
            let saves = [("a", first), ("b", second)].map { name, value in
                #"{"op":"save","zone":"z","recordName":"\#(name)","recordType":"Account","fields":{"value":\#(value)}}"#
            }
            lines.append(
                #"{"time":\#(time),"user":"u","changes":[\#(saves.joined(separator: ","))]}"#
            )
        }
        add(0)
        for time in 1...30 {
            first -= 1
            second += time == 28 ? 2 : 1
            add(time)
        }
        let store = try await folder.store(lines)
        let sum =
            #"s=0; for n in $(sed 's/.*"value":\([0-9]*\).*/\1/'); do s=$((s+n)); done; [ $s = 100 ]"#
        let found = try await Command.run([
            "bisect", store, "--zone", "z", "--from", "3", "--run", sum,
        ]).objects()
        // A zone, two records, and two events for each commit: the second of number 28 is 59.
        let bad = try #require(found.first?["bad"] as? Int)
        #expect([58, 59].contains(bad))
        #expect(found.first?["isMonotone"] == nil)
        // In the midst of each commit, from the first to the last, `a` was the smaller by one more.
        let never = try await Command.run("bisect", store, "--bad", "value = 50", "--from", "1")
        #expect(try never.objects().first?["bad"] as? Int == 2)
        let hidden = try await folder.store(
            [
                #"{"time":1,"user":"u","changes":[{"op":"createZone","zone":"z"}]}"#,
                #"{"time":2,"user":"u","changes":[\#(save("a", 1)),\#(save("b", 0))]}"#,
                #"{"time":3,"user":"u","changes":[\#(save("a", 0)),\#(save("b", 1))]}"#,
                #"{"time":4,"user":"u","changes":[\#(save("b", 0)),\#(save("a", 1))]}"#,
            ],
            name: "hidden.tide"
        )
        // Some record has it after every commit; between the events of the third none has.
        let whole = try await Command.run("bisect", hidden, "--bad", "n = 1").objects()
        #expect(whole.first?["bad"] as? Int == 2)
        #expect(whole.first?["isMonotone"] as? Bool == true)
    }

    private func save(_ name: String, _ value: Int) -> String {
        #"{"op":"save","zone":"z","recordName":"\#(name)","recordType":"T","fields":{"n":\#(value)}}"#
    }

    @Test func `A command may skip a state, and may ignore its input`() async throws {
        let store = try await store(wrongFrom: 63)
        // By how many records there are.
        let unknown = "n=$(grep -c .); test $n -lt 8 && exit 0; test $n -lt 10 && exit 125; exit 1"
        let found = try await Command.run("bisect", store, "--zone", "z", "--run", unknown)
            .objects()
        // The tenth record is the one of event 11; from the eighth on nobody could tell.
        #expect(found.first?["bad"] as? Int == 11)
        #expect(found.first?["good"] as? Int == 8)
        let blind = try await Command.run("bisect", store, "--run", "exit 0")
        #expect(blind.status == 1 && blind.errors.contains("not bad as of"))
        let broken = try await Command.run("bisect", store, "--run", "/does/not/exist")
        #expect(broken.status == 1 && broken.errors.contains("status 127"))
    }

    @Test func `If history was dropped, the search starts with what is kept`() async throws {
        let store = try await store(wrongFrom: 0)
        #expect(try await Command.run("compact", store, "--keep-history", "none").status == 0)
        let broken = #"""
            {"time":900000,"user":"u","changes":[{"op":"save","zone":"z","recordName":"new","recordType":"Item","fields":{"count":1}}]}
            {"time":901000,"user":"culprit","changes":[{"op":"save","zone":"z","recordName":"new","recordType":"Item","fields":{"count":-1}}]}

            """#
        #expect(try await Command.run("import", store, "-", input: broken).status == 0)
        for search in [["--bad", "count < 0"], ["--run", "! grep -q '\"count\":-1'"]] {
            let found = try await Command.run(["bisect", store] + search).objects()
            let event = try #require(found.first?["event"] as? [String: Any])
            #expect((event["commit"] as? [String: Any])?["user"] as? String == "culprit")
            let command = search[0] == "--bad" ? "count > 0" : "exit 1"
            let earlier = try await Command.run(["bisect", store, search[0], command])
            #expect(earlier.status == 1)
            #expect(earlier.errors.contains("The history that is kept begins there."))
        }
    }

    @Test(arguments: ["HUP", "INT", "TERM", "PIPE", "XFSZ", "KILL"])
    func `A command that is ended by a signal ends the search`(_ name: String) async throws {
        let store = try await store(wrongFrom: 63)
        let ended = try await Command.run("bisect", store, "--run", "kill -\(name) $$; exit 0")
        #expect(ended.status == 1)
        #expect(ended.errors.contains("ended by signal"), "\(ended.errors)")
    }

    @Test(arguments: [["--from", "5", "--to", "3"], ["--from", "5", "--to", "5"]])
    func `Points that are not in order are reported`(points: [String]) async throws {
        let store = try await store(wrongFrom: 63)
        let outcome = try await Command.run(["bisect", store, "--bad", "count < 0"] + points)
        #expect(outcome.status == 1)
        #expect(outcome.errors.contains("Event 5, after which the search begins, is not before"))
    }

    @Test func `An undecidable start or end is reported`() async throws {
        let store = try await store(wrongFrom: 63)
        let end = try await Command.run("bisect", store, "--run", "exit 125")
        #expect(end.status == 1)
        #expect(end.errors.contains("cannot tell whether it is bad as of event 101"))
        let script = "grep -q '\"count\":-1' && exit 1; exit 125"
        let start = try await Command.run("bisect", store, "--run", script)
        #expect(start.status == 1)
        #expect(start.errors.contains("cannot tell whether it is good as of event 0"))
    }

    @Test(arguments: [["--bad", "count < 0"], ["--run", "true"], ["--run", "false"]])
    func `A zone that never existed is reported`(arguments: [String]) async throws {
        let store = try await store(wrongFrom: 63)
        let found = try await Command.run(["bisect", store, "--zone", "Z"] + arguments)
        #expect(found.status == 1)
        #expect(found.errors.contains("There is no zone Z"), "\(found.errors)")
    }

    @Test func `A zone that has ended keeps the verdict of the command`() async throws {
        let store = try await store(wrongFrom: 63)
        #expect(try await Command.run("zones", "delete", store, "z").status == 0)
        let found = try await Command.run(
            "bisect",
            store,
            "--zone",
            "z",
            "--from",
            "9",
            "--run",
            "true"
        )
        #expect(found.errors.contains("It is not bad as of event 102"), "\(found.errors)")
    }

    @Test func `Contradicting samples are reported`() async throws {
        let store = try await store(wrongFrom: 5, mendedAt: 40)
        let found = try await Command.run(
            "bisect",
            store,
            "--run",
            // Bad at the end for another reason.
            "cat > state; if grep -q '\"count\":100' state; then exit 1; fi; ! grep -q '\"count\":-1' state"
                .replacing("state", with: folder.path("state"))
        ).objects()
        #expect(found.first?["bad"] as? Int == 101)
        #expect(found.first?["isMonotone"] as? Bool == false)
    }

    @Test(arguments: [
        [], ["--bad", "count < 0", "--run", "true"], ["--run", "true", "--type", "Item"],
        ["--bad", "count <"],
    ])
    func `Invalid arguments are a usage error`(arguments: [String]) async throws {
        let store = try await store(wrongFrom: 2)
        let outcome = try await Command.run(["bisect", store] + arguments)
        #expect(outcome.status == 64)
    }
}
