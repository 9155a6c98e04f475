// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// How a command prints what it found.
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

    /// Whether programs are to read the output.
    func isJSON(_ output: borrowing StandardOutput) -> Bool {
        switch form {
        case .json: true
        case .text: false
        case nil: !output.isTerminal
        }
    }
}
