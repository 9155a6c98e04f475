// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tidemark
import TidemarkAdministration
import TidemarkModel

/// `tidemark users list`: lists the accounts of users.
struct UsersListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the users whose identity or account status was set.",
        discussion: """
              tidemark users list notes.tide --text

            Prints one line for each user, ordered by name as UTF-8 bytes.
            """
    )

    @OptionGroup var store: StoreArgument
    @OptionGroup var place: EnvironmentOptions
    @OptionGroup var options: OutputOptions

    func run() async throws {
        try await store.ask { service in
            let call = UsersCall(of: place.container, in: place.environment)
            try options.print(try await service.answer(call))
        }
    }
}
