// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tidemark
import TidemarkModel

/// `tidemark share accept`.
struct ShareAcceptCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "accept",
        abstract: "Accept an invitation to a share."
    )

    @OptionGroup var store: WrittenStoreArgument
    @OptionGroup var link: ShareLinkOptions
    @OptionGroup var options: OutputOptions

    func run() async throws {
        try await store.write { store in
            let record = try await store.acceptShare(link.link, as: link.caller)
            try options.print([ShownShare(record, of: store)].compactMap(\.self))
        }
    }
}
