// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
package import TidemarkLog
package import TidemarkModel

/// A participant's access to one zone of another user.
package struct ZoneAccess: Sendable {
    /// The participations, each by the key of the audience that its share shows.
    package private(set) var participations: [ZoneKey: Participation] = [:]
    /// The participation in the share of the whole zone, if there is one.
    private var whole: Participation?

    package init() {}

    package mutating func add(_ part: Participation, audience: ZoneKey) {
        participations[audience] = part
        if part.isZoneWide { whole = part }
    }

    /// True if the participant sees every record of the zone.
    package var showsAll: Bool { whole != nil }

    /// Returns true if the participant sees the records of an audience.
    package func mayRead(_ audience: AudienceRef) -> Bool {
        permission(in: audience) != nil
    }

    /// Returns true if the participant may create, change and delete records of an audience.
    package func mayWrite(_ audience: AudienceRef) -> Bool {
        permission(in: audience) == .readWrite
    }

    /// True if the participant may create, change and delete some records of the zone.
    package var mayWriteSomething: Bool {
        if let whole { return whole.permission == .readWrite }
        return participations.values.contains { $0.permission == .readWrite }
    }

    private func permission(in audience: AudienceRef) -> SharePermission? {
        // A zone that is shared as a whole has no shares of single records (semantics.md,
        // "Sharing").
        if let whole { return whole.permission }
        // Only the owner has accepted a share that this commit begins, so its audience gives no
        // permission to others.
        guard case .known(let key) = audience else { return nil }
        return participations[key]?.permission
    }

    /// Returns the error if the participant may not change an existing record; `nil` if the change
    /// is allowed or the record does not exist.
    ///
    /// The record of a share that the caller takes part in has separate rules: deleting it means
    /// leaving the share.
    package func refusal(
        ofChanging item: ConsultedItem,
        in zone: ConsultedZone,
        isDeletion: Bool,
        _ audiences: inout Audiences
    ) throws(SyncError) -> SyncError? {
        guard let key = zone.key, let body = item.liveBody else { return nil }
        let id = RecordID(recordName: item.name.string, zone: zone.zone)
        if body.isShare {
            // Who does not take part must not learn from a conflict what the share says.
            let takesPart = part(inShare: item.name.string) != nil
            return takesPart
                ? nil : .permissionFailure("The caller may not change the share \(id).")
        }
        let audience = try audiences.audience(of: ViewKey(zone: key, slot: item.slot))
        guard mayWrite(audience) else {
            return .permissionFailure("The caller may not change the record \(id).")
        }
        return isDeletion && body.shareName != nil ? .rootIsItsOwners(id) : nil
    }

    /// Returns the participation in a share.
    package func part(inShare name: String) -> Participation? {
        participations.values.first { $0.shareName == Name(name) }
    }

    /// Returns true if the participant may change the participants of a share.
    package func mayChangeShare(named name: String) -> Bool {
        part(inShare: name)?.role == .administrator
    }
}

/// The zones of other users in which a user participates.
///
/// A class, so that a request holds it by one reference.
package final class SharedZones: Sendable {
    /// Everything that the user takes part in or once took part in.
    package let participations: [KnownParticipation]
    package let zones: [ZoneID: ZoneAccess]
    /// The position of the last event that this depends on.
    package let lookedAt: SequenceNumber

    package init(_ participations: [KnownParticipation]) {
        var zones: [ZoneID: ZoneAccess] = [:]
        var lookedAt: SequenceNumber = 0
        for known in participations {
            // Former ones count too: the answer rests on the event that ended them.
            lookedAt = max(lookedAt, known.sequence)
            guard known.participation.showsSomething, let audience = known.audience else {
                continue
            }
            zones[known.participation.zone, default: ZoneAccess()]
                .add(known.participation, audience: audience)
        }
        self.participations = participations
        self.zones = zones
        self.lookedAt = lookedAt
    }
}

extension Caller {
    /// The user whose shared database it is.
    package var participant: UserID {
        database.owner == .current ? user ?? .current : database.owner
    }
}

extension Record {
    /// Returns the record as a participant sees it, without the links of other participants.
    ///
    /// Of a share that cannot be read or written, it returns only the fields that cannot hold a
    /// link.
    package func shown(to access: ZoneAccess?) -> Record {
        guard let access, body.isShare, !access.mayChangeShare(named: body.recordName)
        else { return self }
        if var share {
            guard share.participants.contains(where: { !$0.linkToken.isEmpty }) else { return self }
            for index in share.participants.indices { share.participants[index].linkToken = "" }
            return with((try? share.fields(beside: fields)) ?? Fields())
        }
        guard fields.contains(where: { Share.isOwnField($0.nameBytes) }) else { return self }
        return with((try? fields.withoutShare()) ?? Fields())
    }

    private func with(_ fields: Fields) -> Record {
        Record(
            zone: zone,
            changeTag: changeTag,
            body: RecordBody(
                RecordHeader(
                    recordName: Name(body.recordName),
                    recordType: Name(body.recordType),
                    created: created,
                    modified: modified,
                    parentName: body.parentName.map { Name($0) },
                    shareName: body.shareName.map { Name($0) }
                ),
                fields: fields
            )
        )
    }
}
