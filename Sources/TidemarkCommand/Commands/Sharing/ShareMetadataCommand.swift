// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// `tidemark share metadata`.
struct ShareMetadataCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "metadata",
        abstract: "Print the share that a link leads to.",
        discussion: "  tidemark share metadata notes.tide LINK --as _bob"
    )

    @OptionGroup var store: StoreArgument
    @OptionGroup var link: ShareLinkOptions
    @OptionGroup var options: OutputOptions

    func run() async throws {
        try await store.askAsApp { service in
            let metadata = try await service.shareMetadata(
                of: link.link,
                withRootRecord: false,
                as: link.caller
            )
            let shown = ShownShare(metadata.share, linkPrefix: store.linkPrefix)
            try options.print([shown].compactMap(\.self))
        }
    }
}
