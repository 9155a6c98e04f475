// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// How a command prints what it found.
struct OutputOptions: ParsableArguments {
    @Flag(help: "Print JSON Lines, as is done anyway when the output is not a terminal.")
    var json = false

    /// Whether programs are to read the output.
    func isJSON(_ output: borrowing StandardOutput) -> Bool {
        json || !output.isTerminal
    }
}
