// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TidemarkModel

/// Which app's data a command is about.
struct ContainerOption: ParsableArguments {
    @Option(help: ArgumentHelp("The app's container.", valueName: "identifier"))
    var container = ContainerID.standard.identifier

    /// The container that the option names.
    var id: ContainerID { ContainerID(container) }
}
