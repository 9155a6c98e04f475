// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import ArgumentParser
import Tidemark
import TidemarkModel
import TidemarkServer

struct TokensCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tokens",
        abstract: "Create, list and revoke the API tokens of a server.",
        subcommands: [TokensAddCommand.self, TokensListCommand.self, TokensRevokeCommand.self]
    )
}

struct TokensAddCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Create a token and print it; it is not stored.",
        discussion: "  tidemark tokens add notes.tide --name web --origin https://example.org"
    )

    @OptionGroup var store: WrittenStoreArgument
    @OptionGroup var place: EnvironmentOptions

    @Option(help: "A name for it.")
    var name: String

    @Option(
        help: ArgumentHelp(
            "An origin whose pages may use the token; any origin, unless given.",
            valueName: "origin"
        )
    )
    var origin: [String] = []

    @Option(
        help: ArgumentHelp(
            "The address to which a browser goes after the sign-in.",
            valueName: "url"
        )
    )
    var callback: String?

    @Flag(help: "Ask users at sign-in whether others may find them.")
    var askDiscoverable = false

    func run() async throws {
        let token = APIToken(
            "",
            name: name,
            container: place.container,
            environment: place.environment,
            origins: origin,
            callback: callback,
            asksDiscoverable: askDiscoverable
        )
        try StandardOutput.print(try await store.administer(.makeToken(token)).text)
    }
}

struct TokensListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the tokens, by the names of their records.",
        discussion: "  tidemark tokens list notes.tide"
    )

    @OptionGroup var store: WrittenStoreArgument
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try output.print(
            try await store.administer(.tokens).tokens,
            in: Table([
                ("token", .left), ("name", .left), ("container", .left), ("environment", .left),
                ("origins", .left),
            ])
        ) { bytes, token in
            bytes.append(literal: "{")
            bytes.append(member: "token", jsonString: token.id.text)
            bytes.append(member: "name", jsonString: token.name)
            bytes.append(member: "container", jsonString: token.container)
            bytes.append(member: "environment", jsonString: token.environment)
            bytes.append(member: "origins")
            bytes.append(json: .stringList(token.origins))
            bytes.append(literal: "}")
        } row: { token in
            [
                token.id.text, token.name, token.container, token.environment,
                token.origins.joined(separator: " "),
            ]
        }
    }
}

struct TokensRevokeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke",
        abstract: "Revoke a token.",
        discussion: "  tidemark tokens revoke notes.tide TOKEN"
    )

    @OptionGroup var store: WrittenStoreArgument

    @Argument(help: "The token, or the name that `tokens list` has for it.")
    var token: String

    func run() async throws {
        try await store.administer(.revokeToken(token))
    }
}
#endif
