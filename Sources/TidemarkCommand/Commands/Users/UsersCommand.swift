// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TidemarkModel

/// `tidemark users`: lists the commands about users, and lists users if none is named.
struct UsersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "users",
        abstract: "Who users are, and whether their accounts can be used.",
        discussion: """
            A user about whom nothing was said has an available account, and cannot be found by \
            others. What is said is said by an operator, and is kept in the log; each environment \
            of a container has its own users.
            """,
        subcommands: [
            UsersListCommand.self, UsersSetCommand.self, UsersLookupCommand.self,
            UsersStatusCommand.self,
        ],
        defaultSubcommand: UsersListCommand.self
    )
}
