// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TidemarkAdministration
import TidemarkModel

/// `tidemark schema roles`: which custom roles a user has.
struct SchemaRolesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "roles",
        abstract: "Print or set the custom roles of a user.",
        discussion: """
              tidemark schema roles notes.tide _anna
              tidemark schema roles notes.tide _anna --set Editor --set Reviewer
              tidemark schema roles notes.tide _anna --clear

            Roles decide what a user may do in the public database. The schema defines them \
            (CREATE ROLE), and they are granted per environment. Prints one line for each role of \
            the user.
            """
    )

    @OptionGroup var store: WrittenStoreArgument

    @Argument(help: "The user, by user record name or account:NAME.")
    var user: String

    @Option(help: ArgumentHelp("The roles, which replace the earlier ones.", valueName: "role"))
    var set: [String] = []

    @Flag(help: "Remove all roles.")
    var clear = false

    @OptionGroup var place: EnvironmentOptions
    @OptionGroup var options: OutputOptions

    func validate() throws {
        if clear, !set.isEmpty {
            throw ValidationError("--clear removes all roles; it cannot be combined with --set.")
        }
    }

    func run() async throws {
        let user = place.container.user(user)
        guard clear || !set.isEmpty else {
            try await store.ask { service in
                let call = RolesCall(of: user, of: place.container, in: place.environment)
                try options.print(try await service.answer(call), as: "role")
            }
            return
        }
        try await store.administer { service in
            let call = SetRolesCall(
                set,
                of: user,
                of: place.container,
                in: place.environment
            )
            _ = try await service.answer(call)
            try options.print(set, as: "role")
        }
    }
}
