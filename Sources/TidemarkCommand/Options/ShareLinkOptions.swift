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

    @OptionGroup var place: EnvironmentOptions

    /// The user, in their shared database.
    var caller: Caller { place.caller(user, of: .shared) }
}
