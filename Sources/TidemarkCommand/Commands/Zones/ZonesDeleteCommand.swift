// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TidemarkModel

/// `tidemark zones delete`: the end of zones.
struct ZonesDeleteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Delete zones with all their records.",
        discussion: """
              tidemark zones delete notes.tide archive
              tidemark zones delete notes.tide lists --reason purged

            Prints one line for each zone. The log keeps deleted zones: `export --at` prints them. \
            Clients get the reason. The status is 1 if a zone was not deleted.
            """
    )

    @OptionGroup var store: WrittenStoreArgument

    @Argument(help: "The names of the zones.")
    var names: [String]

    @Option(
        help: """
            Why: deleted by a client, purged by the user with all of the app's data, or lost \
            because the account's encryption was reset.
            """
    )
    var reason = Reason.deleted

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var caller: CallerOptions
    @OptionGroup var options: OutputOptions

    /// The reasons as the command line spells them.
    enum Reason: String, ExpressibleByArgument, CaseIterable {
        case deleted
        case purged
        case encryptedDataReset = "encrypted-data-reset"

        /// The store's reason for the option.
        var reason: ZoneDeletionReason {
            switch self {
            case .deleted: .deleted
            case .purged: .purged
            case .encryptedDataReset: .encryptedDataReset
            }
        }
    }

    func run() async throws {
        let zones = names.map(database.zone)
        try await store.act { service in
            let result = try await service.modifyZones(
                ModifyZonesRequest(deletions: zones, deletionReason: reason.reason),
                as: caller.caller(of: database.id)
            )
            var output = ItemOutput(options)
            for (zone, outcome) in zip(zones, result.deletions) {
                output.add("deleted", .zone(zone), outcome.map { _ in nil })
            }
            try output.finish()
        }
    }
}
