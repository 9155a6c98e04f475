// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// The root of the command line: it lists the commands and does nothing else.
@main
struct TidemarkCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tidemark",
        abstract: "A sync engine with CloudKit's model, and the questions its log answers."
    )
}
