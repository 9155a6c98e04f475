// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TidemarkModel

/// A link to a share, and who opens it.
struct ShareLinkOptions: ParsableArguments {
    @Argument(help: "The share's link, or what it ends with.")
    var link: String

    @Option(
        name: .customLong("as"),
        help: ArgumentHelp("Who opens the link, by user record name.", valueName: "user")
    )
    var user: String

    @OptionGroup var container: ContainerOption

    @Option(help: "The container's environment.")
    var environment = Environment.development

    /// The user, in their shared database.
    var caller: Caller {
        Caller(
            database: DatabaseID(
                container: container.id,
                environment: environment,
                scope: .shared,
                owner: UserID(user)
            ),
            user: UserID(user)
        )
    }
}
