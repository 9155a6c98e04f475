// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TidemarkModel

/// A link to a share, and the user that opens it.
struct ShareLinkOptions: ParsableArguments {
    @Argument(help: "The share's link, or the end of it.")
    var link: String

    @Option(
        name: .customLong("as"),
        help: ArgumentHelp(
            "The user who opens the link, by user record name or account:NAME.",
            valueName: "user"
        )
    )
    var user: String

    @Option(help: .container) var container = ContainerID.standard
    @Option(help: .environment) var environment = Environment.development

    /// The user, in their shared database.
    var caller: Caller { environment.caller(user, of: .shared, in: container) }
}
