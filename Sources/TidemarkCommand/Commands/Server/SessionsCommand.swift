// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import ArgumentParser
import Foundation
import TidemarkModel
import TidemarkServer

struct SessionsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sessions",
        abstract: "List and end the sessions of signed-in users.",
        subcommands: [SessionsListCommand.self, SessionsEndCommand.self]
    )
}

struct SessionsListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the sessions that have not ended, oldest first.",
        discussion: "  tidemark sessions list notes.tide --account ann@example.org"
    )

    @OptionGroup var store: WrittenStoreArgument
    @OptionGroup var output: OutputOptions

    @Option(help: ArgumentHelp("Only those of the account with this address.", valueName: "email"))
    var account: String?

    func run() async throws {
        try output.print(
            try await store.administer(.sessions(account: account)).sessions,
            in: Table([
                ("session", .left), ("account", .left), ("container", .left),
                ("environment", .left), ("since", .left),
            ])
        ) { bytes, session in
            bytes.append(literal: "{")
            bytes.append(member: "session", jsonString: session.id)
            bytes.append(member: "account", jsonString: session.email)
            bytes.append(member: "container", jsonString: session.container)
            bytes.append(member: "environment", jsonString: session.environment)
            bytes.append(member: "user", jsonString: session.user)
            bytes.append(member: "since", jsonNumber: session.begun)
            bytes.append(literal: "}")
        } row: { session in
            let begun = Date(timeIntervalSince1970: Double(session.begun) / 1000)
            return [
                session.id, session.email, session.container, session.environment,
                begun.formatted(.iso8601),
            ]
        }
    }
}

struct SessionsEndCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "end",
        abstract: "End a session. Its tokens stop working.",
        discussion: "  tidemark sessions end notes.tide SESSION"
    )

    @OptionGroup var store: WrittenStoreArgument

    @Argument(help: "The session, as `sessions list` names it.")
    var session: String

    func run() async throws {
        try await store.administer(.endSession(session))
    }
}
#endif
