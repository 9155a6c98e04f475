// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tidemark
import TidemarkModel

/// `tidemark share`: lists the commands about shares, and lists shares if none is named.
struct ShareCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "share",
        abstract: "What users share with others.",
        discussion: """
            A share shows a record and all that is below it by its parents, or a whole zone, to \
            those who take part. They find it in their shared database:

              tidemark share create notes.tide --owner _anna --zone lists --root milk --invite _bob
              tidemark share accept notes.tide LINK --as _bob
              tidemark changes notes.tide --database shared --owner _bob --zone _anna/lists
            """,
        subcommands: [
            ShareListCommand.self, ShareCreateCommand.self, ShareSetCommand.self,
            ShareEndCommand.self, ShareAcceptCommand.self, ShareRequestCommand.self,
            ShareMetadataCommand.self, ShareLeaveCommand.self,
        ],
        defaultSubcommand: ShareListCommand.self
    )
}

/// In whose private database a share is.
struct SharePlace: ParsableArguments {
    @OptionGroup var container: ContainerOption

    @Option(help: "The container's environment.")
    var environment = Environment.development

    @Option(
        help: ArgumentHelp("Whose private database it is, by user record name.", valueName: "user")
    )
    var owner = UserID.current.userRecordName

    /// The database.
    var database: DatabaseID {
        DatabaseID(
            container: container.id,
            environment: environment,
            scope: .private,
            owner: UserID(owner)
        )
    }

    /// Its owner, as a caller.
    var caller: Caller { Caller(database: database, user: UserID(owner)) }
}

/// `tidemark share list`.
struct ShareListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the shares of a user, with who takes part."
    )

    @OptionGroup var store: StoreArgument

    @Option(help: ArgumentHelp("Only the shares of this zone.", valueName: "name"))
    var zone: String?

    @OptionGroup var place: SharePlace
    @OptionGroup var options: OutputOptions

    func run() async throws {
        try await store.read { store in
            var shares: [ShownShare] = []
            try store.visitRecords(
                of: place.database,
                in: zone.map { ZoneID(zoneName: $0) },
                asOf: nil
            ) { record in
                if let share = ShownShare(record, of: store) { shares.append(share) }
                return true
            }
            try options.print(shares)
        }
    }
}

/// `tidemark share end`.
struct ShareEndCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "end",
        abstract: "End a share: its records stay, and nobody else sees them any more."
    )

    @OptionGroup var store: StoreArgument

    @Argument(help: "The name of the share's record.")
    var share: String

    @Option(help: ArgumentHelp("The share's zone.", valueName: "name"))
    var zone: String

    @OptionGroup var place: SharePlace
    @OptionGroup var options: OutputOptions

    func run() async throws {
        let id = RecordID(recordName: share, zone: ZoneID(zoneName: zone))
        try await store.write { store in
            let record = try await store.fetchRecords(
                FetchRecordsRequest([id]),
                as: place.caller
            )[0].get()
            guard record.share != nil else { throw CommandError("\(id) is not a share.") }
            let result = try await store.modifyRecords(
                ModifyRecordsRequest(deletions: [RecordDeletion(id)]),
                as: place.caller
            )
            var output = ItemOutput(options)
            output.add("deleted", .record(id), result.deletions[0].map { _ in nil })
            try output.finish()
        }
    }
}
