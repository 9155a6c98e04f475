// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// Groups the commands about a container's schemas.
struct SchemaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema",
        abstract: "Export, import, check, compare and promote schemas.",
        discussion: """
              tidemark schema export notes.tide > notes.ckdb
              tidemark schema import notes.tide notes.ckdb
              tidemark schema diff notes.tide
              tidemark schema promote notes.tide

            A container has two schemas. The development schema grows with the records that are \
            saved. The production schema changes only by a promotion of the development schema. \
            Files are CloudKit's .ckdb files.
            """,
        subcommands: [
            SchemaExportCommand.self, SchemaImportCommand.self, SchemaValidateCommand.self,
            SchemaDiffCommand.self, SchemaPromoteCommand.self, SchemaIndexesCommand.self,
            SchemaIndexCommand.self, SchemaRolesCommand.self, SchemaDriftCommand.self,
        ]
    )
}
