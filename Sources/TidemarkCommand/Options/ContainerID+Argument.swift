// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import ArgumentParser
public import TidemarkModel

extension ContainerID: ExpressibleByArgument {
    /// Reads it by its identifier; no path of a server can name the empty one.
    public init?(argument: String) {
        guard !argument.isEmpty else { return nil }
        self.init(argument)
    }

    /// The identifier, for help texts.
    public var defaultValueDescription: String { identifier }

    /// The user that a command names; see ``UserID/init(named:in:)``.
    func user(_ name: String) -> UserID { UserID(named: name, in: self) }
}

extension ArgumentHelp {
    /// The container of the app whose data a command reads or writes.
    static let container = ArgumentHelp("The app's container.", valueName: "identifier")
}

extension UserID {
    /// The user that a command names: by the name of the user's record, or with `account:` before it by the
    /// account of a CloudKit program, which has another record name in each container.
    init(named name: String, in container: ContainerID) {
        // The options that use this cannot name a user whose record name begins so.
        let prefix = "account:"
        if name.hasPrefix(prefix) {
            self.init(account: String(name.dropFirst(prefix.count)), in: container)
        } else {
            self.init(name)
        }
    }
}
