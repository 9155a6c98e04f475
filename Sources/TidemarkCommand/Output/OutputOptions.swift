// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// The options for a command's output.
struct OutputOptions: ParsableArguments {
    /// For whom the output is.
    enum Form: String, EnumerableFlag {
        case json
        case text

        static func help(for form: Form) -> ArgumentHelp? {
            switch form {
            case .json: "Print JSON Lines, as is done anyway when the output is not a terminal."
            case .text: "Print what a person reads, as is done anyway on a terminal."
            }
        }
    }

    @Flag var form: Form?

    /// Returns true if the output is for programs.
    func isJSON(_ output: borrowing StandardOutput) -> Bool {
        switch form {
        case .json: true
        case .text: false
        case nil: !output.isTerminal
        }
    }

    /// Prints items: for programs each as an object on a line, for people as the rows of a table.
    func print<Item>(
        _ items: some Sequence<Item>,
        in table: Table,
        json: (inout [UInt8], Item) -> Void,
        row: (Item) -> [String]
    ) throws {
        var output = StandardOutput()
        if isJSON(output) {
            for item in items { try output.line { json(&$0, item) } }
        } else {
            var table = table
            for item in items { table.append(row(item)) }
            for line in table.lines { try output.line(line) }
        }
        try output.flush()
    }
}
