// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tidemark
import TidemarkModel

/// `tidemark share leave`.
struct ShareLeaveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "leave",
        abstract: "Leave a share.",
        discussion: "  tidemark share leave notes.tide LINK --as _bob"
    )

    @OptionGroup var store: WrittenStoreArgument
    @OptionGroup var link: ShareLinkOptions
    @OptionGroup var options: OutputOptions

    func run() async throws {
        try await store.act { service in
            let id = try await service.shareMetadata(
                of: link.link,
                withRootRecord: false,
                as: link.caller
            ).share.recordID
            // In the shared database, deleting the share's record leaves the share
            // (`Docs/semantics.md`).
            let result = try await service.modifyRecords(
                ModifyRecordsRequest(deletions: [RecordDeletion(id)]),
                as: link.caller
            )
            var output = ItemOutput(options)
            output.add("deleted", .record(id), result.deletions[0].map { _ in nil })
            try output.finish()
        }
    }
}
