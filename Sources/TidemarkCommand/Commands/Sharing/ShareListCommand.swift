// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tidemark
import TidemarkModel

/// `tidemark share list`.
struct ShareListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the shares of a user, with their participants."
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
