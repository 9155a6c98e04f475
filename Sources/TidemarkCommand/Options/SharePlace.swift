// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TidemarkModel

/// In whose private database a share is.
struct SharePlace: ParsableArguments {
    @Option(help: .container) var container = ContainerID.standard
    @Option(help: .environment) var environment = Environment.development

    @Option(
        help: ArgumentHelp(
            "The owner of the private database, by user record name or account:NAME.",
            valueName: "user"
        )
    )
    var owner = UserID.current.userRecordName

    /// The owner of the database, as a caller.
    var caller: Caller { environment.caller(owner, of: .private, in: container) }
}
