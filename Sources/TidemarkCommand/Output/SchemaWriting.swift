// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel

extension OutputOptions {
    /// Prints changes of a schema, in words, one to a line.
    func print(_ changes: [String]) throws {
        var output = StandardOutput()
        for change in changes {
            if isJSON(output) {
                try output.line {
                    $0.append(literal: "{")
                    $0.append(member: "change", jsonString: change)
                    $0.append(literal: "}")
                }
            } else {
                try output.line(change)
            }
        }
        try output.flush()
    }
}
