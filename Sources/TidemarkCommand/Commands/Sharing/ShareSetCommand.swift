// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tidemark
import TidemarkModel

/// `tidemark share set`.
struct ShareSetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Change the participants of a share and their permissions.",
        discussion: """
              tidemark share set notes.tide share-milk --owner _anna --zone lists --remove _bob

            Everything that no option names stays as it was. --invite accepts a request for \
            access, and --deny rejects it. Prints the share.
            """
    )

    @OptionGroup var store: WrittenStoreArgument

    @Argument(help: "The name of the share's record.")
    var share: String

    @Option(help: ArgumentHelp("The share's zone.", valueName: "name"))
    var zone: String

    @Option(
        help: ArgumentHelp(
            "A participant to remove: user, address, number or participant's id.",
            valueName: "who"
        )
    )
    var remove: [String] = []

    @Option(help: ArgumentHelp("A user whose request to reject.", valueName: "user"))
    var deny: [String] = []

    @Option(help: ArgumentHelp("A user who may not request access again.", valueName: "user"))
    var block: [String] = []

    @Option(help: ArgumentHelp("A user who may request access again.", valueName: "user"))
    var unblock: [String] = []

    @OptionGroup var content: ShareContentOptions
    @OptionGroup var place: SharePlace
    @OptionGroup var options: OutputOptions

    func run() async throws {
        let id = RecordID(recordName: share, zone: ZoneID(zoneName: zone))
        try await store.act { service in
            let (record, old) = try await service.share(id, as: place.caller)
            var new = ShareContent(old)
            for who in remove {
                let count = new.participants.count
                new.participants.removeAll { participant in
                    // The owner cannot be removed, so the owner's name is rejected as that of no
                    // participant.
                    participant.role != .owner
                        && [
                            participant.id, participant.user?.userRecordName, participant.email,
                            participant.phone,
                        ].contains(who)
                }
                guard new.participants.count < count else {
                    throw CommandError(
                        "\(who) is not a participant of \(id). `tidemark share list` lists them."
                    )
                }
            }
            // After the removals: a participant that is both removed and invited gets a new
            // invitation.
            content.apply(to: &new)
            new.requesters = old.requesters.filter { !deny.contains($0.userRecordName) }
            new.blocked =
                old.blocked.filter { !unblock.contains($0.userRecordName) }
                + block.map { UserID($0) }.filter { !old.blocked.contains($0) }
            let save = RecordSave(
                id,
                type: Share.recordType,
                fields: try content.fields,
                // The tag makes the save fail if the share changed since it was read, because the
                // save replaces all participants.
                changeTag: record.changeTag,
                share: new
            )
            try await options.save(
                save,
                to: service,
                as: place.caller,
                linkPrefix: store.argument.linkPrefix
            )
        }
    }
}
