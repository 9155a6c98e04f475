// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// Groups the commands that read the log itself.
struct LogCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log",
        abstract: "Inspect, verify and salvage the log of a store.",
        discussion: """
            These commands read a store, also while another process writes to it. They do not \
            change it; `salvage` writes a new store.
            """,
        subcommands: [
            LogListCommand.self, LogDumpCommand.self, LogTailCommand.self, LogStatCommand.self,
            LogVerifyCommand.self, LogSalvageCommand.self,
        ]
    )
}
