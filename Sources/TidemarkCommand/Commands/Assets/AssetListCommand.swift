// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TidemarkAdministration
import TidemarkModel

/// `tidemark asset ls`: lists the assets of a database.
struct AssetListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ls",
        abstract: "List the assets whose bytes a database holds.",
        discussion: """
              tidemark asset ls notes.tide --owner _anna

            `tidemark log verify` checks the bytes.
            """
    )

    @OptionGroup var store: StoreArgument
    @OptionGroup var database: DatabaseOptions
    @OptionGroup var options: OutputOptions

    func run() async throws {
        try await store.ask { service in
            let call = AssetsCall(of: try database.holder)
            try options.print(try await service.answer(call))
        }
    }
}

extension OutputOptions {
    /// Prints assets, one to a line.
    func print(_ assets: [HeldAsset]) throws {
        try print(
            assets,
            in: Table([("bytes", .right), ("sent", .left), ("file", .left)]),
            json: { $0.append(json: $1) },
            row: { ["\($0.asset.byteCount)", RFC3339.text(milliseconds: $0.modified), $0.path] }
        )
    }
}

extension [UInt8] {
    fileprivate mutating func append(json held: HeldAsset) {
        append(literal: "{\"asset\":")
        append(json: .asset(held.asset))
        append(member: "sent", jsonNumber: held.modified)
        append(member: "file", jsonString: held.path)
        append(literal: "}")
    }
}
