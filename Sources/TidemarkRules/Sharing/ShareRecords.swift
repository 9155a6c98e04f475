// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
package import TidemarkModel

/// The encoding of links and participations as records of the zone `_shares`.
///
/// A link is named by its last part. A participation has its user as parent, so that a user's
/// participations are found without reading others.
package enum ShareRecords {
    private enum Key {
        static let owner = "ownerName"
        static let zone = "zoneName"
        static let share = "shareName"
        static let participant = "participantID"
        static let role = "role"
        static let permission = "permission"
        static let isMember = "isMember"
    }

    private static let linkType = "ShareLink"
    private static let participationType = "Participation"

    package static func save(
        _ target: ShareLinkTarget,
        as token: String
    ) throws(SyncError) -> RecordSave {
        RecordSave(
            RecordID(recordName: token, zone: SystemZone.shares.zone),
            type: linkType,
            fields: try Fields([
                Key.owner: .string(target.owner.userRecordName),
                Key.zone: .string(target.zoneName.string),
                Key.share: .string(target.shareName.string),
                Key.participant: target.participantID.map { .string($0) },
            ]),
            policy: .replace
        )
    }

    package static func name(ofParticipation participantID: String, in token: String) -> Name {
        Name(token + "/" + participantID)
    }

    package static func save(_ participation: Participation) throws(SyncError) -> RecordSave {
        let name = name(ofParticipation: participation.participantID, in: participation.token)
        return RecordSave(
            RecordID(recordName: name.string, zone: SystemZone.shares.zone),
            type: participationType,
            fields: try Fields([
                Key.owner: .string(participation.owner.userRecordName),
                Key.zone: .string(participation.zoneName.string),
                Key.share: .string(participation.shareName.string),
                Key.role: .int64(Int64(participation.role.rawValue)),
                Key.permission: .int64(Int64(participation.permission.rawValue)),
                Key.isMember: .int64(participation.isMember ? 1 : 0),
            ]),
            // The parent enters the record into the index of references, by which a user's
            // participations are found.
            parent: .set(participation.user.name),
            policy: .replace
        )
    }

    package static func link(in body: RecordBody) -> ShareLinkTarget? {
        // Other records of the zone, and records of another form that an import brought, are no
        // links.
        guard case .string(let owner)? = body.fields[Key.owner],
            case .string(let zone)? = body.fields[Key.zone],
            case .string(let share)? = body.fields[Key.share], body.recordType == linkType
        else { return nil }
        var target = ShareLinkTarget(
            owner: UserID(owner),
            zoneName: Name(zone),
            shareName: Name(share)
        )
        if case .string(let id)? = body.fields[Key.participant] { target.participantID = id }
        return target
    }

    package static func participation(in body: RecordBody) -> Participation? {
        // Compares bytes: a combining character after the slash belongs to the id.
        let name = body.recordName.utf8.split(separator: UInt8(ascii: "/"), maxSplits: 1)
        guard body.recordType == participationType, name.count == 2,
            let user = body.parentName,
            case .string(let owner)? = body.fields[Key.owner],
            case .string(let zone)? = body.fields[Key.zone],
            case .string(let share)? = body.fields[Key.share],
            case .int64(let rawRole)? = body.fields[Key.role],
            case .int64(let rawPermission)? = body.fields[Key.permission],
            case .int64(let isMember)? = body.fields[Key.isMember],
            let role = ShareRole(rawValue: Int(rawRole)),
            let permission = SharePermission(rawValue: Int(rawPermission))
        else { return nil }
        return Participation(
            token: String(decoding: name[0], as: UTF8.self),
            participantID: String(decoding: name[1], as: UTF8.self),
            user: UserID(user),
            owner: UserID(owner),
            zoneName: Name(zone),
            shareName: Name(share),
            role: role,
            permission: permission,
            isMember: isMember != 0
        )
    }
}
