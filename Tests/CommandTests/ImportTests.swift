// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@Suite struct ImportTests {
    let folder: ScratchFolder
    let lines = SampleHistory.lines(60)

    init() throws {
        folder = try ScratchFolder()
    }

    /// Runs an import and returns its report, after checking its status.
    func report(
        _ arguments: String...,
        input: [String] = [],
        status: Int32 = 0
    ) async throws -> [Int] {
        let text = input.map { "\($0)\n" }.joined()
        let outcome = try await Command.run(["import"] + arguments, input: Array(text.utf8))
        #expect(outcome.status == status, "\(outcome.errors)")
        let keys = ["commits", "changes", "skipped", "missingDeletes"]
        let object = try #require(try outcome.objects().first)
        #expect(Set(object.keys) == Set(keys + ["schemaChanges"]))
        return try keys.map { try #require(object[$0] as? Int) }
    }

    func export(_ store: String, _ arguments: String...) async throws -> Command.Outcome {
        try await Command.run(["export", store] + arguments)
    }

    @Test(arguments: [
        "no JSON", #"{"time":0,"user":"u","changes":[{"op":"createZone","zone":""}]}"#,
    ])
    func `An import that fails immediately leaves no store behind`(line: String) async throws {
        let before = try folder.names()
        for name in ["new.tide", "new.tide/"] {
            let outcome = try await Command.run("import", folder.path(name), "-", input: line)
            #expect(outcome.status == 1 && outcome.errors.contains("line 1: "))
            #expect(try folder.names() == before)
        }
    }

    @Test func `A failed import keeps existing folders and stores with a commit`() async throws {
        let empty = folder.path("empty.tide")
        try FileManager.default.createDirectory(atPath: empty, withIntermediateDirectories: false)
        #expect(try await Command.run("import", empty, "-", input: "no JSON").status == 1)
        #expect(FileManager.default.fileExists(atPath: empty))
        let other = folder.path("other")
        try FileManager.default.createDirectory(atPath: other, withIntermediateDirectories: false)
        try Data("kept".utf8).write(to: URL(fileURLWithPath: other + "/notes.txt"))
        let refused = try await Command.run("import", other, "-", input: lines[0])
        #expect(refused.status == 1)
        #expect(refused.errors.contains("A new store needs an empty folder"), "\(refused.errors)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: other) == ["notes.txt"])
        let begun = folder.path("begun.tide")
        let input = "\(lines[0])\nno JSON\n"
        #expect(try await Command.run("import", begun, "-", input: input).status == 1)
        let kept = try await Command.run("log", "dump", begun)
        #expect(kept.status == 0 && !kept.lines.isEmpty)
        // A store without events that is opened again is none of this command's.
        #expect(try await Command.run("import", empty, "-", input: "").status == 0)
        #expect(try await Command.run("import", empty, "-", input: "no JSON").status == 1)
        #expect(try await Command.run("log", "verify", empty).status == 0)
    }

    @Test func `An import is counted, and repeating it skips all lines`() async throws {
        var fold = IndependentFold()
        for line in lines { try fold.add(Data(line.utf8)) }
        let store = folder.path("a.tide")
        let first = try await report(store, "-", input: lines)
        #expect(first == [60, fold.changes, 0, fold.missingDeletes])
        let exported = try await export(store)
        #expect(try fold.difference(from: exported.lines) == nil)
        #expect(try await report(store, "-", input: lines) == [0, 0, 60, 0])
        #expect(try await export(store).output == exported.output)
    }

    @Test func `Imports of overlapping parts equal one import`() async throws {
        let whole = folder.path("whole.tide")
        _ = try await report(whole, "-", input: lines)
        let parts = folder.path("parts.tide")
        _ = try await report(parts, "-", input: Array(lines[..<25]))
        #expect(try await report(parts, "-", input: Array(lines[10..<40]))[2] == 15)
        #expect(try await report(parts, "-", input: lines)[2] == 40)
        // The same but for the tags, which name the incarnation.
        func untagged(_ store: String) async throws -> String {
            try await export(store).output
                .replacing(/"recordChangeTag":"[^"]*"/, with: "")
        }
        #expect(try await untagged(parts) == untagged(whole))
    }

    @Test func `Lines without a request ID are identified by content and count`() async throws {
        let line =
            #"{"time":1,"user":"u","changes":[{"op":"save","zone":"z","recordName":"n","#
            + #""recordType":"T","fields":{"a":1}}]}"#
        let store = folder.path("a.tide")
        #expect(try await report(store, "-", input: [line, line, line])[0] == 3)
        #expect(try await report(store, "-", input: [line, line])[2] == 2)
        // The fourth is new.
        #expect(try await report(store, "-", input: [line, line, line, line])[0...2] == [1, 1, 3])
    }

    @Test func `A commit without changes is identified by its database, also after an export`()
        async throws
    {
        let lines = [
            #"{"time":1,"user":"u","owner":"anna","changes":[{"op":"delete","zone":"z","recordName":"a"}]}"#,
            #"{"time":2,"user":"u","owner":"anna","changes":[{"op":"save","zone":"z","recordName":"a","recordType":"I","fields":{"n":1}}]}"#,
            #"{"time":3,"user":"u","owner":"anna","changes":[{"op":"save","zone":"z","recordName":"a","recordType":"I","fields":{"n":2}}]}"#,
            #"{"time":4,"user":"u","changes":[{"op":"delete","zone":"z","recordName":"b"}]}"#,
            #"{"time":5,"user":"u","changes":[{"op":"save","zone":"z","recordName":"b","recordType":"I","fields":{"n":1}},{"op":"delete","zone":"z","recordName":"c"}]}"#,
            #"{"time":6,"user":"u","database":"public","changes":[]}"#,
        ].joined(separator: "\n")
        for isCompacted in [false, true] {
            let (store, copy) = (folder.path("s\(isCompacted)"), folder.path("c\(isCompacted)"))
            #expect(try await Command.run("import", store, "-", input: lines).status == 0)
            if isCompacted {
                let compacted = try await Command.run("compact", store, "--keep-history", "none")
                #expect(compacted.status == 0)
            }
            let stream = try await Command.run("export", store, "--changes").output
            #expect(try await Command.run("import", copy, "-", input: stream).status == 0)
            for (into, again) in [(store, stream), (store, lines), (copy, stream), (copy, lines)] {
                let known = try await Command.run("import", into, "-", input: again)
                #expect(known.status == 0, "\(known.errors)")
                #expect(try known.objects().first?["commits"] as? Int == 0)
            }
            let live = try await Command.run("export", copy, "--owner", "anna")
            #expect(live.lines.count == 1 && live.output.contains(#""fields":{"n":2}"#))
        }
    }

    @Test func `A plain file, a compressed file and standard input are equal`() async throws {
        let text = lines.map { "\($0)\n" }.joined()
        try Data(text.utf8).write(to: folder.url.appending(path: "lines"))
        try shell("gzip -k lines", in: folder)
        for (name, source) in [("f", "lines"), ("z", "lines.gz")] {
            let store = folder.path("\(name).tide")
            #expect(try await report(store, folder.path(source))[0] == 60)
            #expect(try await report(store, "-", input: lines)[2] == 60)
        }
    }

    @Test func `The last line needs no newline`() async throws {
        let store = folder.path("a.tide")
        let outcome = try await Command.run(
            "import",
            store,
            "-",
            input: lines.prefix(3).joined(separator: "\n")
        )
        #expect(
            outcome.output == #"{"commits":3,"changes":\#(try changeCount(3)),"skipped":0,"#
                + #""missingDeletes":\#(try missingDeleteCount(3)),"schemaChanges":0}"# + "\n"
        )
    }

    @Test func `The schema grows by the imported records if that is asked for`() async throws {
        let store = folder.path("a.tide")
        func line(_ number: Int, _ fields: String, _ more: String = "") -> String {
            #"{"time":\#(number),"user":"u","#
                + #"\#(more)"changes":[{"op":"save","zone":"lists","recordName":"r\#(number)","#
                + #""recordType":"Item","fields":{\#(fields)}}]}"#
        }
        let input = [
            line(1, #""title":"Milk","count":1"#), line(2, #""count":2,"note":"n""#),
            // Another type of value than that of the first: it adds nothing.
            line(3, #""title":3"#),
            line(4, #""hidden":1"#, #""environment":"production","#),
        ].joined(separator: "\n")
        let plain = try await Command.run("import", store, "-", input: input)
        #expect(plain.status == 0)
        #expect(plain.errors.contains("add record type Item with 3 fields"))
        #expect(plain.errors.contains("--grow-schema"))
        let question = ["query", store, "--type", "Item", "--where", "count == 2"]
        // Only the fields of this save are known from here on.
        #expect(
            try await Command.run(
                "save",
                store,
                "new",
                "--type",
                "Item",
                "--zone",
                "lists",
                "title=Bread"
            ).status == 0
        )
        #expect(try await Command.run(question).errors.contains("Unknown field 'count'"))
        let growing = try await Command.run(
            "import",
            store,
            "-",
            "--grow-schema",
            "--text",
            input: input
        )
        #expect(growing.status == 0)
        #expect(growing.errors.isEmpty)
        #expect(growing.output.contains("Schema: add field Item.count INT64"))
        #expect(growing.output.contains("Schema: add field Item.note STRING"))
        #expect(!growing.output.contains("Item.title") && !growing.output.contains("hidden"))
        let found = try await Command.run(question)
        #expect(try found.objects().map { $0["recordName"] as? String } == ["r2"])
        let wrong = try await Command.run(
            "save",
            store,
            "x",
            "--type",
            "Item",
            "--zone",
            "lists",
            "count=text"
        )
        #expect(wrong.status == 1)
        let again = try await Command.run("import", store, "-", "--grow-schema", input: input)
        #expect(try again.objects().first?["schemaChanges"] as? Int == 0)
        // A stream that a store exported has the schema in it.
        let stream = try await Command.run("export", store, "--changes")
        let copy = try await Command.run(
            "import",
            folder.path("b.tide"),
            "-",
            input: stream.output
        )
        #expect(copy.status == 0)
        #expect(copy.errors.isEmpty)
    }

    private func changeCount(_ count: Int) throws -> Int {
        var fold = IndependentFold()
        for line in lines.prefix(count) { try fold.add(Data(line.utf8)) }
        return fold.changes
    }

    private func missingDeleteCount(_ count: Int) throws -> Int {
        var fold = IndependentFold()
        for line in lines.prefix(count) { try fold.add(Data(line.utf8)) }
        return fold.missingDeletes
    }

    @Test(arguments: [
        ("{", "line 31: "),
        ("", "line 31: "),
        (#"{"time":1,"user":"u"}"#, #"line 31: A line needs "changes"."#),
        (
            #"{"time":1,"user":"u","changes":[{"op":"save","zone":"z","recordName":"n","#
                + #""recordType":"T","fields":{"a":null}}]}"#,
            "line 31: changes[0]: The field \"a\""
        ),
        (
            #"{"time":1,"user":"u","changes":[{"op":"save","zone":"z","recordName":"n","#
                + #""recordType":"T","fields":{"a":9223372036854775808}}]}"#,
            "line 31: changes[0]: The field \"a\""
        ),
        (
            #"{"time":1,"user":"u","changes":[{"op":"save","zone":"lists","recordName":"ok","#
                + #""recordType":"T","fields":{}},{"op":"rename","zone":"z"}]}"#,
            "line 31: changes[1]: There is no op \"rename\""
        ),
    ])
    func `An invalid line stops the import and keeps all lines before it`(
        bad: String,
        reason: String
    ) async throws {
        let store = folder.path("a.tide")
        let input = lines[..<30] + [bad] + lines[30...]
        let outcome = try await Command.run(
            "import",
            store,
            "-",
            input: input.map { "\($0)\n" }.joined()
        )
        #expect(outcome.status == 1)
        #expect(outcome.errors.hasPrefix("Error: \(reason)"), "\(outcome.errors)")
        #expect(try outcome.objects().first?["commits"] as? Int == 30)
        var fold = IndependentFold()
        for line in lines[..<30] { try fold.add(Data(line.utf8)) }
        #expect(try await fold.difference(from: export(store).lines) == nil)
        // Mended, the import goes on where it stopped.
        #expect(try await report(store, "-", input: lines)[0...2] == [30, try rest(30), 30])
    }

    private func rest(_ count: Int) throws -> Int {
        try changeCount(60) - changeCount(count)
    }

    @Test func `A record over the limit stops the import with its line`() async throws {
        let big = String(repeating: "x", count: 1_100_000)
        let line =
            #"{"time":1,"user":"u","changes":[{"op":"save","zone":"z","recordName":"n","#
            + #""recordType":"T","fields":{"a":"\#(big)"}}]}"#
        let store = folder.path("a.tide")
        let outcome = try await Command.run(
            "import",
            store,
            "-",
            input: "\(lines[0])\n\(line)\n"
        )
        #expect(outcome.status == 1)
        #expect(outcome.errors.hasPrefix("Error: line 2: limitExceeded (27)"), "\(outcome.errors)")
        #expect(try outcome.objects().first?["commits"] as? Int == 1)
    }

    @Test func `A request ID that is reused with other content is rejected`() async throws {
        func line(_ value: Int) -> String {
            #"{"time":1,"user":"u","request":"one","changes":[{"op":"save","zone":"z","#
                + #""recordName":"n","recordType":"T","fields":{"a":\#(value)}}]}"#
        }
        let store = folder.path("a.tide")
        #expect(try await report(store, "-", input: [line(1), line(1)])[0...2] == [1, 1, 1])
        let outcome = try await Command.run("import", store, "-", input: line(2) + "\n")
        #expect(outcome.status == 1)
        #expect(outcome.errors.hasPrefix("Error: line 1: "))
    }

    @Test func `A git history becomes commits and records`() async throws {
        try shell(
            """
            git init -q repo && cd repo && printf one >a && git add a && git commit -qm 1
            printf two >a && printf x >b && git add -A && git commit -qm 2
            git rm -q b && git commit -qm 3
            """,
            in: folder
        )
        let store = folder.path("a.tide")
        let repository = folder.path("repo")
        #expect(try await report(store, "--git", repository) == [3, 4, 0, 0])
        #expect(try await report(store, "--git", repository) == [0, 0, 3, 0])
        let record = try await Command.run("record", store, "a", "--zone", "files").objects()
        #expect((record.first?["fields"] as? [String: Any])?["text"] as? String == "two")
        #expect(try await export(store, "--at", "2").lines.count == 1)
    }

    @Test func `A git history goes on after the last commit that the store has, or fails`()
        async throws
    {
        let outcome = try await Command.script(
            """
            commit() { echo $2 >$1; git add $1; git -c user.email=$3@example.org commit -qm $2; }
            import() { "$tidemark" import $1 --git $2 --text 2>errors; echo "status $?"; }
            text() { "$tidemark" record $1 $2 --zone files --json | grep -o '"text":"[^"]*"'; }
            git init -q repo; cd repo
            commit a 1 anna; commit a 2 ben; commit b 3 ben
            cd ..

            import s.tide repo
            # Another branch, whose commits would be applied to a state that they do not follow.
            (cd repo; git checkout -qb other HEAD~2; commit c 4 ben)
            import s.tide repo; grep -o 'Import it into a new store' errors
            "$tidemark" export s.tide --zone files | wc -l
            # Also if the history that the store has kept begins after the last commit.
            cp -r s.tide pruned.tide; "$tidemark" compact pruned.tide --keep-history none >out
            import pruned.tide repo; grep -o 'Import it into a new store' errors

            # What was erased does not come back over what others have saved since.
            (cd repo; git checkout -q -)
            user=$("$tidemark" log dump s.tide --record a | head -1 | sed 's/.*"user":"\\([^"]*\\)".*/\\1/')
            "$tidemark" erase s.tide --user $user >out
            import s.tide repo; text s.tide a

            # What a shallow clone lacked is not written over what it had.
            git clone -q --depth 1 "file://$PWD/repo" clone
            import t.tide clone
            (cd clone; git fetch -q --unshallow; commit d 5 ben)
            import t.tide clone; text t.tide a; text t.tide d

            # Variables of a hook do not lead to another repository.
            GIT_DIR=$PWD/clone/.git import u.tide repo
            """,
            in: folder
        )
        #expect(
            outcome.output == """
                Imported 3 changes in 3 commits.
                status 0
                Imported 0 changes in 0 commits.
                status 1
                Import it into a new store
                2
                Imported 0 changes in 0 commits.
                status 1
                Import it into a new store
                Imported 0 changes in 0 commits. Passed over 3 that the store has already.
                status 0
                "text":"2\\n"
                Imported 2 changes in 1 commits.
                status 0
                Imported 1 changes in 1 commits. Passed over 3 that the store has already.
                status 0
                "text":"2\\n"
                "text":"5\\n"
                Imported 3 changes in 3 commits.
                status 0

                """
        )
    }

    @Test(arguments: [
        ["a.tide"], ["a.tide", "file", "--git", "."], ["a.tide", "-", "--acknowledge-every", "0"],
    ])
    func `Invalid arguments are a usage error`(arguments: [String]) async throws {
        let outcome = try await Command.run(["import"] + arguments)
        #expect(outcome.status == 64)
    }

    @Test func `A missing file creates no store`() async throws {
        let outcome = try await Command.run([
            "import", folder.path("a.tide"), folder.path("missing.jsonl"),
        ])
        #expect(outcome.status == 1)
        #expect(outcome.errors.contains("missing.jsonl cannot be opened: No such file"))
        #expect(try folder.files().isEmpty)
    }

    @Test(arguments: ["import a.tide -", "save a.tide -"])
    func `Closed standard input is an error`(command: String) async throws {
        let folder = try ScratchFolder()
        let outcome = try await Command.script("$tidemark \(command) <&-", in: folder)
        #expect(outcome.status == 1)
        #expect(outcome.errors.contains("Standard input is closed"), "\(outcome)")
    }
}
