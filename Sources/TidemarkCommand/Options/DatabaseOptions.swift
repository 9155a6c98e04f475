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
    var database = Scope.private

    /// The databases that can be looked into: a shared one is a window on private ones.
    enum Scope: String, ExpressibleByArgument, CaseIterable {
        case `private`
        case `public`
    }

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
            scope: database == .public ? .public : .private,
            owner: UserID(owner)
        )
    }
}

/// Read by name: `development` or `production`.
extension Environment: ExpressibleByArgument {}
