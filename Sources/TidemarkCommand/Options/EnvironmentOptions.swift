// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import ArgumentParser
public import TidemarkModel

/// Which environment of which container a command is about.
struct EnvironmentOptions: ParsableArguments {
    @OptionGroup var container: ContainerOption

    @Option(help: "The container's environment.")
    var environment = Environment.development
}

/// Read by name: `development` or `production`.
extension Environment: ExpressibleByArgument {}
