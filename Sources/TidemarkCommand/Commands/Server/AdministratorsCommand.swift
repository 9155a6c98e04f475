// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import ArgumentParser
import TidemarkModel
import TidemarkServer

struct AdministratorsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "administrators",
        abstract: "Create, list and revoke the administrators of a server.",
        discussion: """
            An administrator has a secret, with which commands work against the server:

              tidemark administrators add notes.tide ann >secret
              tidemark usage --url https://sync.example.org --secret-file secret
            """,
        subcommands: [
            AdministratorsAddCommand.self, AdministratorsListCommand.self,
            AdministratorsRevokeCommand.self, AdministratorsLogCommand.self,
        ]
    )
}

struct AdministratorsAddCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Create an administrator and print its secret, which is not stored.",
        discussion: "  tidemark administrators add notes.tide ann >secret"
    )

    @OptionGroup var store: WrittenStoreArgument

    @Argument(help: "The name of the administrator.")
    var name: String

    func run() async throws {
        try StandardOutput.print(try await store.administer(.creating, AddAdministratorCall(name)))
    }
}

struct AdministratorsListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the administrators, oldest first.",
        discussion: "  tidemark administrators list notes.tide"
    )

    @OptionGroup var store: WrittenStoreArgument
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try output.print(
            try await store.administer(.reading, AdministratorsCall()),
            in: Table([("administrator", .left), ("name", .left), ("since", .left)])
        ) { bytes, administrator in
            bytes.append(literal: "{")
            bytes.append(member: "administrator", jsonString: administrator.id)
            bytes.append(member: "name", jsonString: administrator.name)
            bytes.append(member: "since", jsonNumber: administrator.created)
            bytes.append(literal: "}")
        } row: { administrator in
            [
                administrator.id, administrator.name,
                RFC3339.text(milliseconds: administrator.created),
            ]
        }
    }
}

struct AdministratorsRevokeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke",
        abstract: "Revoke an administrator.",
        discussion: "  tidemark administrators revoke notes.tide ADMINISTRATOR"
    )

    @OptionGroup var store: WrittenStoreArgument

    @Argument(help: "The administrator, as `administrators list` names them.")
    var administrator: String

    func run() async throws {
        try await store.administer(.writing, RevokeAdministratorCall(administrator))
    }
}

struct AdministratorsLogCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log",
        abstract: "Print the administrators' requests to a server, oldest first.",
        discussion: """
              tidemark administrators log notes.tide

            Prints each call with its content, without secrets. Calls through the socket in the store's \
            folder have the name local. Commands that work on the files while no server runs are not \
            recorded.
            """
    )

    @OptionGroup var store: WrittenStoreArgument
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try output.print(
            try await store.administer(.reading, AdministrationRecordsCall()),
            in: Table([
                ("time", .left), ("administrator", .left), ("address", .left), ("call", .left),
                ("content", .left),
            ])
        ) { bytes, entry in
            bytes.append(literal: "{")
            bytes.append(member: "time", jsonNumber: entry.time)
            bytes.append(member: "administrator", jsonString: entry.administrator)
            bytes.append(member: "name", jsonString: entry.name)
            bytes.append(member: "call", jsonString: entry.call)
            bytes.append(member: "address", jsonString: entry.address)
            bytes.append(member: "content", jsonString: entry.content)
            bytes.append(literal: "}")
        } row: { entry in
            [
                RFC3339.text(milliseconds: entry.time), entry.name, entry.address,
                entry.call, entry.content,
            ]
        }
    }
}
#endif
