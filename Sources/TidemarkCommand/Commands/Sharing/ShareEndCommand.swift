// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tidemark
import TidemarkModel

/// `tidemark share end`.
struct ShareEndCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "end",
        abstract: "End a share. Its records stay, visible to the owner only.",
        discussion: "  tidemark share end notes.tide share-milk --owner _anna --zone lists"
    )

    @OptionGroup var store: WrittenStoreArgument

    @Argument(help: "The name of the share's record.")
    var share: String

    @Option(help: ArgumentHelp("The share's zone.", valueName: "name"))
    var zone: String

    @OptionGroup var place: SharePlace
    @OptionGroup var options: OutputOptions

    func run() async throws {
        let id = RecordID(recordName: share, zone: ZoneID(zoneName: zone))
        try await store.act { service in
            // A mistyped name must not delete an ordinary record.
            _ = try await service.share(id, as: place.caller)
            let result = try await service.modifyRecords(
                ModifyRecordsRequest(deletions: [RecordDeletion(id)]),
                as: place.caller
            )
            var output = ItemOutput(options)
            output.add("deleted", .record(id), result.deletions[0].map { _ in nil })
            try output.finish()
        }
    }
}
