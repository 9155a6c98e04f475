// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// `tidemark share metadata`.
struct ShareMetadataCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "metadata",
        abstract: "Print the share that a link leads to."
    )

    @OptionGroup var store: StoreArgument
    @OptionGroup var link: ShareLinkOptions
    @OptionGroup var options: OutputOptions

    func run() async throws {
        try await store.read { store in
            let metadata = try await store.shareMetadata(of: link.link, as: link.caller)
            try options.print([ShownShare(metadata.share, of: store)].compactMap(\.self))
        }
    }
}
