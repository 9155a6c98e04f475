// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import ArgumentParser
import Foundation
import TidemarkModel
import TidemarkServer

struct KeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys",
        abstract: "Add, list and revoke server-to-server keys.",
        subcommands: [KeysAddCommand.self, KeysListCommand.self, KeysRevokeCommand.self]
    )
}

struct KeysAddCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Register a public key, and print its id.",
        discussion: """
              openssl ecparam -name prime256v1 -genkey -noout -out key.pem
              openssl ec -in key.pem -pubout -out public.pem
              tidemark keys add notes.tide public.pem --name importer
            """
    )

    @OptionGroup var store: WrittenStoreArgument

    @Argument(help: "The file of the public key in PEM.", completion: .file())
    var file: String

    @OptionGroup var place: EnvironmentOptions

    @Option(help: "A name for it.")
    var name: String

    func run() async throws {
        guard let bytes = FileManager.default.contents(atPath: file) else {
            throw CommandError(
                "The file of the key \(file) cannot be read. Check the path and its permissions."
            )
        }
        let key = ServerKey(
            id: "",
            name: name,
            container: place.container,
            environment: place.environment,
            publicKey: String(decoding: bytes, as: UTF8.self)
        )
        try StandardOutput.print(try await store.administer(.addKey(key)).text)
    }
}

struct KeysListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the keys.",
        discussion: "  tidemark keys list notes.tide"
    )

    @OptionGroup var store: WrittenStoreArgument
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try output.print(
            try await store.administer(.keys).keys,
            in: Table([
                ("key", .left), ("name", .left), ("container", .left), ("environment", .left),
            ])
        ) { bytes, key in
            bytes.append(literal: "{")
            bytes.append(member: "key", jsonString: key.id.text)
            bytes.append(member: "name", jsonString: key.name)
            bytes.append(member: "container", jsonString: key.container)
            bytes.append(member: "environment", jsonString: key.environment)
            bytes.append(literal: "}")
        } row: { key in
            [key.id.text, key.name, key.container, key.environment]
        }
    }
}

struct KeysRevokeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke",
        abstract: "Revoke a key.",
        discussion: "  tidemark keys revoke notes.tide KEY"
    )

    @OptionGroup var store: WrittenStoreArgument

    @Argument(help: "The key's id.")
    var key: String

    func run() async throws {
        try await store.administer(.revokeKey(key))
    }
}
#endif
