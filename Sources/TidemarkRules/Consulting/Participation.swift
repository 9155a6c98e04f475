// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
package import TidemarkLog
package import TidemarkModel

/// One user's participation in one share, which gives the user the share's zone in the shared
/// database.
package struct Participation: Hashable, Sendable {
    /// The last part of the share's link.
    package var token: String
    /// The id of the user among the share's participants.
    package var participantID: String
    /// The user.
    package var user: UserID
    /// The owner of the zone.
    package var owner: UserID
    /// The zone's name.
    package var zoneName: Name
    /// The name of the share's record.
    package var shareName: Name
    /// The user's role in the share.
    package var role: ShareRole
    /// The user's permission in the share.
    package var permission: SharePermission
    /// True if the user is a member; former members are kept, so that deltas can report the end.
    package var isMember: Bool

    /// The zone as the user's shared database shows it.
    package var zone: ZoneID {
        ZoneID(zoneName: zoneName.string, ownerName: owner.userRecordName)
    }

    /// True if the participation shows any records to the user.
    package var showsSomething: Bool { isMember && permission != .none }

    /// True if the whole zone is shared.
    package var isZoneWide: Bool { shareName == Name(Share.zoneWideName) }
}

/// The target of a share's link.
package struct ShareLinkTarget: Hashable, Sendable {
    package var owner: UserID
    package var zoneName: Name
    package var shareName: Name
    /// The participant that the first user of the link becomes, if the link is for one participant.
    package var participantID: String?
}

/// A current or former participation of a user in a share, and the event that records it.
package struct KnownParticipation: Sendable {
    package var participation: Participation
    /// The position of the event.
    package var sequence: SequenceNumber
    /// The position of the previous event of this participation; zero if there is none.
    package var previous: SequenceNumber
    /// The key of the share's audience, or of the zone if the zone is shared as a whole, also after its
    /// end; `nil` if the log has lost it.
    package var audience: ZoneKey?

    package init(
        participation: Participation,
        sequence: SequenceNumber,
        previous: SequenceNumber,
        audience: ZoneKey?
    ) {
        self.participation = participation
        self.sequence = sequence
        self.previous = previous
        self.audience = audience
    }
}

extension Participation {
    /// Returns the zone in its owner's private database.
    package func zoneIdentity(in database: DatabaseID) -> ZoneIdentity {
        ShareLinkTarget(owner: owner, zoneName: zoneName, shareName: shareName)
            .zoneIdentity(in: database)
    }
}

extension ShareLinkTarget {
    /// Returns the zone in its owner's private database.
    package func zoneIdentity(in database: DatabaseID) -> ZoneIdentity {
        ZoneIdentity(database: database.sibling(.private, of: owner), zoneName: zoneName)
    }
}
