// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkRules
import TidemarkViews

extension Reader {
    /// The zones that shares show to a user, in a container's environment.
    ///
    /// O(1) unless a system zone changed since it was read last; else O(the user's parts).
    func sharedZones(
        of user: UserID,
        in database: DatabaseID,
        _ picture: ViewPicture
    ) throws(SyncError) -> SharedZones {
        let home = database.ofSystemZones
        let asOf = picture.lastSystemSequence
        let isNewest = picture.bound >= asOf
        if isNewest,
            let known = knownSharedZones.withLock({ $0.value(of: user, in: home, asOf: asOf) })
        {
            return known
        }
        let found = SharedZones(try readParticipations(of: user, in: home, picture))
        if isNewest {
            knownSharedZones.withLock { $0.keep(found, of: user, in: home, asOf: asOf) }
        }
        return found
    }

    /// Returns a participation as it was at a position, given the current one; `nil` if there was
    /// none.
    func participation(
        _ known: KnownParticipation,
        asOf position: SequenceNumber
    ) throws(SyncError) -> Participation? {
        if known.sequence <= position { return known.participation }
        // Compaction drops no event of `_shares`, so the chain leads back to the version at the
        // position.
        var previous = known.previous
        while previous > .zero {
            let record = try views.records(at: [previous])[0]
            if previous <= position {
                guard record.event.state == .live else { return nil }
                return ShareRecords.participation(in: try record.readBody())
            }
            previous = record.event.previous
        }
        return nil
    }

    private func readParticipations(
        of user: UserID,
        in home: DatabaseID,
        _ picture: ViewPicture
    ) throws(SyncError) -> [KnownParticipation] {
        var versions = try SyncError.wrapping { () throws(ViewIndexError) -> [RecordVersion] in
            let identity = ZoneIdentity(database: home, zoneName: SystemZone.shares.zone.name)
            guard let zone = try picture.search(for: identity).standing, zone.end == nil else {
                return []
            }
            // A participation has its user as parent, so the index of references finds it without
            // reading those of others (events.md, "System zones").
            let slots = try picture.referrers(of: views.hash.target(user.name), in: zone.key)
                .map { ViewKey(zone: zone.key, slot: $0.slot) }
            return try picture.versions(at: slots).compactMap { $0 }
        }
        // Parts that ended are live records too: they say `isMember` 0.
        versions.removeAll { $0.state != .live }
        let records = try views.records(at: versions.map(\.sequence).sorted())
        var found: [KnownParticipation] = []
        for record in records {
            // The index has a hash of the user's name, which another name may share.
            guard let part = ShareRecords.participation(in: try record.readBody()),
                part.user == user
            else { continue }
            found.append(
                KnownParticipation(
                    participation: part,
                    sequence: record.sequence,
                    previous: record.event.previous,
                    audience: try audience(of: part, in: home, picture)
                )
            )
        }
        return found
    }

    /// Returns the key of a share's audience, also after its end.
    private func audience(
        of part: Participation,
        in home: DatabaseID,
        _ picture: ViewPicture
    ) throws(SyncError) -> ZoneKey? {
        let zone = part.zoneIdentity(in: home)
        return try SyncError.wrapping { () throws(ViewIndexError) in
            let search = try picture.search(
                for: part.isZoneWide ? zone : zone.audience(ofShare: part.token)
            )
            return search.standing?.key
        }
    }
}

extension Reader {
    /// The zones that a caller reaches by shares; `nil` outside of a shared database.
    func sharedZones(of caller: Caller, _ picture: ViewPicture) throws(SyncError) -> SharedZones? {
        guard caller.database.scope == .shared else { return nil }
        return try sharedZones(of: caller.participant, in: caller.database, picture)
    }
}
