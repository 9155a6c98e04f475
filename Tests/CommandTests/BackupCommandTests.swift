// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// `tidemark backup` and `tidemark restore`, as a user runs them.
@Suite struct BackupCommandTests {
    private func line(_ number: Int) -> String {
        "{\"time\":\(number)000,\"user\":\"anna\",\"changes\":[{\"op\":\"save\",\"zone\":\"a\","
            + "\"recordName\":\"r\(number % 4)\",\"recordType\":\"Note\","
            + "\"fields\":{\"n\":\(number)}}]}"
    }

    private func makeStore(in folder: ScratchFolder) async throws -> String {
        try await folder.store((1...20).map(line), name: "notes.tide")
    }

    @Test func `A backup has the store's contents and is updated incrementally`() async throws {
        let folder = try ScratchFolder()
        let store = try await makeStore(in: folder)
        let backup = folder.path("backup.tide")
        let first = try await Command.run("backup", store, backup)
        #expect(first.status == 0)
        #expect(first.output.hasPrefix("{\"lastSequence\":21,\"segments\":1,\"copiedSegments\":1,"))
        let old = try await Command.run("export", store, "--changes").output
        #expect(try await Command.run("export", backup, "--changes").output == old)
        #expect(try await Command.run("log", "verify", backup).status == 0)
        #expect(try await Command.run("import", store, "-", input: line(21)).status == 0)
        #expect(try await Command.run("export", backup, "--changes").output == old)
        let text = try await Command.run("backup", store, backup, "--text")
        #expect(text.output.hasPrefix("The backup goes up to event 22. Copied "))
        let new = try await Command.run("export", store, "--changes").output
        #expect(new != old)
        #expect(try await Command.run("export", backup, "--changes").output == new)
    }

    @Test func `Assets are copied once`() async throws {
        let folder = try ScratchFolder()
        let store = try await makeStore(in: folder)
        let backup = folder.path("backup.tide")
        let file = folder.path("picture.bin")
        try Data("a picture".utf8).write(to: URL(fileURLWithPath: file))
        #expect(
            try await Command.run("save", store, "p", "--type", "Note", "pic:assetid=@\(file)")
                .status == 0
        )
        #expect(
            try await Command.run("backup", store, backup).output
                .contains("\"assets\":1,\"copiedAssets\":1,\"damaged\":0")
        )
        #expect(
            try await Command.run("backup", store, backup).output
                .contains("\"assets\":1,\"copiedAssets\":0,\"damaged\":0")
        )
        #expect(try await Command.run("log", "verify", backup).status == 0)
    }

    @Test func `A folder with other contents is not changed`() async throws {
        let folder = try ScratchFolder()
        let store = try await makeStore(in: folder)
        let other = folder.path("other.tide")
        #expect(try await Command.run("import", other, "-", input: line(1)).status == 0)
        for destination in [other, store] {
            let refused = try await Command.run("backup", store, destination)
            #expect(refused.status == 1)
            #expect(refused.errors.contains("Give a path that does not exist yet"))
        }
        #expect(try await Command.run("log", "verify", other).status == 0)
        #expect(try await Command.run("log", "verify", store).status == 0)
    }

    @Test(arguments: ["notes.tide/in", "notes.tide/views/in", "link/in"])
    func `Copies into a store's folder are rejected`(_ place: String) async throws {
        let folder = try ScratchFolder()
        let store = try await makeStore(in: folder)
        try FileManager.default.createSymbolicLink(
            atPath: folder.path("link"),
            withDestinationPath: store + "/segments"
        )
        let destination = folder.path(place)
        for command in [["backup"], ["restore"], ["fork"], ["log", "salvage"]] {
            let refused = try await Command.run(command + [store, destination])
            #expect(refused.status == 1)
            #expect(refused.errors.contains("Give a path outside of any store"))
            #expect(!FileManager.default.fileExists(atPath: destination))
        }
        let inside = try await Command.script(
            "cd notes.tide/views; \"$tidemark\" backup .. in",
            in: folder
        )
        #expect(inside.status == 1)
        #expect(inside.errors.contains("Give a path outside of any store"))
    }

    @Test func `An error names a file size limit`() async throws {
        let folder = try ScratchFolder()
        let store = try await makeStore(in: folder)
        let random = (0..<100_000).map { _ in UInt8.random(in: 0...255) }
        try Data(random).write(to: folder.url.appendingPathComponent("random.bin"))
        let saved = try await Command.run(
            "save",
            store,
            "big",
            "--type",
            "Note",
            "bytes:ASSET=@" + folder.path("random.bin")
        )
        #expect(saved.status == 0, "\(saved.errors)")
        let refused = try await Command.script(
            "ulimit -f 20; \"$tidemark\" backup notes.tide backup.tide",
            in: folder
        )
        #expect(refused.status == 1)
        #expect(refused.errors.contains("Raise this process's limit of file sizes"))
        #expect(try await Command.run("backup", store, folder.path("backup.tide")).status == 0)
    }

    @Test func `A restored store has the contents of the chosen point`() async throws {
        let folder = try ScratchFolder()
        let store = try await makeStore(in: folder)
        let backup = folder.path("backup.tide")
        #expect(try await Command.run("backup", store, backup).status == 0)
        let points = [("7", 7), ("1970-01-01T00:00:12Z", 13), ("21", 21)]
        for (point, last) in points {
            let restored = folder.path("restored-\(last).tide")
            let outcome = try await Command.run("restore", backup, restored, "--at", point)
            #expect(outcome.output == "{\"lastSequence\":\(last),\"assets\":0,\"damaged\":0}\n")
            let expected = try await Command.run("export", store, "--at", "\(min(last, 21))").output
            #expect(try await Command.run("export", restored).output == expected)
            #expect(try await Command.run("log", "verify", restored).status == 0)
            #expect(try await Command.run("import", restored, "-", input: line(30)).status == 0)
        }
        let again = try await Command.run("restore", backup, store)
        #expect(again.status == 1)
        #expect(again.errors.contains("is already here, up to event"))
    }

    @Test(arguments: [["restore"], ["fork"], ["log", "salvage"]])
    func `An existing complete copy is recognized and not replaced`(
        command: [String]
    ) async throws {
        let folder = try ScratchFolder()
        let store = try await makeStore(in: folder)
        let copy = folder.path("copy.tide")
        #expect(try await Command.run(command + [store, copy]).status == 0)
        let other = try await folder.store(SampleHistory.lines(1), name: "other.tide")
        let before = try folder.files()
        let again = try await Command.run(command + [store, copy])
        #expect(again.status == 1)
        #expect(again.errors.contains("or a complete copy of it is already here, up to event"))
        let foreign = try await Command.run(command + [store, other])
        #expect(foreign.status == 1)
        #expect(foreign.errors.contains("Another store is already here, up to event"))
        #expect(try folder.files() == before)
    }

    @Test(arguments: ["restore", "fork"]) func `A point after the last event is rejected`(
        _ command: String
    ) async throws {
        let folder = try ScratchFolder()
        let store = try await makeStore(in: folder)
        let copy = folder.path("copy.tide")
        let refused = try await Command.run(command, store, copy, "--at", "22")
        #expect(refused.status == 1)
        #expect(refused.errors.contains("The last event is 21; there is no event 22."))
        #expect(!FileManager.default.fileExists(atPath: copy))
        #expect(try await Command.run(command, store, copy, "--at", "21").status == 0)
    }

    @Test func `A fork has the contents of its point and then diverges`() async throws {
        let folder = try ScratchFolder()
        let store = try await makeStore(in: folder)
        let before = try await Command.run("export", store, "--changes").output
        let points = [("7", 7), ("1970-01-01T00:00:12Z", 13), ("21", 21)]
        for (point, last) in points {
            let fork = folder.path("fork-\(last).tide")
            let outcome = try await Command.run("fork", store, fork, "--at", point)
            #expect(outcome.status == 0)
            #expect(outcome.output.hasPrefix("{\"lastSequence\":\(last),\"segments\":1,"))
            let expected = try await Command.run("export", store, "--at", "\(last)").output
            #expect(try await Command.run("export", fork).output == expected)
            #expect(try await Command.run("import", fork, "-", input: line(30)).status == 0)
            #expect(try await Command.run("log", "verify", fork).status == 0)
        }
        #expect(try await Command.run("export", store, "--changes").output == before)
        #expect(try await Command.run("compact", store, "--keep-history", "none").status == 0)
        let pruned = try await Command.run("fork", store, folder.path("old.tide"), "--at", "7")
        #expect(pruned.status == 1)
        #expect(pruned.errors.contains("History pruned"))
        let text = try await Command.run("fork", store, folder.path("new.tide"), "--text")
        #expect(text.output.contains("It shares 1 of 2 segments"))
        let again = try await Command.run("fork", store, folder.path("new.tide"))
        #expect(again.errors.contains("is already here, up to event"))
    }
}
