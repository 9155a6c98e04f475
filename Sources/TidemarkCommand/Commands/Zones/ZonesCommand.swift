// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// `tidemark zones`: lists the commands about zones, and lists zones if none is named.
struct ZonesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "zones",
        abstract: "List, create and delete the zones of a database.",
        subcommands: [ZonesListCommand.self, ZonesCreateCommand.self, ZonesDeleteCommand.self],
        defaultSubcommand: ZonesListCommand.self
    )
}
