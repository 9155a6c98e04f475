// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// `tidemark share`: lists the commands about shares, and lists shares if none is named.
struct ShareCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "share",
        abstract: "Create, list, accept and end shares.",
        discussion: """
              tidemark share create notes.tide --owner _anna --zone lists --root milk --invite _bob
              tidemark share accept notes.tide LINK --as _bob
              tidemark changes notes.tide --database shared --owner _bob --zone _anna/lists

            A share makes a record and its descendants, or a whole zone, visible to its \
            participants. They find it in their shared database.
            """,
        subcommands: [
            ShareListCommand.self, ShareCreateCommand.self, ShareSetCommand.self,
            ShareEndCommand.self, ShareAcceptCommand.self, ShareRequestCommand.self,
            ShareMetadataCommand.self, ShareLeaveCommand.self,
        ],
        defaultSubcommand: ShareListCommand.self
    )
}
