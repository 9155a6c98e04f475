// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TidemarkAdministration
import TidemarkModel

/// `tidemark share list`.
struct ShareListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the shares of a user, with their participants.",
        discussion: "  tidemark share list notes.tide --owner _anna"
    )

    @OptionGroup var store: StoreArgument

    @Option(help: ArgumentHelp("Only the shares of this zone.", valueName: "name"))
    var zone: String?

    @OptionGroup var place: SharePlace
    @OptionGroup var options: OutputOptions

    func run() async throws {
        try await store.ask { service in
            var shares: [ShownShare] = []
            let call = RecordsCall(
                of: place.caller.database,
                in: zone.map { ZoneID(zoneName: $0) },
                asOf: nil
            )
            let linkPrefix = store.linkPrefix
            _ = try await service.answer(call) { record in
                if let share = ShownShare(record, linkPrefix: linkPrefix) { shares.append(share) }
            }
            try options.print(shares)
        }
    }
}
