// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import Tidemark
import TidemarkModel
import TidemarkServer

#if Server
import Tracing
#endif

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

struct ServeCommand: AsyncParsableCommand, FolderCommand {
    static let remedy = """
        It starts a server on this machine. Leave out --url; --public-url names the address at which \
        clients reach the server.
        """

    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Serve a store over HTTP, with CloudKit Web Services.",
        discussion: """
              tidemark serve notes.tide
              tidemark serve notes.tide --host 0.0.0.0 --port 443 --certificate chain.pem \\
                  --private-key key.pem --public-url https://sync.example.org

            Opens or creates the store, and listens on this machine only, unless --host says \
            otherwise. Prints the address, an API token for development, and how to sign in. \
            SIGTERM and Ctrl-C end it after the requests that have begun are answered. \
            Docs/server.md describes operation in production.

            Each flag is also a variable (TIDEMARK_PORT) and a member of the JSON file that \
            --config names. `tidemark config check` prints the settings that apply.
            """
    )

    @OptionGroup var flags: ServerFlags

    func run() async throws {
        #if Server
        let settings = try ServerSettings(
            flags,
            environment: ProcessInfo.processInfo.environment
        )
        let options = try settings.options()
        let traces = try TraceOptions(environment: ProcessInfo.processInfo.environment)
        // After the settings are checked: a wrong one must not create a store.
        let opened = try Store.open(
            at: settings.store,
            access: .creating,
            options: try settings.storeOptions()
        )
        do {
            let logger = JSONLogHandler.logger { line in
                // A log line that cannot be written must not fail the request that it is about.
                try? writeAll(line[...], to: STDERR_FILENO, name: "standard error")
            }
            let server = try await Server(
                store: opened,
                at: settings.store,
                options: options,
                logger: logger,
                tracer: traces.map { OTLPTracer($0, logger: logger) } ?? NoOpTracer()
            )
            let token = try await server.directory.developmentToken(for: settings.container)
            try await server.run { port in tell(settings, options, port, token) }
        } catch {
            try? opened.close()
            throw error
        }
        // Only after the server has ended: requests that have begun still need the store.
        try opened.close()
        #else
        throw CommandError.withoutServer
        #endif
    }

    #if Server
    /// Prints the address of the server, and a first command to try.
    private func tell(
        _ settings: ServerSettings,
        _ options: ServerOptions,
        _ port: Int,
        _ token: String
    ) {
        let container = settings.container.identifier
        let address = options.address(port: port)
        let place = "\(address)/database/1/\(container)/development"
        let text = """
            Tidemark serves \(settings.store) at \(address)

              container  \(container), development
              API token  \(token)

            Ask it:
              curl '\(place)/public/zones/list?ckAPIToken=\(token)'

            Sign in, and take the token along for private databases:
              \(address)/signin?ckAPIToken=\(token)
            """
        // Not in the log: log lines contain no token, and the installed service discards standard
        // output.
        var output = StandardOutput()
        try? output.line(text)
        try? output.flush()
    }
    #endif
}
