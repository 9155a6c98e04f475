// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
package import TidemarkLog
package import TidemarkModel

/// One user's part in one share: what gives them the share's zone in their shared database.
package struct Participation: Hashable, Sendable {
    /// What the share's link ends with.
    package var token: String
    /// Which participant of the share the user is.
    package var participantID: String
    /// The user.
    package var user: UserID
    /// Whose zone it is.
    package var owner: UserID
    /// The zone's name.
    package var zoneName: Name
    /// The name of the share's record.
    package var shareName: Name
    /// What they are for the share.
    package var role: ShareRole
    /// What they may do.
    package var permission: SharePermission
    /// Whether they take part; who left or was removed stays written down, so that deltas can tell.
    package var isMember: Bool

    /// The zone as the user's shared database shows it.
    package var zone: ZoneID {
        ZoneID(zoneName: zoneName.string, ownerName: owner.userRecordName)
    }

    /// Whether the user sees anything by it.
    package var showsSomething: Bool { isMember && permission != .none }

    /// Whether the whole zone is shared.
    package var isZoneWide: Bool { shareName == Name(Share.zoneWideName) }
}

/// Where a share's link leads.
package struct ShareLinkTarget: Hashable, Sendable {
    package var owner: UserID
    package var zoneName: Name
    package var shareName: Name
    /// For a link that makes whoever opens it first one certain participant: who that is.
    package var participantID: String?
}

/// A part that a user takes in a share, or took, and the event that says so.
package struct KnownParticipation: Sendable {
    package var participation: Participation
    /// Position of the event.
    package var sequence: SequenceNumber
    /// Position of the event about this part before it; zero if there is none.
    package var previous: SequenceNumber
    /// The key of the share's audience, or of the zone where that is shared as a whole; `nil` once
    /// the share or the zone is gone.
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
    /// The zone in its owner's private database.
    package func zoneIdentity(in database: DatabaseID) -> ZoneIdentity {
        ShareLinkTarget(owner: owner, zoneName: zoneName, shareName: shareName)
            .zoneIdentity(in: database)
    }
}

extension ShareLinkTarget {
    /// The zone in its owner's private database.
    package func zoneIdentity(in database: DatabaseID) -> ZoneIdentity {
        ZoneIdentity(
            database: DatabaseID(
                container: database.container,
                environment: database.environment,
                scope: .private,
                owner: owner
            ),
            zoneName: zoneName
        )
    }
}
