// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import Tidemark
import TidemarkModel
import TidemarkServer

struct ExecCommand: AsyncParsableCommand, FolderCommand {
    static let remedy = """
        It starts a server of its own on this machine, and tells the program its address. Leave out \
        --url.
        """

    static let configuration = CommandConfiguration(
        commandName: "exec",
        abstract: "Run a command, such as an app's tests, with a temporary server.",
        discussion: """
              tidemark exec -- swift test
              tidemark exec --user ann --import start.jsonl -- npm test
              tidemark exec --user ann --lose 0.1 --latency 20ms --seed 7 -- swift test

            Starts a server on an empty store and a free port of this machine, runs the command, and removes all \
            of it. Ends with the command's status; 128 and the signal's number if a signal ended it, 127 if there \
            is no such command, 126 if it cannot be run. Signals are passed on to the command. Many can run at once.

            The command finds the server in its environment:

              TIDEMARK_URL             the server's address
              TIDEMARK_CONTAINER       the container
              TIDEMARK_API_TOKEN       an API token for it, in development
              TIDEMARK_WEB_AUTH_TOKEN  the token of the user that --user names, who is signed in

            `curl -X POST $TIDEMARK_URL/tidemark/1/reset` empties the server; tokens stay good. Nothing survives a \
            loss of power, and nothing keeps the command from the rest of the machine: this is no sandbox. \
            Docs/testing-apps.md says more.
            """
    )

    @Option(help: .container) var container = ContainerID.standard

    @Option(help: ArgumentHelp("A user to sign in, by address or name.", valueName: "name"))
    var user: String?

    @Option(
        name: .customLong("import"),
        help: ArgumentHelp(
            """
            What the store begins with: a store, a change stream, or a .ckdb file for the container's schema. \
            Can be given several times.
            """,
            valueName: "path"
        ),
        completion: .file()
    )
    var imports: [String] = []

    @Option(
        help: ArgumentHelp(
            "Write the content of the store to a file at the end, as a change stream.",
            valueName: "file"
        ),
        completion: .file()
    )
    var export: String?

    @Flag(help: "Keep the store, and print its path.")
    var keep = false

    @Option(
        help: ArgumentHelp("Answer this part of the requests with THROTTLED.", valueName: "0-1")
    )
    var throttle = 0.0

    @Option(
        help: ArgumentHelp(
            "Lose this part of the requests or their answers, by closing the connection.",
            valueName: "0-1"
        )
    )
    var lose = 0.0

    @Option(
        help: ArgumentHelp(
            "Delay each request by a random time up to this one, such as 20ms.",
            valueName: "time"
        ),
        transform: duration
    )
    var latency = Duration.zero

    @Option(help: "The seed of these faults: the same seed makes the same faults.")
    var seed: UInt64 = 0

    @Argument(
        parsing: .postTerminator,
        help: "The command and its arguments."
    )
    var command: [String] = []

    func validate() throws {
        guard !command.isEmpty else {
            throw ValidationError(
                "Name the command after two hyphens, as in `tidemark exec -- swift test`."
            )
        }
        for (name, share) in [("throttle", throttle), ("lose", lose)]
        where !(0...1).contains(share) {
            throw ValidationError("--\(name) is a share from 0 to 1, such as 0.1.")
        }
        if imports.contains("-") {
            throw ValidationError("--import needs a file: the command has standard input.")
        }
        if export == "-" {
            throw ValidationError("--export needs a file: the command has standard output.")
        }
        guard imports.filter(isFolder).count < 2 else {
            throw ValidationError("A server has one store: --import takes one store at most.")
        }
    }

    func run() async throws {
        #if Server
        // First, so that a signal does not end this process before the folder is removed.
        ForwardedSignals.begin()
        let folder = try ExecFolder(isKept: keep)
        var hasServer = false
        let status: Int32
        do {
            status = try await run(in: folder.path, &hasServer)
        } catch {
            // An export that failed, for example, does not take the store with it.
            if !keep || !hasServer { folder.remove() }
            throw error
        }
        if !keep { folder.remove() }
        // After the run, so that the removal of old folders does not delay the command.
        ExecFolder.sweep()
        // ArgumentParser ends the process with this status and prints nothing.
        throw ExitCode(status)
        #else
        throw CommandError.withoutServer
        #endif
    }

    private func isFolder(_ path: String) -> Bool {
        var isFolder: ObjCBool = false
        return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder)
            && isFolder.boolValue
    }

    #if Server
    /// Runs the command with a server whose stores are in a folder; returns the command's status.
    ///
    /// `hasServer` becomes true when there is a server, and so a store that can be kept.
    private func run(in folder: String, _ hasServer: inout Bool) async throws -> Int32 {
        // Before the command runs: a path that cannot be written is reported at once, and not after
        // the tests.
        let file = try export.map { try ExportFile($0) }
        if let store = imports.first(where: isFolder) {
            // A fork only reads the named store, and shares its segments where the file system
            // allows that.
            _ = try Store.fork(from: store, to: TemporaryServer.firstStore(in: folder))
        }
        let server = try await TemporaryServer(
            in: folder,
            container: container,
            user: user,
            faults: faults
        ) { store in
            for path in imports where !isFolder(path) { try await fill(store, from: path) }
        }
        hasServer = true
        // Also after an error, when the path is needed most.
        defer { if keep { note("The store is kept in \(server.path)") } }
        let status: Int32
        do {
            status = try await run(with: server)
            // After the server has stopped, so that the file has every commit that was answered.
            try file?.write(server.store)
        } catch {
            // Report the first failure.
            try? await server.close()
            throw error
        }
        try await server.close()
        return status
    }

    private var faults: RequestFaults {
        var faults = RequestFaults()
        faults.throttledShare = throttle
        faults.lostShare = lose
        faults.latency = latency
        faults.seed = seed
        return faults
    }

    private func fill(_ store: Store, from path: String) async throws {
        if path.hasSuffix(".ckdb") {
            let schema = try SchemaText(path: path).file().schema
            _ = try await store.importSchema(schema, into: container)
        } else {
            let lines = try FileLines(path: path)
            var report = ImportReport()
            do {
                try await LineImport().run(lines, into: store, &report)
            } catch let error as CommandError {
                throw CommandError("\(path): \(error)")
            }
        }
    }

    private func run(with server: TemporaryServer) async throws -> Int32 {
        // `validate` has rejected an empty command.
        let program = ForegroundProgram(name: command[0], arguments: Array(command.dropFirst()))
        let identifier = container.identifier
        return try await server.run { port in
            try await program.run(with: [
                "TIDEMARK_URL": "http://127.0.0.1:\(port)",
                "TIDEMARK_CONTAINER": identifier,
                "TIDEMARK_API_TOKEN": server.token,
                // One from outside would be for another server.
                "TIDEMARK_WEB_AUTH_TOKEN": server.webToken,
            ])
        }
    }
    #endif
}
