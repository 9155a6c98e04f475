// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The content of a share record beside its own fields: records, participants and permissions.
public struct Share: Hashable, Sendable {
    /// The type of share records.
    public static let recordType = "cloudkit.share"
    /// The same, to compare with.
    package static let typeName = Name(recordType)
    /// The record name of a share of a whole zone.
    public static let zoneWideName = "cloudkit.zoneshare"
    /// The name of the record whose tree is shared; `nil` for a whole zone.
    public var root: Name?
    /// The permission of everyone who has the link.
    ///
    /// With ``SharePermission/none``, only invited users take part.
    public var publicPermission: SharePermission
    /// Those who take part or are invited; the owner first.
    public var participants: [ShareParticipant]
    /// True if users who have the link may request access.
    public var allowsAccessRequests: Bool
    /// Users who asked to take part.
    public var requesters: [UserID]
    /// Users who may not ask.
    public var blocked: [UserID]
    /// The end of the share's link.
    public var token: String

    /// Describes a share.
    public init(
        root: Name?,
        publicPermission: SharePermission = .none,
        participants: [ShareParticipant] = [],
        allowsAccessRequests: Bool = false,
        requesters: [UserID] = [],
        blocked: [UserID] = [],
        token: String = ""
    ) {
        self.root = root
        self.publicPermission = publicPermission
        self.participants = participants
        self.allowsAccessRequests = allowsAccessRequests
        self.requesters = requesters
        self.blocked = blocked
        self.token = token
    }

    /// The participant that a user is; `nil` if they are none.
    public func participant(_ user: UserID) -> ShareParticipant? {
        participants.first { $0.user == user }
    }
}

/// The content of a share that a client sends when it saves the share's record.
public struct ShareContent: Hashable, Codable, Sendable {
    /// The record whose tree is shared, when the share is first saved; `nil` for a whole zone.
    public var root: String?
    /// The permission of everyone who has the link.
    public var publicPermission: SharePermission
    /// All who are to take part: who is left out is removed.
    ///
    /// The owner may be left out.
    public var participants: [ShareParticipant]
    /// True if users who have the link may request access.
    public var allowsAccessRequests: Bool
    /// Those of the requesters who are to stay on the list; `nil` for all of them.
    public var requesters: [UserID]?
    /// Users who may not ask; `nil` leaves the list as it is.
    public var blocked: [UserID]?
    /// The end of a new share's link; `nil` generates one.
    ///
    /// Never read from client input: a client that chose the token could take over the link of
    /// another share.
    package var token: String?

    private enum CodingKeys: String, CodingKey {
        case root, publicPermission, participants, allowsAccessRequests, requesters, blocked
    }

    /// Describes what a share is to be.
    public init(
        root: String? = nil,
        publicPermission: SharePermission = .none,
        participants: [ShareParticipant] = [],
        allowsAccessRequests: Bool = false,
        requesters: [UserID]? = nil,
        blocked: [UserID]? = nil
    ) {
        self.root = root
        self.publicPermission = publicPermission
        self.participants = participants
        self.allowsAccessRequests = allowsAccessRequests
        self.requesters = requesters
        self.blocked = blocked
    }

    /// The content that leaves a share unchanged, to be edited and saved.
    public init(_ share: Share) {
        self.init(
            root: share.root?.string,
            publicPermission: share.publicPermission,
            participants: share.participants,
            allowsAccessRequests: share.allowsAccessRequests
        )
    }
}
