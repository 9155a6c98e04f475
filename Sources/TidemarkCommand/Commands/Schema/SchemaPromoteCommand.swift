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
        abstract: "Make production's schema what development's is.",
        discussion: """
            Prints what changes, one line for each change. Record types and fields are only added; \
            indexes, roles and grants become what they are in development. If something would get \
            lost nothing changes, every reason is told, and the status is 1.
            """
    )

    @OptionGroup var store: WrittenStoreArgument
    @OptionGroup var container: ContainerOption
    @OptionGroup var options: OutputOptions

    func run() async throws {
        try await store.administer { service in
            try options.print(try await service.answer(PromoteSchemaCall(of: container.id)))
        }
    }
}
