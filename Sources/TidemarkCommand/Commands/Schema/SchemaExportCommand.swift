// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TidemarkModel

/// `tidemark schema export`: a schema as a file.
struct SchemaExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Print a schema as a .ckdb file.",
        discussion: "The text is what CloudKit exports for the same schema, to the byte."
    )

    @OptionGroup var store: StoreArgument
    @OptionGroup var place: EnvironmentOptions

    func run() async throws {
        try await store.read { store in
            var output = StandardOutput()
            let text = try store.schema(of: place.container.id, in: place.environment).text
            for line in text.split(separator: "\n", omittingEmptySubsequences: false).dropLast() {
                try output.line(String(line))
            }
            try output.flush()
        }
    }
}
