// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tidemark
import TidemarkAdministration
import TidemarkModel

/// `tidemark schema import`: a file becomes development's schema.
struct SchemaImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Replace the development schema with a .ckdb file.",
        discussion: """
              tidemark schema import notes.tide notes.ckdb --dry-run
              tidemark schema import notes.tide notes.ckdb

            Prints one line for each change. Everything in production must stay, and no field may \
            change its type. Otherwise nothing is changed, every reason is printed, and the status \
            is 1. The store is created if it does not exist.
            """
    )

    @OptionGroup var store: WrittenStoreArgument

    @Argument(help: "The file; - is standard input.", completion: .file(extensions: ["ckdb"]))
    var file: String

    @Flag(help: "Print what would change, and change nothing.")
    var dryRun = false

    @Option(help: .container) var container = ContainerID.standard
    @OptionGroup var options: OutputOptions

    func run() async throws {
        let schema = try SchemaText(path: file).file().schema
        if dryRun {
            try await store.ask { service in
                // Planned here, because the call that imports has no dry run and a reader needs no
                // lock.
                let plan = SchemaPlan.importing(
                    schema,
                    into: try await service.answer(SchemaCall(of: container, in: .development)),
                    production: try await service.answer(
                        SchemaCall(of: container, in: .production)
                    )
                )
                if let error = plan.error { throw error }
                try options.print(plan.changes.map { "\($0)" })
            }
            return
        }
        try await store.administer(.creating) { service in
            try options.print(
                try await service.answer(ImportSchemaCall(schema, into: container))
            )
        }
    }
}
