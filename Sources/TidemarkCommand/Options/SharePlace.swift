// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TidemarkModel

/// In whose private database a share is.
struct SharePlace: ParsableArguments {
    @OptionGroup var place: EnvironmentOptions

    @Option(
        help: ArgumentHelp(
            "The owner of the private database, by user record name or account:NAME.",
            valueName: "user"
        )
    )
    var owner = UserID.current.userRecordName

    /// The owner of the database, as a caller.
    var caller: Caller { place.caller(owner, of: .private) }
}
