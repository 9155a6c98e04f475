// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TidemarkModel

/// A permission by its name.
///
/// CloudKit's own values are numbers, which are meaningless in a help text.
enum PermissionName: String, ExpressibleByArgument, CaseIterable {
    case none
    case readOnly
    case readWrite

    /// The permission of the name.
    var permission: SharePermission {
        switch self {
        case .none: .none
        case .readOnly: .readOnly
        case .readWrite: .readWrite
        }
    }
}

/// The participants of a share, and their permissions.
struct ShareContentOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A participant to invite or to change: a user record name, address or number.",
            valueName: "who"
        )
    )
    var invite: [String] = []

    @Option(help: "The permission of participants that this command invites.")
    var permission = PermissionName.readWrite

    @Flag(help: "Participants that this command invites may change the share.")
    var administrators = false

    @Flag(help: "Invite the first person who opens a link, which is printed with the share.")
    var oneTime = false

    @Option(
        name: .customLong("public"),
        help: "The permission of everyone who has the share's link."
    )
    var publicPermission: PermissionName?

    @Flag(inversion: .prefixedNo, help: "Whether everyone who has the link may request access.")
    var requests: Bool?

    @Option(help: ArgumentHelp("The title of the share.", valueName: "text"))
    var title: String?

    /// Applies the options to a share's content.
    func apply(to content: inout ShareContent) {
        for who in invite { add(participant(who), to: &content) }
        if oneTime {
            content.participants.append(
                ShareParticipant(role: role, permission: granted, isOneTime: true)
            )
        }
        if let publicPermission { content.publicPermission = publicPermission.permission }
        if let requests { content.allowsAccessRequests = requests }
    }

    private var granted: SharePermission { permission.permission }

    private var role: ShareRole { administrators ? .administrator : .privateUser }

    private func participant(_ who: String) -> ShareParticipant {
        switch UserLookup(who) {
        case .user(let user): ShareParticipant(user: user, role: role, permission: granted)
        case .email(let text): ShareParticipant(email: text, role: role, permission: granted)
        case .phone(let text): ShareParticipant(phone: text, role: role, permission: granted)
        }
    }

    private func add(_ participant: ShareParticipant, to content: inout ShareContent) {
        // The same option changes the permission of a participant, so an earlier entry of the
        // person is replaced.
        content.participants.removeAll { known in
            participant.user != nil && known.user == participant.user
                || !participant.email.isEmpty && known.email == participant.email
                || !participant.phone.isEmpty && known.phone == participant.phone
        }
        content.participants.append(participant)
    }

    /// The fields of the share's record that the options name.
    var fields: Fields {
        // CloudKit's name of the field. Without `--title` no field is sent, and the save keeps the
        // title.
        get throws { try title.map { try Fields(["cloudkit.title": .string($0)]) } ?? Fields() }
    }
}
