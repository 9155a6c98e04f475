// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkAdministration

/// Prints events of the log, one on a line.
struct EventPrinter: ~Copyable {
    private let isJSON: Bool
    private var output: StandardOutput

    init(_ options: OutputOptions) {
        output = StandardOutput()
        isJSON = options.isJSON(output)
    }

    mutating func print(_ event: LoggedEvent) throws {
        if isJSON {
            try output.line { $0.append(json: event) }
        } else {
            try output.line(event.text)
        }
    }

    /// Hands on everything printed so far.
    mutating func flush() throws {
        try output.flush()
    }
}
