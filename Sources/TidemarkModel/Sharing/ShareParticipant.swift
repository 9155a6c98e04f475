// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The permission of a participant on the shared records.
///
/// Raw values are CloudKit's, and on disk.
public enum SharePermission: Int, Hashable, CaseIterable, Codable, Sendable {
    /// No permission.
    case none = 1
    /// Read.
    case readOnly = 2
    /// Read, create, change and delete.
    case readWrite = 3
}

/// The role of a participant in a share.
///
/// Raw values are CloudKit's, and on disk.
public enum ShareRole: Int, Hashable, CaseIterable, Codable, Sendable {
    /// The owner of the zone.
    case owner = 1
    /// A participant who may change the share: its participants and their permissions.
    case administrator = 2
    /// Was invited.
    case privateUser = 3
    /// A participant who joined by the link of a public share.
    case publicUser = 4
}

/// The state of an invitation.
///
/// Raw values are CloudKit's, and on disk. A participant who was removed is no longer in the list.
public enum ShareAcceptance: Int, Hashable, CaseIterable, Codable, Sendable {
    /// Not accepted yet.
    case pending = 1
    /// Accepted: the zone is in the participant's shared database.
    case accepted = 2
}

/// A user who takes part in a share, or is invited to.
public struct ShareParticipant: Hashable, Codable, Sendable {
    /// The identity of the participant within the share; a client that adds one may leave it empty.
    public var id: String
    /// The user; `nil` while it is only known how to reach them.
    public var user: UserID?
    /// The e-mail address that was invited; empty for none.
    public var email: String
    /// The phone number that was invited; empty for none.
    public var phone: String
    /// The participant's role in the share.
    public var role: ShareRole
    /// The participant's permission.
    public var permission: SharePermission
    /// The state of the invitation; ignored if a client sends it.
    public var acceptance: ShareAcceptance
    /// True if the participant requested access and was accepted.
    public var isApprovedRequester: Bool
    /// The time at which the participant was added, in milliseconds since 1970.
    public var added: Int64
    /// True if the participant has a link of their own.
    ///
    /// The first user who opens this link becomes the participant.
    public var isOneTime: Bool
    /// The end of that link.
    ///
    /// Empty if there is no such link, and for every reader except the owner and administrators.
    public var linkToken: String

    /// Creates a participant to invite.
    public init(
        id: String = "",
        user: UserID? = nil,
        email: String = "",
        phone: String = "",
        role: ShareRole = .privateUser,
        permission: SharePermission = .readOnly,
        isOneTime: Bool = false
    ) {
        self.id = id
        self.user = user
        self.email = email
        self.phone = phone
        self.role = role
        self.permission = permission
        acceptance = .pending
        isApprovedRequester = false
        added = 0
        self.isOneTime = isOneTime
        linkToken = ""
    }
}
