// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TidemarkModel

/// `tidemark users`: lists the commands about users, and lists users if none is named.
struct UsersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "users",
        abstract: "List users, and set their identities and account status.",
        discussion: """
            A user about whom nothing was set has an available account, and cannot be found by \
            others. What an operator sets is kept in the log. Each environment of a container has \
            its own users.
            """,
        subcommands: [
            UsersListCommand.self, UsersSetCommand.self, UsersLookupCommand.self,
            UsersStatusCommand.self,
        ],
        defaultSubcommand: UsersListCommand.self
    )
}
