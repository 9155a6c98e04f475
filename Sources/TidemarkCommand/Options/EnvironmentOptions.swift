// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import ArgumentParser
public import TidemarkModel

/// The container and its environment that a command reads or writes.
struct EnvironmentOptions: ParsableArguments {
    @Option(help: .container) var container = ContainerID.standard

    @Option(help: "The container's environment.")
    var environment = Environment.development
}

/// Read by name: `development` or `production`.
extension Environment: ExpressibleByArgument {}

extension ArgumentHelp {
    /// The environment of a container.
    static let environment: ArgumentHelp = "The container's environment."
}
