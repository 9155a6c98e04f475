// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TidemarkAdministration
import TidemarkModel

/// `tidemark asset collect`: removes unnamed assets.
struct AssetCollectCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "collect",
        abstract: "Remove asset bytes that are older than a day and that no record ever named.",
        discussion: """
              tidemark asset collect notes.tide --dry-run

            Prints what was removed, of all databases. Reads the whole log. Fails while a backup or \
            another process reads the store.
            """
    )

    @OptionGroup var store: WrittenStoreArgument

    @Flag(help: "Print what would be removed, and remove nothing.")
    var dryRun = false

    @OptionGroup var options: OutputOptions

    func run() async throws {
        try await store.administer { service in
            try options.print(try await service.answer(CollectAssetsCall(isDryRun: dryRun)))
        }
    }
}
