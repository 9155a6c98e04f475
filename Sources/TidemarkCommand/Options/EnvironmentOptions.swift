// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import ArgumentParser
public import TidemarkModel

/// The container and its environment that a command reads or writes.
struct EnvironmentOptions: ParsableArguments {
    @Option(help: .container) var container = ContainerID.standard
    @Option(help: .environment) var environment = Environment.development

    /// See ``Environment/caller(_:of:in:)``.
    func caller(_ user: String, of scope: DatabaseScope) -> Caller {
        environment.caller(user, of: scope, in: container)
    }
}

extension Environment {
    /// Returns a user whom a command names, as the caller of a database of their own or of the public
    /// one.
    func caller(_ user: String, of scope: DatabaseScope, in container: ContainerID) -> Caller {
        let user = container.user(user)
        let database = DatabaseID(
            container: container,
            environment: self,
            scope: scope,
            owner: user
        )
        return Caller(database: database, user: user)
    }
}

/// Read by name: `development` or `production`.
extension Environment: ExpressibleByArgument {}

extension ArgumentHelp {
    /// The environment of a container.
    static let environment: ArgumentHelp = "The container's environment."
}
