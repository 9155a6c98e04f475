// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tidemark
import TidemarkModel

/// `tidemark share accept`.
struct ShareAcceptCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "accept",
        abstract: "Accept an invitation to a share.",
        discussion: "  tidemark share accept notes.tide LINK --as _bob"
    )

    @OptionGroup var store: WrittenStoreArgument
    @OptionGroup var link: ShareLinkOptions
    @OptionGroup var options: OutputOptions

    func run() async throws {
        try await store.act { service in
            let record = try await service.acceptShare(link.link, as: link.caller)
            let shown = ShownShare(record, linkPrefix: store.argument.linkPrefix)
            try options.print([shown].compactMap(\.self))
        }
    }
}
