// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tidemark
import TidemarkModel

/// The container of the app whose data a command reads or writes.
struct ContainerOption: ParsableArguments {
    @Option(help: ArgumentHelp("The app's container.", valueName: "identifier"))
    var container = ContainerID.standard.identifier

    /// The container that the option names.
    var id: ContainerID { ContainerID(container) }

    /// The user that a command names; see ``UserID/init(named:in:)``.
    func user(_ name: String) -> UserID { UserID(named: name, in: id) }
}

extension UserID {
    /// The user that a command names: by the name of the user's record, or with `account:` before it by the
    /// account of a CloudKit program, which has another record name in each container.
    init(named name: String, in container: ContainerID) {
        let prefix = "account:"
        if name.hasPrefix(prefix) {
            self.init(account: String(name.dropFirst(prefix.count)), in: container)
        } else {
            self.init(name)
        }
    }
}
