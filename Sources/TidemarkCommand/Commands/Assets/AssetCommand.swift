// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// `tidemark asset`: the bytes that records name.
struct AssetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "asset",
        abstract: "Store, fetch, list and collect the bytes of assets.",
        subcommands: [
            AssetGetCommand.self, AssetPutCommand.self, AssetListCommand.self,
            AssetCollectCommand.self,
        ]
    )
}
