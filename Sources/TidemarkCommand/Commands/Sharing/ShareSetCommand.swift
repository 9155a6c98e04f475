// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import ArgumentParser
import Tidemark
public import TidemarkModel

/// Read by name: `none`, `readOnly`, `readWrite`.
extension SharePermission: ExpressibleByArgument {
    /// Reads a permission as the command line spells it.
    public init?(argument: String) {
        guard let known = Self.allCases.first(where: { "\($0)" == argument }) else { return nil }
        self = known
    }

    /// The names of all permissions.
    public static var allValueStrings: [String] { allCases.map { "\($0)" } }
}

/// Who is to take part in a share, and how.
struct ShareContentOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Whom to invite, or to invite otherwise: a user record name, address or number.",
            valueName: "who"
        )
    )
    var invite: [String] = []

    @Option(help: "What those who are invited by this command may do.")
    var permission = SharePermission.readWrite

    @Flag(help: "Those who are invited by this command may change the share.")
    var administrators = false

    @Flag(help: "Invite whoever opens a link first; the link is printed with the share.")
    var oneTime = false

    @Option(name: .customLong("public"), help: "What whoever has the share's link may do.")
    var publicPermission: SharePermission?

    @Flag(inversion: .prefixedNo, help: "Whether those who have the link may ask to take part.")
    var requests: Bool?

    @Option(help: ArgumentHelp("What the share is called.", valueName: "text"))
    var title: String?

    /// Puts what the options say into a share's content.
    func apply(to content: inout ShareContent) {
        for who in invite { add(participant(who), to: &content) }
        if oneTime {
            content.participants.append(
                ShareParticipant(role: role, permission: permission, isOneTime: true)
            )
        }
        if let publicPermission { content.publicPermission = publicPermission }
        if let requests { content.allowsAccessRequests = requests }
    }

    private var role: ShareRole { administrators ? .administrator : .privateUser }

    private func participant(_ who: String) -> ShareParticipant {
        switch UserLookup(who) {
        case .user(let user): ShareParticipant(user: user, role: role, permission: permission)
        case .email(let text): ShareParticipant(email: text, role: role, permission: permission)
        case .phone(let text): ShareParticipant(phone: text, role: role, permission: permission)
        }
    }

    private func add(_ participant: ShareParticipant, to content: inout ShareContent) {
        content.participants.removeAll { known in
            participant.user != nil && known.user == participant.user
                || !participant.email.isEmpty && known.email == participant.email
                || !participant.phone.isEmpty && known.phone == participant.phone
        }
        content.participants.append(participant)
    }

    /// The fields of the share's record that the options name.
    var fields: Fields {
        get throws { try title.map { try Fields(["cloudkit.title": .string($0)]) } ?? Fields() }
    }
}

/// `tidemark share create`.
struct ShareCreateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Share a record with all that is below it, or a whole zone.",
        discussion: """
            Prints the share with its link, which those who are invited accept.

              tidemark share create notes.tide --owner _anna --zone lists --root milk --invite _bob
              tidemark share create notes.tide --owner _anna --zone lists --public readOnly
            """
    )

    @OptionGroup var store: StoreArgument

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
        let recordName = name ?? root.map { "share-\($0)" } ?? Share.zoneWideName
        let save = RecordSave(
            RecordID(recordName: recordName, zone: ZoneID(zoneName: zone)),
            type: Share.recordType,
            fields: try content.fields,
            share: shared
        )
        try await store.write { store in
            try await options.save(save, to: store, as: place.caller)
        }
    }
}

/// `tidemark share set`.
struct ShareSetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Change who takes part in a share, and how.",
        discussion: """
            What no option names stays as it was. Somebody who asked to take part is let in with \
            --invite and refused with --deny. Prints the share.

              tidemark share set notes.tide share-milk --owner _anna --zone lists --remove _bob
            """
    )

    @OptionGroup var store: StoreArgument

    @Argument(help: "The name of the share's record.")
    var share: String

    @Option(help: ArgumentHelp("The share's zone.", valueName: "name"))
    var zone: String

    @Option(
        help: ArgumentHelp(
            "Who is to take part no more: user, address, number or participant's id.",
            valueName: "who"
        )
    )
    var remove: [String] = []

    @Option(help: ArgumentHelp("Whose request to refuse.", valueName: "user"))
    var deny: [String] = []

    @Option(help: ArgumentHelp("Who may not ask any more.", valueName: "user"))
    var block: [String] = []

    @Option(help: ArgumentHelp("Who may ask again.", valueName: "user"))
    var unblock: [String] = []

    @OptionGroup var content: ShareContentOptions
    @OptionGroup var place: SharePlace
    @OptionGroup var options: OutputOptions

    func run() async throws {
        let id = RecordID(recordName: share, zone: ZoneID(zoneName: zone))
        try await store.write { store in
            let record = try await store.fetchRecords(
                FetchRecordsRequest([id]),
                as: place.caller
            )[0].get()
            guard let old = record.share else { throw CommandError("\(id) is not a share.") }
            var new = ShareContent(old)
            for who in remove {
                let count = new.participants.count
                new.participants.removeAll { participant in
                    participant.role != .owner
                        && [
                            participant.id, participant.user?.userRecordName, participant.email,
                            participant.phone,
                        ].contains(who)
                }
                guard new.participants.count < count else {
                    throw CommandError("\(who) does not take part in \(id).")
                }
            }
            content.apply(to: &new)
            new.requesters = old.requesters.filter { !deny.contains($0.userRecordName) }
            new.blocked =
                old.blocked.filter { !unblock.contains($0.userRecordName) }
                + block.map { UserID($0) }.filter { !old.blocked.contains($0) }
            let save = RecordSave(
                id,
                type: Share.recordType,
                fields: try content.fields,
                changeTag: record.changeTag,
                share: new
            )
            try await options.save(save, to: store, as: place.caller)
        }
    }
}

extension OutputOptions {
    /// Saves a share's record and prints the share.
    fileprivate func save(_ save: RecordSave, to store: Store, as caller: Caller) async throws {
        let result = try await store.modifyRecords(
            ModifyRecordsRequest(saves: [save]),
            as: caller
        )
        let record = try result.saves[0].get()
        try print([ShownShare(record, of: store)].compactMap(\.self))
    }
}
