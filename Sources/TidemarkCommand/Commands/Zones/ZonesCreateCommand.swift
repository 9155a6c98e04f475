// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TidemarkModel

/// `tidemark zones create`: new zones.
struct ZonesCreateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Create zones in a private database.",
        discussion: """
              tidemark zones create notes.tide lists archive

            Prints one line for each zone. Creating a zone that exists succeeds. The store is \
            created if it does not exist. The status is 1 if a zone was not created.
            """
    )

    @OptionGroup var store: WrittenStoreArgument

    @Argument(help: "The names of the zones.")
    var names: [String]

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var caller: CallerOptions
    @OptionGroup var options: OutputOptions

    func run() async throws {
        let zones = names.map { ZoneID(zoneName: $0) }
        try await store.act(.creating) { service in
            let result = try await service.modifyZones(
                ModifyZonesRequest(saves: zones),
                as: caller.caller(of: database.id)
            )
            var output = ItemOutput(options)
            for (zone, outcome) in zip(zones, result.saves) {
                output.add("created", .zone(zone), outcome.map { _ in nil })
            }
            try output.finish()
        }
    }
}
