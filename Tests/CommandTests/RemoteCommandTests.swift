// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import ArgumentParser
import Foundation
import TestSupport
import Testing
import TidemarkModel

@testable import TidemarkCommand

/// Every command, and what it does with the address of a server.
@Suite struct RemoteCommandTests {
    let folder: ScratchFolder

    init() throws {
        folder = try ScratchFolder()
    }

    /// A command without commands of its own.
    struct Leaf: CustomTestStringConvertible {
        var name: String
        /// True for a command that no server performs.
        var isLocal: Bool

        var testDescription: String { name }
    }

    static let leaves = find(in: TidemarkCommand.self, [])

    private static func find(in command: any ParsableCommand.Type, _ words: [String]) -> [Leaf] {
        let commands = command.configuration.subcommands
        if commands.isEmpty {
            let isLocal = command is any FolderCommand.Type
            return [Leaf(name: words.joined(separator: " "), isLocal: isLocal)]
        }
        return commands.flatMap { find(in: $0, words + [$0._commandName]) }
    }

    /// The arguments that commands need in addition to the address; FILE is one that exists.
    private static let arguments = [
        "changes": "--zone a", "zones create": "a", "zones delete": "a", "record": "a",
        "query": "--type A", "save": "a --type A b=1", "delete": "a", "asset get": "a b",
        "asset put": "FILE", "share create": "--zone a", "share set": "a --zone b",
        "share end": "a --zone b", "share accept": "a --as b", "share request": "a --as b",
        "share metadata": "a --as b", "share leave": "a --as b",
        "subscriptions add": "a --type A", "subscriptions remove": "a",
        "schema import": "FILE", "schema index": "A.b queryable", "schema roles": "a",
        "users set": "a", "users lookup": "a", "users status": "a", "history": "a", "blame": "a",
        "why": "--record a --device b", "diff": "--from 1", "bisect": "--run true",
        "case": "--record a -o none", "erase": "--zone a", "backup": "none",
        "containers add": "a", "containers set": "a", "containers remove": "a",
        "accounts add": "a", "accounts password": "a", "accounts lock": "a",
        "accounts unlock": "a", "accounts sign-out": "a", "accounts invite": "a",
        "accounts reset": "a", "accounts remove": "a", "sessions end": "a",
        "tokens add": "--name a",
        "tokens revoke": "a", "keys add": "FILE --name a", "keys revoke": "a",
        "administrators add": "a", "administrators revoke": "a",
        "webhooks add": "https://example.org --key a", "webhooks remove": "a",
    ]

    @Test(arguments: leaves)
    func `A command asks the server of --url, or says why it cannot`(leaf: Leaf) async throws {
        let (file, secret) = (folder.path("file"), folder.path("secret"))
        let schema = "DEFINE SCHEMA\nRECORD TYPE A (b STRING QUERYABLE);\n"
        try Data(schema.utf8).write(to: URL(fileURLWithPath: file))
        try Data("secret\n".utf8).write(to: URL(fileURLWithPath: secret))
        // Nothing listens on port 1.
        var arguments = leaf.name.split(separator: " ").map(String.init)
        arguments += ["--url", "http://127.0.0.1:1"]
        if !leaf.isLocal { arguments += ["--secret-file", secret] }
        arguments += (Self.arguments[leaf.name] ?? "").split(separator: " ")
            .map { $0 == "FILE" ? file : String($0) }
        let outcome = try await Command.run(arguments, input: Array("password\n".utf8))
        #expect(outcome.status == 1, "\(outcome)")
        let expected =
            leaf.isLocal
            ? "`tidemark \(leaf.name)` works on the folder of a store, not on a server."
            : "cannot be reached"
        #expect(outcome.errors.contains(expected), "\(outcome)")
    }

    @Test func `The documentation lists every command`() throws {
        let page = try ExampleTests.text("Docs/administration.md")
        let section = try #require(
            page.components(separatedBy: "\n## Commands\n").dropFirst().first?
                .components(separatedBy: "\n## ").first
        )
        var listed: [String: Bool] = [:]
        for row in section.split(separator: "\n") where row.hasPrefix("| `") {
            let cells = row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            for name in cells[0].split(separator: "`") where name.contains(/[a-z]/) {
                let earlier = listed.updateValue(cells[2] == "yes", forKey: String(name))
                #expect(earlier == nil, "\(name)")
            }
        }
        let known = Dictionary(uniqueKeysWithValues: Self.leaves.map { ($0.name, !$0.isLocal) })
        #expect(listed == known)
    }

    @Test func `The address of a server in the place of STORE is no folder`() async throws {
        let outcome = try await Command.run("fork", "https://example.org", "new.tide")
        #expect(outcome.status == 1)
        #expect(outcome.errors.contains("works on the folder of a store"), "\(outcome)")
    }

    @Test func `An address without a scheme and a file that is no secret are rejected`()
        async throws
    {
        let folders = try await Command.run("usage", "--url", "notes.tide")
        #expect(folders.status == 64)
        #expect(folders.errors.contains("'notes.tide' is not the address of a server"))
        let file = folder.path("other")
        try Data("password of Anna\nand Bob".utf8).write(to: URL(fileURLWithPath: file))
        let secret = ["--url", "http://127.0.0.1:1", "--secret-file", file]
        let outcome = try await Command.run(["usage"] + secret)
        #expect(outcome.status == 1)
        #expect(outcome.errors.contains("The content of \(file) is not a secret"), "\(outcome)")
        #expect(!outcome.errors.contains("Anna"))
    }

    @Test func `The secret is read once, and one warning is printed`() async throws {
        let secret = folder.path("secret")
        try Data("secret".utf8).write(to: URL(fileURLWithPath: secret))
        // This address is one of this machine, and is not known to be.
        let outcome = try await Command.run([
            "users", "set", "anna", "--url", "http://0.0.0.0:1", "--secret-file", secret,
        ])
        #expect(outcome.status == 1)
        #expect(outcome.errors.components(separatedBy: "Warning").count == 2, "\(outcome)")
    }

    @Test func `A lost connection is not an unreachable server`() async throws {
        let path = folder.path("server.sock")
        let listener = try SilentListener(at: path)
        let transport = try #require(HTTPAdministration(socket: path))
        let lost = try await #require(throws: SyncError.self) {
            try await transport.send([], to: "usage") { _ in }
        }
        #expect(lost.code == .networkFailure, "\(lost)")
        listener.end()
        let absent = try await #require(throws: SyncError.self) {
            try await transport.send([], to: "usage") { _ in }
        }
        #expect(absent.code == .networkUnavailable, "\(absent)")
        #expect(absent.message.hasSuffix("cannot be reached: Connection refused."), "\(absent)")
    }

    @Test func `A write is not repeated on files when a server ends without an answer`()
        async throws
    {
        let store = folder.path()
        let user = ["users", "set", store, "anna", "--given-name"]
        #expect(try await Command.run(user + ["Anna"]).status == 0)
        let listener = try SilentListener(at: store + "/server.sock")
        let lost = try await Command.run(user + ["Ben"])
        #expect(lost.status == 1)
        #expect(lost.errors.contains("networkFailure"), "\(lost)")
        listener.end()
        let users = try await Command.run("users", "list", store, "--json")
        #expect(users.output.contains("Anna"), "\(users)")
        // The socket of a server that has ended is passed over.
        #expect(try await Command.run(user + ["Ben"]).status == 0)
    }

    @Test(arguments: ["tokens", "keys", "accounts", "sessions", "administrators", "containers"])
    func `A list of a store that does not exist creates none`(command: String) async throws {
        let outcome = try await Command.run(command, "list", folder.path("none.tide"))
        #expect(outcome.status == 1, "\(outcome)")
        #expect(!FileManager.default.fileExists(atPath: folder.path("none.tide")))
    }
}

/// A socket on which requests are read a little, and get no answer.
private final class SilentListener: Sendable {
    private let descriptor: Int32

    struct Failure: Error {
        let code = errno
    }

    init(at path: String) throws {
        #if canImport(Glibc)
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        #else
        let descriptor = socket(AF_UNIX, SOCK_STREAM, 0)
        #endif
        self.descriptor = descriptor
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { room in
            room.copyBytes(from: path.utf8.prefix(room.count - 1))
        }
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(descriptor, pointer, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard status == 0, listen(descriptor, 8) == 0 else { throw Failure() }
        Thread.detachNewThread {
            while true {
                let connection = accept(descriptor, nil, nil)
                guard connection >= 0 else { return }
                var byte: UInt8 = 0
                _ = read(connection, &byte, 1)
                close(connection)
            }
        }
    }

    /// Ends listening; the path stays, as after a process that was killed.
    func end() {
        _ = shutdown(descriptor, Int32(SHUT_RDWR))
        close(descriptor)
    }
}
#endif
