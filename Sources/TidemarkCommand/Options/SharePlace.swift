// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TidemarkModel

/// In whose private database a share is.
struct SharePlace: ParsableArguments {
    @OptionGroup var container: ContainerOption

    @Option(help: "The container's environment.")
    var environment = Environment.development

    @Option(
        help: ArgumentHelp("Whose private database it is, by user record name.", valueName: "user")
    )
    var owner = UserID.current.userRecordName

    /// The database.
    var database: DatabaseID {
        DatabaseID(
            container: container.id,
            environment: environment,
            scope: .private,
            owner: UserID(owner)
        )
    }

    /// Its owner, as a caller.
    var caller: Caller { Caller(database: database, user: UserID(owner)) }
}
