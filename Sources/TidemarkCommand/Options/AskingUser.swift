// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TidemarkModel

/// The user as whom a command asks.
struct AskingUser: ParsableArguments {
    @Option(name: .customLong("as"), help: .askingUser)
    var name = UserID.current.userRecordName

    /// Returns the user as the caller of a database.
    func caller(of database: DatabaseID) -> Caller {
        Caller(database: database, user: database.container.user(name))
    }
}

extension ArgumentHelp {
    /// The user as whom a command asks.
    static let askingUser = ArgumentHelp(
        "The user who asks, by user record name or account:NAME. Permissions apply.",
        valueName: "user"
    )
}
