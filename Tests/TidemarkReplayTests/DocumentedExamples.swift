// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Tidemark
import TidemarkReplay

/// The examples of documentation comments, compiled: each is here to the letter.
private enum DocumentedExamples {
    static func ofStore() async throws {
        let store = try Store.open(at: "notes.tide", access: .creating)
        let notes = try await store.database(of: "anna", device: "phone").createZone("notes")
        try await notes.save("first", type: "Note", fields: ["text": "Hello"])
        try store.close()
    }

    static func ofTidemark() async throws {
        let store = try Store.open(at: "notes.tide", access: .creating)
        let notes = try await store.database(of: "anna", device: "phone").createZone("notes")
        try await notes.save("first", type: "Note", fields: ["text": "Hello"])
        for try await change in notes.changes() { print(change.event) }
    }

    static func ofReplay() async throws {
        let store = try Store.open(at: "notes.tide", access: .reading)
        for field in try await store.blame(of: RecordID(recordName: "n1")).fields {
            print(field.name, field.origin?.user?.userRecordName ?? "?")
        }
    }

    static func ofHistory(_ store: Store, _ id: RecordID) async throws {
        for try await entry in try await store.history(of: id) {
            if case .change(let change) = entry { print(change.origin.sequence, change.happening) }
        }
    }

    static func ofSteps(_ store: Store) async throws {
        var steps = try await store.steps(from: 1_000)
        while let step = try await steps.next() {
            print(step.origin.sequence, step.change.map { "\($0.happening)" } ?? "")
        }
    }
}

@Suite struct DocumentedExampleTests {
    private static let project = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../..").standardizedFileURL

    /// The pieces of Swift in a text, without what indents them; comments lose their slashes.
    private func examples(in text: String) -> [[Substring]] {
        var examples: [[Substring]] = []
        var current: [Substring]?
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            // Most lines are in no example, and a regular expression takes long in a debug build.
            guard current != nil || line.contains("```") else { continue }
            let plain = line.trimmingPrefix(#/\ *(///)?\ */#)
            if plain.hasPrefix("```") {
                if let example = current { examples.append(example) }
                current = plain == "```swift" ? [] : nil
            } else if let example = current, plain.wholeMatch(of: #/// \d/#) != nil {
                // A page may number the pieces of an example.
                examples.append(example)
                current = []
            } else if current != nil {
                let isCode = !plain.isEmpty && !plain.hasPrefix("import ")
                if isCode { current?.append(plain) }
            }
        }
        return examples
    }

    @Test func `Every example in a documentation comment is compiled`() throws {
        var compiled = ""
        for path in [
            "Tests/TidemarkReplayTests/DocumentedExamples.swift",
            "Tests/CloudKitTests/DocumentedExamples.swift",
            "Tests/TidemarkDatabaseTests/DocumentedExamples.swift",
            "Tests/TidemarkDatabaseTests/EmbeddingPage.swift",
            "Tests/TidemarkDatabaseTests/ComparedTasks.swift",
            "Tests/TidemarkTests/Projections/ComparedTasks.swift",
            "Tests/CloudKitTests/ComparedTasks.swift",
        ] {
            let text = try String(
                contentsOf: Self.project.appending(path: path),
                encoding: .utf8
            )
            for line in text.split(separator: "\n") {
                compiled += line.trimmingPrefix(#/\ */#) + "\n"
            }
        }
        let files = try FileManager.default
            .subpathsOfDirectory(atPath: Self.project.appending(path: "Sources").path)
            .map { "Sources/\($0)" }
        var exampleCount = 0
        for file in files + ["Docs/embedding.md", "Docs/compared.md"]
        where file.hasSuffix(".swift") || file.hasSuffix(".md") {
            // The tests of projections have its examples.
            if file.hasSuffix("Projections.md") { continue }
            let text = try String(contentsOf: Self.project.appending(path: file), encoding: .utf8)
            for example in examples(in: text) where !example.isEmpty {
                exampleCount += 1
                let code = example.joined(separator: "\n")
                let isThere = compiled.contains(code)
                #expect(isThere, "\(file): an example is not among those compiled:\n\(code)")
            }
        }
        #expect(exampleCount > 7)
    }
}
