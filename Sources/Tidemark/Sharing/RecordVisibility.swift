// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
package import TidemarkLog
import TidemarkModel
import TidemarkRules
import TidemarkViews

/// The reason why a user is not shown a record.
public enum RecordHiding: Hashable, Codable, Sendable {
    /// There is no such zone any more.
    case zoneGone
    /// Roles do not let the user read it; the text is the reason.
    case role(String)
    /// The record is deleted, and none of the user's shares ever showed it.
    case neverShown
    /// Neither the record nor anything above it is shared; the highest of those, perhaps the record
    /// itself, has this name.
    case notShared(top: String)
    /// It is under the share of this name, in which the user is no participant.
    case notInvited(share: String)
    /// It is under the share of this name, which the user has not accepted.
    case notAccepted(share: String)
    /// It is under the share of this name, in which the user no longer takes part.
    case left(share: String)
    /// It is under the share of this name, in which the user has no permission.
    case noPermission(share: String)
}

/// The visibility of a record to a user, and the audience that causes it.
package enum RecordVisibility: Sendable {
    /// As part of a zone of which the user sees everything, as its owner or as one of the public.
    case whole
    /// As a record of an audience.
    case audience(AudienceRecord)
    /// Not at all.
    case hidden(RecordHiding)
}

/// A record in an audience, as one of its participants sees it.
package struct AudienceRecord: Sendable {
    /// The audience's key.
    package var audience: ZoneKey
    /// The record's last event in the audience.
    package var sequence: SequenceNumber
    /// The times at which the user began and ceased to see the audience, oldest first.
    ///
    /// There is one entry for each participant of the share that the user was, because a user that
    /// is invited again becomes a new participant.
    package var memberships: [[Membership]]

    /// The content of an event about a participant.
    package struct Membership: Sendable {
        package var sequence: SequenceNumber
        package var showsSomething: Bool
    }

    /// Returns true if the user saw the audience once the event at a position existed.
    package func isMember(at position: SequenceNumber) -> Bool {
        memberships.contains { membership in
            membership.last { $0.sequence <= position }?.showsSomething ?? false
        }
    }
}

extension Reader {
    /// See ``Store/visibility(of:in:to:)``.
    func visibility(
        of record: RecordID,
        in database: DatabaseID,
        to user: UserID?
    ) throws(SyncError) -> RecordVisibility {
        let picture = try picture(.visible)
        var zones = ConsultedZones(includesSystem: true)
        _ = try zones.index(
            of: ZoneID(zoneName: record.zone.zoneName),
            in: database,
            creating: .none,
            picture.facts,
            options.limits
        )
        guard let key = zones.key(of: 0), zones.error(of: 0) == nil else {
            return .hidden(.zoneGone)
        }
        let item = try picture.facts.item(named: record.name, in: zones)
        if database.scope == .public {
            let access = try access(of: Caller(database: database, user: user), picture)
            guard let access, let body = item.liveBody,
                let refusal = try access.refusal(of: .read, on: body)
            else { return .whole }
            return .hidden(.role(refusal.message))
        }
        // The owner sees everything, and `__defaultOwner__` stands for any user (semantics.md, "Who
        // asks").
        guard let user, user != .current, database.owner != .current, user != database.owner else {
            return .whole
        }
        // Former participations are included: they tell "left" and "never invited" apart.
        let parts = try sharedZones(of: user, in: database, picture).participations.filter {
            $0.participation.zoneIdentity(in: database) == zones[0].identity
        }
        let place = ViewKey(zone: key, slot: item.slot)
        if let part = try part(showing: place, item.isLive, among: parts, picture) {
            return .audience(part)
        }
        guard let body = item.liveBody else { return .hidden(.neverShown) }
        return .hidden(try hiding(of: body, at: place, in: zones, from: user, parts, picture))
    }

    /// The participation of a user that shows a record, or showed it before it was deleted; `nil`
    /// if none does.
    private func part(
        showing place: ViewKey,
        _ isLive: Bool,
        among parts: [KnownParticipation],
        _ picture: ViewPicture
    ) throws(SyncError) -> AudienceRecord? {
        var audiences = Audiences(picture.facts)
        let current = try audiences.audience(of: place)
        for part in parts where part.participation.showsSomething {
            guard let key = part.audience else { continue }
            // A live record may have an entry in an audience that it has left. That entry
            // does not show it.
            if isLive, !part.participation.isZoneWide, current != .known(key) { continue }
            let version: RecordVersion? = try SyncError.wrapping { () throws(ViewIndexError) in
                try picture.version(at: ViewKey(zone: key, slot: place.slot))
            }
            guard let version else { continue }
            return AudienceRecord(
                audience: key,
                sequence: version.sequence,
                memberships: try parts.filter { $0.audience == key }
                    .map { (part) throws(SyncError) in try memberships(of: part) }
            )
        }
        return nil
    }

    /// Returns the times at which a user's participation in a share began and ceased to show
    /// something.
    private func memberships(
        of part: KnownParticipation
    ) throws(SyncError) -> [AudienceRecord.Membership] {
        var found: [AudienceRecord.Membership] = []
        var next = part.sequence
        while next != .zero {
            let record = try views.records(at: [next])[0]
            let body = record.event.state == .live ? try record.readBody() : nil
            let shows = body.flatMap { ShareRecords.participation(in: $0)?.showsSomething }
            found.append(.init(sequence: next, showsSomething: shows ?? false))
            next = record.event.previous
        }
        return found.reversed()
    }

    /// Returns the reason why a record of another user's zone is hidden from a user.
    private func hiding(
        of record: RecordBody,
        at place: ViewKey,
        in zones: ConsultedZones,
        from user: UserID,
        _ parts: [KnownParticipation],
        _ picture: ViewPicture
    ) throws(SyncError) -> RecordHiding {
        var body = record
        var level = 0
        // The bound also ends a cycle of parents, which an import may contain.
        while !body.isShare, body.shareName == nil, let parent = body.parentName,
            level <= options.limits.ancestorsPerRecord,
            let above = try picture.facts.item(named: Name(parent), in: zones).liveBody
        {
            body = above
            level += 1
        }
        // A share of the whole zone shows the record if no share above it does.
        let wide = Name(Share.zoneWideName)
        let own = body.isShare ? body.recordName : body.shareName
        var name = own.map { Name($0) }
        if name == nil, try picture.facts.item(named: wide, in: zones).isLive { name = wide }
        guard let name else { return .notShared(top: body.recordName) }
        if let part = parts.first(where: { $0.participation.shareName == name })?.participation {
            return part.isMember ? .noPermission(share: name.string) : .left(share: name.string)
        }
        let stored = try picture.facts.item(named: name, in: zones).liveBody
        let share = stored.flatMap { $0.isShare ? Share($0.fields) : nil }
        let isInvited = share?.participant(user) != nil
        return isInvited ? .notAccepted(share: name.string) : .notInvited(share: name.string)
    }
}
