// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tidemark
import TidemarkModel

/// `tidemark asset ls`: lists the assets of a database.
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
            try options.print(try store.assets(of: database.holder))
        }
    }
}

extension OutputOptions {
    /// Prints assets, one to a line.
    func print(_ assets: [StoredAsset]) throws {
        try print(
            assets,
            in: Table([("bytes", .right), ("sent", .left), ("file", .left)]),
            json: { $0.append(json: $1) },
            row: { ["\($0.byteCount)", RFC3339.text(milliseconds: $0.modified), $0.path] }
        )
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
