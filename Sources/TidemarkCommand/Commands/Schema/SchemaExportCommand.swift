// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TidemarkAdministration
import TidemarkModel

/// `tidemark schema export`: a schema as a file.
struct SchemaExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Print a schema as a .ckdb file.",
        discussion: """
              tidemark schema export notes.tide --environment production >notes.ckdb

            The text is what CloudKit exports for the same schema, to the byte.
            """
    )

    @OptionGroup var store: StoreArgument
    @OptionGroup var place: EnvironmentOptions

    func run() async throws {
        try await store.ask { service in
            var output = StandardOutput()
            let call = SchemaCall(of: place.container, in: place.environment)
            let text = try await service.answer(call).text
            // The text ends with a line feed, so the last part is empty. Empty lines inside the
            // text stay.
            for line in text.split(separator: "\n", omittingEmptySubsequences: false).dropLast() {
                try output.line(String(line))
            }
            try output.flush()
        }
    }
}
