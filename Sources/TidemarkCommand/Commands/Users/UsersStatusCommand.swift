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
        let caller = place.caller(user, of: .public)
        try await store.ask { service in
            let status = try await service.answer(AccountStatusCall(of: caller))
            try options.print { line in
                line.append(literal: "{")
                line.append(member: "status", jsonString: status.name)
                line.append(member: "number", jsonNumber: status.rawValue)
                line.append(literal: "}")
            } lines: { _ in
                [status.name]
            }
        }
    }
}
