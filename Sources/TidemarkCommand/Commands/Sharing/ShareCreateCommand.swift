// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tidemark
import TidemarkModel

/// `tidemark share create`.
struct ShareCreateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Share a record with its descendants, or a whole zone.",
        discussion: """
              tidemark share create notes.tide --owner _anna --zone lists --root milk --invite _bob
              tidemark share create notes.tide --owner _anna --zone lists --public readOnly

            Prints the share with its link, which invited participants accept.
            """
    )

    @OptionGroup var store: WrittenStoreArgument

    @Option(help: ArgumentHelp("The zone.", valueName: "name"))
    var zone: String

    @Option(
        help: ArgumentHelp("The record to share; without it the whole zone.", valueName: "name")
    )
    var root: String?

    @Option(
        help: ArgumentHelp(
            "The name of the share's record; by default share- and the root's name.",
            valueName: "name"
        )
    )
    var name: String?

    @OptionGroup var content: ShareContentOptions
    @OptionGroup var place: SharePlace
    @OptionGroup var options: OutputOptions

    func run() async throws {
        var shared = ShareContent(root: root)
        content.apply(to: &shared)
        // CloudKit fixes the record name of a share of a whole zone.
        let recordName = name ?? root.map { "share-\($0)" } ?? Share.zoneWideName
        let save = RecordSave(
            RecordID(recordName: recordName, zone: ZoneID(zoneName: zone)),
            type: Share.recordType,
            fields: try content.fields,
            share: shared
        )
        try await store.act { service in
            try await options.save(
                save,
                to: service,
                as: place.caller,
                linkPrefix: store.argument.linkPrefix
            )
        }
    }
}
