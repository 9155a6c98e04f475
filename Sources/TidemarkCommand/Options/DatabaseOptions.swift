// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import ArgumentParser
public import TidemarkModel

/// Which of a store's databases a command is about.
struct DatabaseOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The app's container.", valueName: "identifier"))
    var container = ContainerID.standard.identifier

    @Option(help: "The container's environment.")
    var environment = Environment.development

    @Option(help: "The database.")
    var database = DatabaseScope.private

    @Option(
        help: ArgumentHelp(
            "Whose private database it is, by user record name.",
            valueName: "user"
        )
    )
    var owner = UserID.current.userRecordName

    /// The database that the options name.
    var id: DatabaseID {
        DatabaseID(
            container: ContainerID(container),
            environment: environment,
            scope: database,
            owner: UserID(owner)
        )
    }
}

/// Read by name: `development` or `production`.
extension Environment: ExpressibleByArgument {}

extension DatabaseScope: ExpressibleByArgument {
    /// Reads `private` or `public`: a shared database is a window on private ones, and cannot be
    /// looked into by itself.
    public init?(argument: String) {
        guard Self.allValueStrings.contains(argument) else { return nil }
        self.init(name: argument)
    }

    /// What can be asked for.
    public static var allValueStrings: [String] {
        [DatabaseScope.private, .public].map(\.name)
    }

    /// The name, as `--help` shows the default.
    public var defaultValueDescription: String { name }
}
