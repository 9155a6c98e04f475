// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Tidemark
import TidemarkModel

/// `tidemark erase`, as a user runs it.
@Suite struct EraseCommandTests {
    private func makeStore(in folder: ScratchFolder) async throws -> String {
        var lines: [String] = []
        for number in 1...60 {
            for (user, zone) in [("anna", "secret-a"), ("bert", "b"), ("anna", "other")] {
                lines.append(
                    "{\"time\":\(number)000,\"user\":\"\(user)-x\",\"device\":\"\(user)-x phone\","
                        + "\"owner\":\"\(user)-x\",\"changes\":[{\"op\":\"save\",\"zone\":\"\(zone)\","
                        + "\"recordName\":\"\(zone) \(number % 9)\",\"recordType\":\"Note\","
                        + "\"fields\":{\"n\":\(number),\"word\":\"\(zone) of \(user)-x\"}}]}"
                )
            }
        }
        return try await folder.store(lines, name: "notes.tide")
    }

    /// The files in which a word is, in whatever folder of the store.
    private func files(with word: String, in store: String) throws -> [String] {
        let wanted = Data(word.utf8)
        return try allFiles(below: store).filter { $0.value.range(of: wanted) != nil }.map(\.key)
    }

    private func export(_ store: String, _ owner: String, _ zone: String) async throws -> String {
        try await Command.run("export", store, "--owner", owner, "--zone", zone).output
    }

    @Test func `An account is erased under its record name in a container`() async throws {
        let folder = try ScratchFolder()
        let store = folder.path("notes.tide")
        let container = ["--container", "iCloud.org.example.app"]
        let account = UserID(account: "anna", in: ContainerID("iCloud.org.example.app"))
        let zone = ["zones", "create", store, "secret", "--owner", "account:anna"]
        #expect(try await Command.run(zone + container).status == 0)
        let user = ["erase", store, "--user", "account:anna"]
        #expect(try await Command.run(user).status == 1)
        let elsewhere = try await Command.run(
            ["erase", store, "--user", account.userRecordName] + container
        )
        #expect(elsewhere.errors.contains("leave out"))
        #expect(try files(with: "secret", in: store).isEmpty == false)
        #expect(try await Command.run(user + container).status == 0)
        #expect(try files(with: "secret", in: store).isEmpty)
    }

    @Test func `Erasing a name that is not in the log changes nothing`() async throws {
        let folder = try ScratchFolder()
        let store = try await makeStore(in: folder)
        let before = try await Command.run("log", "ls", store).output
        for subject in [["--user", "ana-x"], ["--zone", "other", "--owner", "bert-x"]] {
            for mode in [["--dry-run"], []] {
                let result = try await Command.run(["erase", store] + subject + mode)
                #expect(result.status == 1, "\(result.errors)")
                #expect(result.errors.contains("The store has nothing of"))
                #expect(try await Command.run("log", "ls", store).output == before)
            }
        }
    }

    @Test func `erase removes one user, keeps others, and prints a receipt`() async throws {
        let folder = try ScratchFolder()
        let store = try await makeStore(in: folder)
        let berts = try await export(store, "bert-x", "b")
        #expect(berts.contains("b of bert-x"))
        #expect(try files(with: "anna-x", in: store).isEmpty == false)
        let dry = try await Command.run("erase", store, "--user", "anna-x", "--dry-run")
        #expect(dry.status == 0, "\(dry.errors)")
        #expect(dry.output.contains("\"dryRun\":true,\"user\":\"anna-x\",\"zones\":2"))
        #expect(!dry.output.contains("bytesAfter"))
        let segments = try await Command.run("log", "ls", store).objects()
        let bytes = try segments.map { try #require($0["bytes"] as? Int) }
        #expect(try dry.objects().first?["bytesBefore"] as? Int == bytes.reduce(0, +))
        #expect(try files(with: "anna-x", in: store).isEmpty == false)
        let fork = folder.path("fork.tide")
        #expect(try await Command.run("fork", store, fork).status == 0)
        let done = try await Command.run("erase", store, "--user", "anna-x", "--text")
        #expect(done.status == 0, "\(done.errors)")
        #expect(done.output.hasPrefix("Erased the user anna-x.\n"))
        #expect(!done.errors.contains("The store has nothing of"))
        #expect(done.output.contains("events of the log"))
        #expect(done.output.contains("Not reached:"))
        #expect(done.output.contains("- backups"))
        #expect(done.output.contains("- the account with which the user signs in to a server"))
        #expect(try files(with: "anna-x", in: store).isEmpty)
        #expect(try files(with: "ERASING", in: store).isEmpty)
        #expect(try await export(store, "bert-x", "b") == berts)
        let dump = try await Command.run("log", "dump", store)
        #expect(dump.status == 0)
        #expect(!dump.output.contains("anna-x"))
        for command in [["log", "verify", store], ["compact", store], ["log", "stat", store]] {
            let result = try await Command.run(command)
            #expect(result.status == 0, "\(command) \(result.errors)")
        }
        #expect(
            try await Command.run("log", "verify", store).output.contains("\"findings\":0")
        )
        let history = try await Command.run([
            "history", store, "b 3", "--owner", "bert-x", "--zone", "b",
        ])
        #expect(history.status == 0, "\(history.errors)")
        let changes = try await Command.run("export", store, "--changes")
        #expect(!changes.output.contains("anna-x"))
        let again = try await Command.run("erase", store, "--user", "anna-x")
        #expect(again.status == 1)
        #expect(again.errors.contains("The store has nothing of the user 'anna-x'"))
    }

    @Test func `An interrupted erasure is reported until it is completed`() async throws {
        let folder = try ScratchFolder()
        let store = try await makeStore(in: folder)
        try Data(ErasureSubject.user(UserID("anna-x")).bytes)
            .write(to: URL(filePath: store + "/ERASING"))
        let told = "An erasure of the store was interrupted"
        let verified = try await Command.run("log", "verify", store)
        #expect(verified.status == 0)
        #expect(verified.errors.contains(told))
        let copy = folder.path("copy.tide")
        for command in ["backup", "restore", "fork"] {
            let refused = try await Command.run(command, store, copy)
            #expect(refused.status == 1)
            #expect(refused.errors.contains("An erasure of this store was interrupted"))
        }
        let salvaged = try await Command.run("log", "salvage", store, copy)
        #expect(salvaged.status == 0)
        #expect(salvaged.errors.contains(told))
        for path in [store, copy] {
            #expect(try await Command.run("zones", "create", path, "z").status == 0)
            #expect(try files(with: "anna-x", in: path) == [])
            #expect(try await Command.run("log", "verify", path).errors.isEmpty)
        }
        #expect(try await Command.run("backup", store, folder.path("backup.tide")).status == 0)
    }

    @Test func `erase removes a zone and keeps the owner's other zones`() async throws {
        let folder = try ScratchFolder()
        let store = try await makeStore(in: folder)
        let other = try await export(store, "anna-x", "other")
        let done = try await Command.run([
            "erase", store, "--zone", "secret-a", "--owner", "anna-x",
        ])
        #expect(done.status == 0, "\(done.errors)")
        #expect(done.output.contains("\"zones\":1"))
        #expect(try files(with: "secret-a", in: store).isEmpty)
        #expect(try await !Command.run("log", "dump", store).output.contains("secret-a"))
        #expect(try await export(store, "anna-x", "other") == other)
        let gone = try await Command.run([
            "export", store, "--owner", "anna-x", "--zone", "secret-a",
        ])
        #expect(gone.status == 1)
    }

    @Test(arguments: [
        [], ["--user", "a", "--zone", "b"], ["--user", ""], ["--zone", "_shares"], ["--zone", ""],
        ["--zone", "a", "--database", "shared"], ["--user", "a", "--environment", "production"],
        ["--user", "a", "--owner", "b"],
    ])
    func `Arguments without a subject to erase are rejected`(arguments: [String]) async throws {
        let folder = try ScratchFolder()
        let store = try await makeStore(in: folder)
        let result = try await Command.run(["erase", store] + arguments)
        #expect(result.status == 64)
    }
}
