// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// `tidemark share request`.
struct ShareRequestCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "request",
        abstract: "Request access to a share.",
        discussion: """
              tidemark share request notes.tide LINK --as _bob

            Prints nothing. The owner sees who asks with `share list`.
            """
    )

    @OptionGroup var store: WrittenStoreArgument
    @OptionGroup var link: ShareLinkOptions

    func run() async throws {
        try await store.act { service in
            try await service.requestShareAccess(link.link, as: link.caller)
        }
    }
}
