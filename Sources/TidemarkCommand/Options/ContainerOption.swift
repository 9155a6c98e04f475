// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TidemarkModel

/// Whose schema it is.
struct ContainerOption: ParsableArguments {
    @Option(help: ArgumentHelp("The app's container.", valueName: "identifier"))
    var container = ContainerID.standard.identifier

    /// The container that the option names.
    var id: ContainerID { ContainerID(container) }
}

extension OutputOptions {
    /// Prints changes of a schema, one to a line.
    func print(_ changes: [SchemaChange]) throws {
        var output = StandardOutput()
        for change in changes {
            if isJSON(output) {
                try output.line {
                    $0.append(literal: "{\"change\":")
                    $0.append(jsonString: "\(change)")
                    $0.append(literal: "}")
                }
            } else {
                try output.line("\(change)")
            }
        }
        try output.flush()
    }
}
