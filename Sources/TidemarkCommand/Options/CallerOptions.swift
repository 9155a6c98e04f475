// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TidemarkModel

/// The user, device and request id that a command uses.
///
/// It declares `--as` itself: in debug builds the argument parser checks each level of option groups
/// several times, and three levels take a third of a second.
struct CallerOptions: ParsableArguments {
    @Option(name: .customLong("as"), help: .askingUser)
    var user = UserID.current.userRecordName

    @Option(help: ArgumentHelp("The device that sends the request.", valueName: "name"))
    var device: String?

    @Option(help: ArgumentHelp("The build of the app.", valueName: "name"))
    var build: String?

    @Option(
        help: ArgumentHelp(
            """
            An id under which the request can be repeated. A repetition gets the first result and \
            changes nothing.
            """,
            valueName: "id"
        )
    )
    var requestID: String?

    /// The caller that the options describe.
    func caller(of database: DatabaseID) -> Caller {
        var caller = Caller(database: database, user: database.container.user(user))
        caller.device = device
        caller.build = build
        caller.requestID = requestID
        return caller
    }
}
