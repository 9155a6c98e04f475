// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The content of a share record except its own fields: records, participants and permissions.
public struct Share: Hashable, Sendable {
    /// The type of share records.
    @inlinable public static var recordType: String { "cloudkit.share" }
    /// The record type as a name, for comparisons.
    @inlinable package static var typeName: Name { Name(recordType) }
    /// The number of bytes of ``recordType``, a literal: it is compared once per record of a delta.
    static let recordTypeByteCount: UInt16 = 14
    /// The record name of a share of a whole zone.
    public static let zoneWideName = "cloudkit.zoneshare"
    /// The name of the record whose tree is shared; `nil` for a whole zone.
    public var root: Name?
    /// The permission of everyone who has the link.
    ///
    /// With ``SharePermission/none``, only invited users take part.
    public var publicPermission: SharePermission
    /// The participants and the invited users; the owner first.
    public var participants: [ShareParticipant]
    /// True if users who have the link may request access.
    public var allowsAccessRequests: Bool
    /// Users who requested access.
    public var requesters: [UserID]
    /// Users who may not request access.
    public var blocked: [UserID]
    /// The end of the share's link.
    public var token: String

    /// Creates a share.
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

    /// Returns the participant of a user; `nil` if there is none.
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
    /// All participants; the save removes everyone who is left out.
    ///
    /// The owner may be left out.
    public var participants: [ShareParticipant]
    /// True if users who have the link may request access.
    public var allowsAccessRequests: Bool
    /// The requesters who stay on the list; `nil` for all of them.
    public var requesters: [UserID]?
    /// Users who may not request access; `nil` leaves the list unchanged.
    public var blocked: [UserID]?
    /// The end of a new share's link; `nil` generates one.
    ///
    /// Never read from client input: a client that chose the token could take over the link of
    /// another share.
    package var token: String?

    private enum CodingKeys: String, CodingKey {
        case root, publicPermission, participants, allowsAccessRequests, requesters, blocked
    }

    /// Creates the content of a share.
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

    /// Creates the content of an existing share, to be edited and saved.
    public init(_ share: Share) {
        self.init(
            // Requesters and blocked users are left out, so that a save leaves both lists
            // unchanged.
            root: share.root?.string,
            publicPermission: share.publicPermission,
            participants: share.participants,
            allowsAccessRequests: share.allowsAccessRequests
        )
    }
}
