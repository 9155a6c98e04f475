// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tidemark
import TidemarkAdministration
import TidemarkModel

/// `tidemark asset put`: bytes, before a record names them or after an import has.
struct AssetPutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "put",
        abstract: "Store the bytes of an asset for a database.",
        discussion: """
              tidemark asset put notes.tide photo.jpg

            Prints the asset as the value of a field. Save it in a record within a day; later its \
            bytes may be collected. The command also restores bytes that a record lacks after an \
            import, or that are damaged. `tidemark save` stores and saves in one step: \
            photo:ASSET=@photo.jpg. A server takes at most 16 MiB from a command.
            """
    )

    @OptionGroup var store: WrittenStoreArgument

    @Argument(help: "The file, or - for standard input.", completion: .file())
    var file: String

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var options: OutputOptions

    func run() async throws {
        let pieces = try AssetFile.pieces(of: file)
        let database = try database.holder
        if let server = try store.server {
            let bytes = try await VouchedTransport.bytes(of: pieces)
            try print(try await server.answer(UploadAssetCall(bytes, in: database)))
        } else {
            try await store.write { store in
                try print(try await store.storeAsset(pieces, in: database))
            }
        }
    }

    private func print(_ asset: AssetReference) throws {
        try options.print(
            json: { $0.append(json: .asset(asset)) },
            lines: { _ in ["stored \(FieldValue.asset(asset).wholeText)"] }
        )
    }
}
