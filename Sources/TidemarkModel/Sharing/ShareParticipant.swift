// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// What a participant may do with what is shared.
///
/// Raw values are CloudKit's, and on disk.
public enum SharePermission: Int, Hashable, CaseIterable, Codable, Sendable {
    /// Nothing.
    case none = 1
    /// Read.
    case readOnly = 2
    /// Read, create, change and delete.
    case readWrite = 3
}

/// What a participant is for a share.
///
/// Raw values are CloudKit's, and on disk.
public enum ShareRole: Int, Hashable, CaseIterable, Codable, Sendable {
    /// Whose zone it is.
    case owner = 1
    /// May change the share: who takes part, and what they may do.
    case administrator = 2
    /// Was invited.
    case privateUser = 3
    /// Came by the link of a share that is open to whoever has it.
    case publicUser = 4
}

/// How far an invitation has come.
///
/// Raw values are CloudKit's, and on disk. Whoever is removed is not in the list any more.
public enum ShareAcceptance: Int, Hashable, CaseIterable, Codable, Sendable {
    /// Not accepted yet.
    case pending = 1
    /// Accepted: the zone is in the participant's shared database.
    case accepted = 2
}

/// One who takes part in a share, or is invited to.
public struct ShareParticipant: Hashable, Codable, Sendable {
    /// Tells the participant from others of the share; a client that adds one may leave it empty.
    public var id: String
    /// The user; `nil` while it is only known how to reach them.
    public var user: UserID?
    /// The e-mail address that was invited; empty for none.
    public var email: String
    /// The phone number that was invited; empty for none.
    public var phone: String
    /// What they are for the share.
    public var role: ShareRole
    /// What they may do.
    public var permission: SharePermission
    /// How far the invitation has come; what a client says here counts for nothing.
    public var acceptance: ShareAcceptance
    /// Whether they asked to take part and were let in.
    public var isApprovedRequester: Bool
    /// When they were added, in milliseconds since 1970.
    public var added: Int64
    /// Whether a link of their own makes whoever opens it first this participant.
    public var isOneTime: Bool
    /// What that link ends with; empty for all but the owner and administrators, and for those
    /// without such a link.
    public var linkToken: String

    /// Describes somebody to invite.
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
