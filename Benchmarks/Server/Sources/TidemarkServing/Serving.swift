// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// Measures what a server is compared with; `tools/serving` runs it.
@main
struct Serving: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tidemark-serving",
        abstract: "Measures what a server is compared with.",
        subcommands: [
            FloorCommand.self, SavesCommand.self, SyncCommand.self, RequestsCommand.self,
            EnginesCommand.self,
        ]
    )
}
