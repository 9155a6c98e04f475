// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tidemark
import TidemarkAdministration
import TidemarkModel

/// `tidemark schema index`: changes the indexes of a field.
struct SchemaIndexCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "index",
        abstract: "Add indexes to a field, or remove them.",
        discussion: """
              tidemark schema index notes.tide Item.title queryable sortable
              tidemark schema index notes.tide Item.___recordID queryable --environment production

            QUERYABLE allows equality, membership and distance, SORTABLE ranges and order, \
            SEARCHABLE words. Changes the development schema, and on request also the production \
            schema, so that the next promotion does not remove the index. Prints the changes.
            """
    )

    @OptionGroup var store: WrittenStoreArgument

    @Argument(help: "The field: its record type, a dot, and its name.")
    var field: String

    /// Indexes by their names in the schema language, in lower case.
    enum Index: String, ExpressibleByArgument, CaseIterable {
        case queryable
        case sortable
        case searchable

        var indexes: Schema.Indexes {
            switch self {
            case .queryable: .queryable
            case .sortable: .sortable
            case .searchable: .searchable
            }
        }
    }

    @Argument(help: "The indexes.")
    var indexes: [Index]

    @Flag(help: "Remove the indexes.")
    var remove = false

    @Option(help: .container) var container = ContainerID.standard

    @Option(help: "The container's environment; production means both.")
    var environment = Environment.development

    @OptionGroup var options: OutputOptions

    func validate() throws {
        guard let dot = field.lastIndex(of: "."), dot != field.startIndex else {
            throw ValidationError("'\(field)' is not a field. Name it as Item.title.")
        }
    }

    func run() async throws {
        // `validate` has rejected a field without a dot.
        guard let dot = field.lastIndex(of: ".") else { return }
        let recordType = Name(String(field[..<dot]))
        let name = Name(String(field[field.index(after: dot)...]))
        let asked = Schema.Indexes(indexes.map(\.indexes))
        let environments: [Environment] =
            // Development first: if the second change fails, a later promotion keeps what the first
            // one did.
            environment == .production ? [.development, .production] : [.development]
        try await store.administer { service in
            for environment in environments {
                let call = ChangeIndexesCall(
                    of: name,
                    in: recordType,
                    adding: remove ? [] : asked,
                    removing: remove ? asked : [],
                    of: container,
                    in: environment
                )
                try options.print(try await service.answer(call))
            }
        }
    }
}
