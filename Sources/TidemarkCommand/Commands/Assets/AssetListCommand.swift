// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tidemark
import TidemarkModel

/// `tidemark asset ls`: what a database holds.
struct AssetListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ls",
        abstract: "List the assets whose bytes a database holds.",
        discussion: "Whether the bytes are sound is what `tidemark log verify` says."
    )

    @OptionGroup var store: StoreArgument
    @OptionGroup var database: DatabaseOptions
    @OptionGroup var options: OutputOptions

    func run() async throws {
        try await store.read { store in
            try options.print(try store.assets(of: database.id))
        }
    }
}

/// `tidemark asset collect`: rid of what nothing names.
struct AssetCollectCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "collect",
        abstract: "Remove bytes that were sent more than a day ago and that no record ever named.",
        discussion: "Prints what was removed, of all databases. Reads the whole log."
    )

    @OptionGroup var store: StoreArgument

    @Flag(help: "Only tell what would be removed.")
    var dryRun = false

    @OptionGroup var options: OutputOptions

    func run() async throws {
        try await store.write { store in
            try options.print(try await store.collectAssets(isDryRun: dryRun))
        }
    }
}

extension OutputOptions {
    /// Prints assets, one to a line.
    fileprivate func print(_ assets: [StoredAsset]) throws {
        var output = StandardOutput()
        let isJSON = isJSON(output)
        var table = Table([("bytes", .right), ("sent", .left), ("file", .left)])
        for asset in assets {
            if isJSON {
                try output.line { $0.append(json: asset) }
            } else {
                table.append([
                    "\(asset.byteCount)", RFC3339.text(milliseconds: asset.modified), asset.path,
                ])
            }
        }
        if !isJSON { for line in table.lines { try output.line(line) } }
        try output.flush()
    }
}

extension [UInt8] {
    fileprivate mutating func append(json asset: StoredAsset) {
        let reference = AssetReference(checksum: asset.checksum, byteCount: asset.byteCount)
        append(literal: "{\"asset\":")
        append(json: .asset(reference))
        append(literal: ",\"sent\":")
        append(jsonNumber: asset.modified)
        append(literal: ",\"file\":")
        append(jsonString: asset.path)
        append(literal: "}")
    }
}
