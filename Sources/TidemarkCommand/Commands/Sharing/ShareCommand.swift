// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// `tidemark share`: lists the commands about shares, and lists shares if none is named.
struct ShareCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "share",
        abstract: "What users share with others.",
        discussion: """
            A share shows a record and all that is below it by its parents, or a whole zone, to \
            those who take part. They find it in their shared database:

              tidemark share create notes.tide --owner _anna --zone lists --root milk --invite _bob
              tidemark share accept notes.tide LINK --as _bob
              tidemark changes notes.tide --database shared --owner _bob --zone _anna/lists
            """,
        subcommands: [
            ShareListCommand.self, ShareCreateCommand.self, ShareSetCommand.self,
            ShareEndCommand.self, ShareAcceptCommand.self, ShareRequestCommand.self,
            ShareMetadataCommand.self, ShareLeaveCommand.self,
        ],
        defaultSubcommand: ShareListCommand.self
    )
}
