// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@Suite struct SchemaCommandTests {
    private static let schema = """
        DEFINE SCHEMA
            CREATE ROLE Editor;
            RECORD TYPE Note (
                text STRING QUERYABLE,
                n INT64,
                GRANT WRITE TO Editor
            );
        """

    @Test func `drift lists what a build writes that production lacks`() async throws {
        let folder = try ScratchFolder()
        let outcome = try await Command.script(
            """
            printf 'DEFINE SCHEMA RECORD TYPE Note (text STRING);' | $tidemark schema import a.tide -
            $tidemark schema promote a.tide
            save() { $tidemark save a.tide "$@" >/dev/null; }
            save a --type Note --build 2.0 text=x due:TIMESTAMP=2026-02-03T04:05:06Z
            save b --type Note --build 2.0 due:TIMESTAMP=2026-02-03T04:05:06Z
            save c --type Task --build 2.1 n=1
            """,
            in: folder
        )
        #expect(outcome.status == 0, "\(outcome.errors)")
        let store = folder.path("a.tide")
        let gaps = try await Command.run("schema", "drift", store).objects()
        #expect(gaps.map { $0["build"] as? String } == ["2.0", "2.1"])
        #expect(
            gaps.map { $0["missing"] as? String }
                == ["field Note.due TIMESTAMP", "record type Task"]
        )
        #expect(gaps.map { $0["times"] as? Int } == [2, 1])
        #expect(gaps.map { $0["remedy"] as? String } == ["promote", "promote"])
        let text = try await Command.run("schema", "drift", store, "--text")
        #expect(text.output.hasPrefix("build  missing in production     times  first"))
        let last = try await Command.run("log", "stat", store).objects()[0]["events"] as? Int
        for point in ["\(last ?? 0)", "\(UInt64.max)"] {
            let later = try await Command.run("schema", "drift", store, "--since", point)
            #expect(later.status == 0 && later.output == "", "\(point): \(later.errors)")
        }
        _ = try await Command.run("schema", "promote", store)
        #expect(try await Command.run("schema", "drift", store).output == "")
    }

    @Test func `A schema is imported to development, promoted and exported`() async throws {
        let folder = try ScratchFolder()
        let store = folder.path("notes.tide")
        let file = folder.path("notes.ckdb")
        try Data(Self.schema.utf8).write(to: URL(fileURLWithPath: file))
        let dry = try await Command.run("schema", "import", store, file)
        #expect(dry.status == 0)
        #expect(dry.output.contains("{\"change\":\"add role Editor\"}"))
        let again = try await Command.run(
            "schema",
            "import",
            store,
            "-",
            "--text",
            input: Self.schema
        )
        #expect(again.output == "")
        let diff = try await Command.run("schema", "diff", store, "--text")
        #expect(diff.lines == ["add role Editor", "add record type Note with 2 fields"])
        let promoted = try await Command.run("schema", "promote", store, "--text")
        #expect(promoted.output == diff.output)
        #expect(try await Command.run("schema", "diff", store).output == "")
        let text = try await Command.run("schema", "export", store, "--environment", "production")
        #expect(text.output.hasPrefix("DEFINE SCHEMA\n\n    CREATE ROLE Editor;\n"))
        #expect(text.output == (try await Command.run("schema", "export", store)).output)
        let indexes = try await Command.run("schema", "indexes", store)
        #expect(
            indexes.lines == [
                "{\"recordType\":\"Note\",\"field\":\"text\",\"type\":\"STRING\","
                    + "\"indexes\":\"QUERYABLE\"}"
            ]
        )
        #expect(try await Command.run("zones", store, "--database", "public").output == "")
    }

    @Test func `The production schema cannot be reduced`() async throws {
        let folder = try ScratchFolder()
        let store = folder.path("notes.tide")
        let first = try await Command.run("schema", "import", store, "-", input: Self.schema)
        #expect(first.status == 0)
        #expect(try await Command.run("schema", "promote", store).status == 0)
        let before = try await Command.run("schema", "export", store).output
        for flags in [[], ["--dry-run"]] {
            let outcome = try await Command.run(
                ["schema", "import", store, "-"] + flags,
                input: Array("DEFINE SCHEMA".utf8)
            )
            #expect(outcome.status == 1)
            #expect(outcome.errors.contains("record type Note is missing"))
            #expect(outcome.output == "")
        }
        #expect(try await Command.run("schema", "export", store).output == before)
    }

    @Test func `A file that is longer than any schema is not read to its end`() async throws {
        let folder = try ScratchFolder()
        let file = folder.path("long.ckdb")
        try Data(Self.schema.utf8).write(to: URL(fileURLWithPath: file))
        let handle = try FileHandle(forUpdating: URL(fileURLWithPath: file))
        try handle.truncate(atOffset: 1 << 40)
        try handle.close()
        let outcome = try await Command.run("schema", "validate", file)
        #expect(outcome.status == 1)
        #expect(
            outcome.errors.contains(
                "\(file) has more than 16 MiB, which is the limit for a schema. Name a .ckdb file, as "
                    + "`tidemark schema export` prints it."
            )
        )
    }

    @Test func `A dry run changes nothing`() async throws {
        let folder = try ScratchFolder()
        let store = folder.path("notes.tide")
        _ = try await Command.run("schema", "import", store, "-", input: "DEFINE SCHEMA")
        let dry = try await Command.run(
            ["schema", "import", store, "-", "--dry-run", "--text"],
            input: Array(Self.schema.utf8)
        )
        #expect(dry.lines == ["add role Editor", "add record type Note with 2 fields"])
        let export = try await Command.run("schema", "export", store)
        #expect(!export.output.contains("Note"))
    }

    @Test func `Schema errors are reported with their positions`() async throws {
        let text = """
            DEFINE SCHEMA
                RECORD TYPE Note (
                    photo ASSET QUERYABLE,
                    raw BYTES SORTABLE
                );
            """
        let outcome = try await Command.run("schema", "validate", "-", "--text", input: text)
        #expect(outcome.status == 1)
        #expect(outcome.lines.count == 2)
        #expect(outcome.lines.first?.hasPrefix("standard input:3:9: error: ") == true)
        #expect(outcome.lines.last?.hasPrefix("standard input:4:9: warning: ") == true)
        #expect(outcome.errors.contains("because of 1 error."))
        let unreadable = try await Command.run("schema", "validate", "-", input: "DEFINE SCHEME")
        #expect(unreadable.status == 1)
        #expect(unreadable.errors.contains("standard input:1:8: "))
    }

    @Test func `Roles are added and removed`() async throws {
        let folder = try ScratchFolder()
        let store = folder.path("notes.tide")
        _ = try await Command.run("schema", "import", store, "-", input: Self.schema)
        let roles = ["schema", "roles", store, "_anna"]
        #expect(try await Command.run(roles).output == "")
        let set = try await Command.run(roles + ["--set", "Editor"])
        #expect(set.lines == ["{\"role\":\"Editor\"}"])
        #expect(try await Command.run(roles + ["--text"]).lines == ["Editor"])
        let wrong = try await Command.run(roles + ["--set", "Cook"])
        #expect(wrong.status == 1)
        #expect(wrong.errors.contains("no custom role Cook"))
        #expect(try await Command.run(roles + ["--clear"]).status == 0)
        #expect(try await Command.run(roles).output == "")
    }
}
