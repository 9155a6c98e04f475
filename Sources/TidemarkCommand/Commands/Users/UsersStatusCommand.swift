// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TidemarkAdministration
import TidemarkModel

/// `tidemark users status`: whether an account can be used.
struct UsersStatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Print the status of a user's account.",
        discussion: """
              tidemark users status notes.tide _anna

            If the status is restricted or noAccount, the user's calls fail with notAuthenticated. \
            If it is temporarilyUnavailable or couldNotDetermine, calls to private and shared \
            databases fail with accountTemporarilyUnavailable. `users set --status` changes it.
            """
    )

    @OptionGroup var store: StoreArgument

    @Argument(help: "The user, by user record name or account:NAME.")
    var user: String

    @OptionGroup var place: EnvironmentOptions
    @OptionGroup var options: OutputOptions

    func run() async throws {
        let database = DatabaseID(
            container: place.container,
            environment: place.environment,
            scope: .public
        )
        let caller = Caller(database: database, user: place.container.user(user))
        try await store.ask { service in
            let status = try await service.answer(AccountStatusCall(of: caller))
            var output = StandardOutput()
            if options.isJSON(output) {
                try output.line("{\"status\":\"\(status.name)\",\"number\":\(status.rawValue)}")
            } else {
                try output.line(status.name)
            }
            try output.flush()
        }
    }
}
