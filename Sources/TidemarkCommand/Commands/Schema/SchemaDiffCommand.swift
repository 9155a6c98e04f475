// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TidemarkAdministration
import TidemarkModel

/// `tidemark schema diff`: shows the differences between two schemas.
struct SchemaDiffCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "diff",
        abstract: "Print the changes that a promotion or an import would make.",
        discussion: """
              tidemark schema diff notes.tide
              tidemark schema diff notes.tide notes.ckdb

            Without a file, prints the changes that make the production schema equal to the \
            development schema. With a file, prints the changes that make the development schema \
            equal to the file. Prints one line for each change, allowed or not, and nothing if the \
            two are equal.
            """
    )

    @OptionGroup var store: StoreArgument

    @Argument(help: "The file; - is standard input.", completion: .file(extensions: ["ckdb"]))
    var file: String?

    @Option(help: .container) var container = ContainerID.standard
    @OptionGroup var options: OutputOptions

    func run() async throws {
        let target = try file.map { try SchemaText(path: $0).file().schema }
        try await store.ask { service in
            let development = try await service.answer(
                SchemaCall(of: container, in: .development)
            )
            let changes =
                if let target {
                    development.changes(to: target)
                } else {
                    try await service.answer(SchemaCall(of: container, in: .production))
                        .changes(to: development)
                }
            try options.print(changes.map { "\($0)".printable })
        }
    }
}
