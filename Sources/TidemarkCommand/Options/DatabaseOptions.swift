// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TidemarkModel

/// The database of a store that a command reads or writes.
struct DatabaseOptions: ParsableArguments {
    @Option(help: .container) var container = ContainerID.standard
    @Option(help: .environment) var environment = Environment.development

    @Option(
        help: """
            The database. The shared one shows what others share with its owner; its zones are named \
            USER/ZONE, after whose they are. Commands that read or write a database's own zones, \
            such as export and history, reject it; changes and query take it.
            """
    )
    var database = Scope.private

    /// The databases of a user and a container.
    enum Scope: String, ExpressibleByArgument, CaseIterable {
        case `private`
        case `public`
        case shared
    }

    @Option(
        help: ArgumentHelp(
            "The owner of the private or shared database, by user record name or account:NAME.",
            valueName: "user"
        )
    )
    var owner = UserID.current.userRecordName

    /// The database that the options name.
    var id: DatabaseID {
        DatabaseID(
            container: container,
            environment: environment,
            scope: scope,
            owner: container.user(owner)
        )
    }

    /// The same database, for a command that reads the contents of the database itself.
    var holder: DatabaseID {
        get throws {
            if database != .shared { return id }
            throw ValidationError(
                "A shared database has no zones of its own. Leave out --database, and name the "
                    + "owner of the zone with --owner. `changes` and `query` print its records."
            )
        }
    }

    private var scope: DatabaseScope {
        switch database {
        case .private: .private
        case .public: .public
        case .shared: .shared
        }
    }

    /// The zone of a name: the default zone if there is none; in the shared database one that is named
    /// after whose it is.
    func zone(_ name: String?) -> ZoneID {
        guard let name else { return .default }
        // Only the first slash ends the owner's name. The name of the zone may contain more.
        let parts = name.split(separator: "/", maxSplits: 1)
        guard database == .shared, parts.count == 2 else { return ZoneID(zoneName: name) }
        return ZoneID(zoneName: String(parts[1]), ownerName: String(parts[0]))
    }
}
