// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tidemark
import TidemarkAdministration
import TidemarkModel

/// `tidemark schema promote`: production's schema becomes development's.
struct SchemaPromoteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "promote",
        abstract: "Copy the development schema to production.",
        discussion: """
              tidemark schema promote notes.tide

            Prints one line for each change. Record types and fields are only added; indexes, \
            roles and grants become those of development. If the promotion would lose anything, \
            nothing is changed, every reason is printed, and the status is 1.
            """
    )

    @OptionGroup var store: WrittenStoreArgument
    @Option(help: .container) var container = ContainerID.standard
    @OptionGroup var options: OutputOptions

    func run() async throws {
        try await store.administer { service in
            try options.print(try await service.answer(PromoteSchemaCall(of: container)))
        }
    }
}
