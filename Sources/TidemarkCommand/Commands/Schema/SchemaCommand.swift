// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// Groups the commands about a container's schemas.
struct SchemaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema",
        abstract: "Export, import, check, compare and promote schemas.",
        discussion: """
            A container has a schema for development, which grows with what is saved, and one for \
            production, which only changes when development's is promoted. Files are CloudKit's \
            .ckdb files.

              tidemark schema export notes.tide > notes.ckdb
              tidemark schema import notes.tide notes.ckdb
              tidemark schema diff notes.tide
              tidemark schema promote notes.tide
            """,
        subcommands: [
            SchemaExportCommand.self, SchemaImportCommand.self, SchemaValidateCommand.self,
            SchemaDiffCommand.self, SchemaPromoteCommand.self, SchemaIndexesCommand.self,
            SchemaIndexCommand.self, SchemaRolesCommand.self, SchemaDriftCommand.self,
        ]
    )
}
