// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// Groups the commands that read the log itself.
struct LogCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log",
        abstract: "Look at the log that a store is made of.",
        discussion: """
            All of these read a store as it is, also while another process writes it. None of them \
            changes it; `salvage` writes a new one.
            """,
        subcommands: [
            LogListCommand.self, LogDumpCommand.self, LogTailCommand.self, LogStatCommand.self,
            LogVerifyCommand.self, LogSalvageCommand.self,
        ]
    )
}
