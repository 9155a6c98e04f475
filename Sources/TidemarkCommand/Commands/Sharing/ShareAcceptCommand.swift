// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tidemark
import TidemarkModel

/// A link to a share, and who opens it.
struct ShareLinkOptions: ParsableArguments {
    @Argument(help: "The share's link, or what it ends with.")
    var link: String

    @Option(
        name: .customLong("as"),
        help: ArgumentHelp("Who opens the link, by user record name.", valueName: "user")
    )
    var user: String

    @OptionGroup var container: ContainerOption

    @Option(help: "The container's environment.")
    var environment = Environment.development

    /// The user, in their shared database.
    var caller: Caller {
        Caller(
            database: DatabaseID(
                container: container.id,
                environment: environment,
                scope: .shared,
                owner: UserID(user)
            ),
            user: UserID(user)
        )
    }
}

/// `tidemark share accept`.
struct ShareAcceptCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "accept",
        abstract: "Take part in a share that one is invited to."
    )

    @OptionGroup var store: StoreArgument
    @OptionGroup var link: ShareLinkOptions
    @OptionGroup var options: OutputOptions

    func run() async throws {
        try await store.write { store in
            let record = try await store.acceptShare(link.link, as: link.caller)
            try options.print([ShownShare(record, of: store)].compactMap(\.self))
        }
    }
}

/// `tidemark share request`.
struct ShareRequestCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "request",
        abstract: "Ask to take part in a share.",
        discussion: "Prints nothing. The owner sees who asks with `share list`."
    )

    @OptionGroup var store: StoreArgument
    @OptionGroup var link: ShareLinkOptions

    func run() async throws {
        try await store.write { store in
            try await store.requestShareAccess(link.link, as: link.caller)
        }
    }
}

/// `tidemark share metadata`.
struct ShareMetadataCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "metadata",
        abstract: "Show what a link leads to, for somebody who may accept it."
    )

    @OptionGroup var store: StoreArgument
    @OptionGroup var link: ShareLinkOptions
    @OptionGroup var options: OutputOptions

    func run() async throws {
        try await store.read { store in
            let metadata = try await store.shareMetadata(of: link.link, as: link.caller)
            try options.print([ShownShare(metadata.share, of: store)].compactMap(\.self))
        }
    }
}

/// `tidemark share leave`.
struct ShareLeaveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "leave",
        abstract: "Take part in a share no more."
    )

    @OptionGroup var store: StoreArgument
    @OptionGroup var link: ShareLinkOptions
    @OptionGroup var options: OutputOptions

    func run() async throws {
        try await store.write { store in
            let id = try await store.shareMetadata(of: link.link, as: link.caller).share.recordID
            let result = try await store.modifyRecords(
                ModifyRecordsRequest(deletions: [RecordDeletion(id)]),
                as: link.caller
            )
            var output = ItemOutput(options)
            output.add("deleted", .record(id), result.deletions[0].map { _ in nil })
            try output.finish()
        }
    }
}
