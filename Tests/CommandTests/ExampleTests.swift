// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// The README shows what there is: its program and its commands are run here.
@Suite struct ExampleTests {
    static let project = URL(fileURLWithPath: #filePath)
        .appendingPathComponent("../../..").standardizedFileURL

    static func text(_ path: String) throws -> String {
        try String(contentsOf: project.appendingPathComponent(path), encoding: .utf8)
    }

    /// The first block of code in the README of a language.
    static func block(_ language: String) throws -> String {
        let readme = try text("README.md")
        let parts = readme.components(separatedBy: "```\(language)\n")
        try #require(parts.count > 1)
        return try #require(parts[1].components(separatedBy: "```").first)
    }

    static func program(_ name: String) -> String {
        URL(fileURLWithPath: Command.path).deletingLastPathComponent()
            .appendingPathComponent(name).path
    }

    @Test func `The program of the README works`() async throws {
        let source = try Self.text("Docs/Examples/Embedding/main.swift")
        let code = source.components(separatedBy: "\n").dropFirst(3).joined(separator: "\n")
        #expect(code == (try Self.block("swift")))
        let folder = try ScratchFolder()
        let printed = try shell(Self.program("EmbeddingExample"), in: folder)
        #expect(printed.hasPrefix("saved Hi, version "))
        let records = try await Command.run("export", folder.path("notes.tide")).objects()
        let name = try #require(records.first?["recordName"] as? String)
        #expect(printed.hasSuffix("in the zone: \(name) in zone notes\n"))
        #expect((records.first?["fields"] as? [String: String]) == ["text": "Hi"])
    }

    @Test func `The steps of the tutorial lead to the program of the README`() throws {
        let folder = "Sources/Tidemark/Tidemark.docc/Tutorials"
        let tutorial = try Self.text("\(folder)/Your-First-Store.tutorial")
        let steps = try (1...4).map { number in
            #expect(tutorial.contains("file: \"first-store-\(number).swift\""))
            return try Self.text("\(folder)/Resources/first-store-\(number).swift")
        }
        for (step, next) in zip(steps, steps.dropFirst()) { #expect(next.hasPrefix(step)) }
        #expect(steps.last == (try Self.block("swift")))
    }

    @Test func `The commands of the README print the output that it shows`() async throws {
        let folder = try ScratchFolder()
        try Self.text("Docs/Examples/lists.jsonl")
            .write(to: folder.url.appending(path: "lists.jsonl"), atomically: true, encoding: .utf8)
        let commandCount = try await run(try Self.block("console"), in: folder)
        #expect(commandCount > 6)
    }

    @Test func `The commands of the page about the past print the output that it shows`()
        async throws
    {
        let folder = try ScratchFolder()
        let lines = try Self.text("Docs/Examples/lists.jsonl").split(separator: "\n").map(
            String.init
        )
        _ = try await folder.store(lines, name: "notes.tide")
        let blocks = try Self.text("Docs/past.md").components(separatedBy: "```console\n")
        var commandCount = 0
        for block in blocks.dropFirst() {
            let commands = try #require(block.components(separatedBy: "```").first)
            commandCount += try await run(commands, in: folder)
        }
        #expect(commandCount == 8)
    }

    /// Runs the commands of a block, compares what they print with the block, and counts them.
    private func run(_ block: String, in folder: ScratchFolder) async throws -> Int {
        let parts = block.components(separatedBy: "$ ").dropFirst()
        for part in parts {
            let lines = part.components(separatedBy: "\n")
            let command = try #require(lines.first)
            let shown = lines.dropFirst().joined(separator: "\n")
            let printed = try await Command.script(
                command.replacing("tidemark ", with: "\"$tidemark\" "),
                in: folder
            )
            #expect(printed.status == 0, "\(command)")
            #expect(Self.steady(printed.output) == Self.steady(shown), "\(command)")
        }
        return parts.count
    }

    @Test func `The first question of the README has the answer that it shows`() async throws {
        let folder = try ScratchFolder()
        let lines = try Self.text("Docs/Examples/lists.jsonl").split(separator: "\n").map(
            String.init
        )
        let store = try await folder.store(lines, name: "notes.tide")
        let refused = try await Command.run([
            "save", store, "milk", "--zone", "lists", "--type", "Item", "title=Oat", "--device",
            "tablet",
        ])
        #expect(refused.status == 1)
        let shown = try Self.block("text").split(separator: "\n")
        let question = try #require(shown.first).replacing("$ tidemark", with: "$tidemark")
        let answer = try await Command.script("\(question) --text", in: folder)
        #expect(answer.status == 0)
        // What follows is what nobody knows, since the store kept no full journal.
        let said = answer.output.split(separator: "\n").prefix(shown.count - 1)
        func steady(_ line: Substring) -> String {
            String(line).replacing(/\(4-[0-9a-z]+\)/, with: "(tag)")
                .replacing(/Refused: [0-9T:.Z-]+/, with: "Refused: time")
        }
        #expect(said.map(steady) == shown.dropFirst().map(steady))
    }

    /// A text without what differs from store to store: random numbers, and sizes on disk.
    private static func steady(_ text: String) -> String {
        text
            .replacing(/"recordChangeTag":"([0-9a-z]+)-[0-9a-z]+"/) { "\"tag\":\"\($0.1)\"" }
            .replacing(/t\.[A-Za-z0-9_-]+/, with: "t.…")
            .replacing(/(saved +\S+ in zone \S+  [0-9a-z]+)-[0-9a-z]+/) { "\($0.1)" }
            .replacing(/\b[0-9a-f]{16}\b/, with: "…")
            .replacing(/"(bytesOnDisk|spareBytes|viewBytes|rawBytes|ratio)":[0-9.]+/) { "\($0.1)" }
            .replacing(/\s+[0-9]+( +7 +4 +)[0-9.]+/) { "…\($0.1)…" }
    }

    @Test func `The task list example merges, shares, counts and queries the past`() throws {
        let folder = try ScratchFolder()
        let printed = try shell("\(Self.program("TaskListExample")) tasks.tide", in: folder)
        #expect(
            printed == """
                tablet: "Sell the bike" was changed elsewhere to "Repair both bikes"
                phone: [x] Buy milk #shop #organic
                phone: [ ] Repair both bikes
                phone: [ ] Taxes
                due: Taxes
                ben: finished the bike, does not see the taxes
                open: 1
                history: changed (state) by ben on ben's phone
                history: enteredShare () by anna on phone
                history: changed (title) by anna on phone
                history: created (state, tags, title) by anna on phone
                blame: the title is from phone
                then: Repair the bike

                """
        )
    }

    @Test func `Two devices resolve a conflict, and a third one catches up`() async throws {
        let folder = try ScratchFolder()
        let store = try await folder.store(SampleHistory.lines(30))
        let before = try await Command.run("log", "dump", store).lines.count
        let printed = try shell("\(Self.program("TwoDevicesExample")) \(store) lists", in: folder)
        #expect(printed.contains("laptop  is refused: serverRecordChanged (14)"))
        #expect(printed.contains("fetches what it missed: 1 record\n"))
        let events = try await Command.run("log", "dump", store, "--from", "\(before + 1)")
            .objects()
        let devices = events.compactMap { ($0["commit"] as? [String: Any])?["device"] as? String }
            // A save that brings a record type or a field has several events.
            .reduce(into: [String]()) { if $0.last != $1 { $0.append($1) } }
        #expect(devices == ["phone", "laptop"])
    }
}
