// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tidemark
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
            photo:ASSET=@photo.jpg.
            """
    )

    @OptionGroup var store: WrittenStoreArgument

    @Argument(help: "The file, or - for standard input.", completion: .file())
    var file: String

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var options: OutputOptions

    func run() async throws {
        try await store.write { store in
            let pieces = try AssetFile.pieces(of: file)
            let asset = try await store.storeAsset(pieces, in: database.holder)
            var output = StandardOutput()
            if options.isJSON(output) {
                try output.line { $0.append(json: .asset(asset)) }
            } else {
                try output.line("stored \(FieldValue.asset(asset).wholeText)")
            }
            try output.flush()
        }
    }
}
