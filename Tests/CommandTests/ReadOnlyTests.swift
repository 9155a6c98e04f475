// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// Commands that read must leave a store as it is.
@Suite struct ReadOnlyTests {
    static let commands: [[String]] = [
        ["log", "ls"], ["log", "dump"], ["log", "stat"], ["log", "verify"],
        ["log", "tail", "--count", "1"], ["zones"], ["changes", "--zone", "lists"],
        ["export"], ["export", "--changes"], ["export", "--at", "20"],
        ["record", "--zone", "lists", "item 3 \u{1F600}"],
    ]

    /// The store comes before the name of a record.
    static func arguments(_ command: [String], _ store: String) -> [String] {
        command.first == "record"
            ? command.dropLast() + [store] + command.suffix(1) : command + [store]
    }

    @Test(arguments: commands)
    func `A reading command writes nothing`(command: [String]) async throws {
        let folder = try ScratchFolder()
        let store = try await folder.store(SampleHistory.lines(30))
        let before = try folder.files()
        let outcome = try await Command.run(Self.arguments(command, store))
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(!outcome.output.isEmpty)
        #expect(try folder.files() == before)
        // Nor does it need to: the same from a folder that nobody may write.
        try shell("chmod -R a-w test.tide", in: folder)
        let again = try await Command.run(Self.arguments(command, store))
        try shell("chmod -R u+w test.tide", in: folder)
        #expect(again.status == 0, "\(again.errors)")
        #expect(again.output == outcome.output)
        #expect(try folder.files() == before)
    }

    @Test(arguments: commands)
    func `A path without a store is rejected; nothing is created`(command: [String]) async throws {
        let folder = try ScratchFolder()
        for name in ["nothing.tide", "", "file"] {
            if name == "file" { try Data([1, 2, 3]).write(to: folder.url.appending(path: name)) }
            let outcome = try await Command.run(Self.arguments(command, folder.path(name)))
            #expect(outcome.status == 1, "\(name)")
            #expect(outcome.output == "")
            #expect(outcome.errors.hasPrefix("Error: "))
            #expect(outcome.errors.contains(folder.path(name)))
        }
        #expect(try folder.files().keys.sorted() == ["file"])
    }
}
