// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
package import TidemarkLog
package import TidemarkModel

/// Writes what sharing means for a commit into its plan.
///
/// A record leaves one audience before it comes to another, so that who sees both is told of the
/// record last.
package struct ShareTransitions {
    /// What was decided; `nil` where nothing has to do with shares.
    package var rules: SharedHierarchies?
    /// How many records that go with deletions have been written.
    package var cascadedCount = 0

    private var audiences: Audiences
    /// What stands for the keys of audiences that the commit begins.
    private var begun: [RecordPlace: ZoneKey] = [:]

    package init(_ audiences: Audiences) {
        self.audiences = audiences
    }

    /// Writes the audiences that begin, which come before the records.
    package mutating func begin(
        _ plan: inout CommitPlan,
        _ zones: ConsultedZones
    ) throws(SyncError) {
        guard let rules else { return }
        plan.restsOn(rules.consulted)
        plan.restsOnAudiences = true
        for (place, token) in rules.begun {
            let zone = zones[place.zone].identity
            let epoch = try audiences.epoch(ofShare: token, in: zone)
            begun[place] = plan.createZone(
                ConsultedZone(
                    zone: zones[place.zone].zone,
                    identity: zone.audience(ofShare: token),
                    place: epoch.place,
                    probeCount: epoch.probeCount,
                    lookedAt: 0
                )
            )
        }
    }

    /// Writes that an item leaves an audience, if it does; returns where it is in the one that its
    /// own event is in.
    package mutating func pass(
        _ item: ConsultedItem,
        _ index: Int,
        in zone: ZoneKey,
        _ plan: inout CommitPlan,
        isDeletion: Bool = false
    ) throws(SyncError) -> AudiencePlace? {
        guard let passage = rules?.passages[index] else { return nil }
        let leaves = rules?.leaves[index] != nil
        if isDeletion, !leaves { return try place(of: item, in: passage.from) }
        if passage.from != passage.to {
            try move(item, zone, passage.from, .tombstone, &plan)
        }
        return try place(of: item, in: passage.to)
    }

    /// Writes that a record is touched, where the caller may see it; what a share shows of it goes
    /// along.
    ///
    /// Nothing for one that the commit changes anyway because of a share.
    package mutating func touch(
        _ item: ConsultedItem,
        in zone: ZoneKey,
        as access: ZoneAccess?,
        _ plan: inout CommitPlan
    ) throws(SyncError) {
        plan.restsOnAudiences = true
        var audience = try audiences.audience(of: ViewKey(zone: zone, slot: item.slot))
        if let access, !access.mayRead(audience) { return }
        let place = RecordPlace(item)
        if let rules {
            if rules.implied.contains(where: { RecordPlace($0.change.item) == place }) { return }
            // With its share an audience ends as a whole.
            if case .known(let key) = audience, rules.ended.contains(key) { audience = .none }
        }
        if let index = rules?.moves.firstIndex(where: { RecordPlace($0.item) == place }),
            let entry = rules?.moves.remove(at: index)
        {
            try move(item, zone, entry.from, .tombstone, &plan)
            audience = entry.to
        }
        try plan.touch(item, in: zone, audience: try self.place(of: item, in: audience))
    }

    /// Writes what comes after the records: roots that were not named, records that change their
    /// audience alone, and the audiences that end.
    package mutating func finish(
        _ plan: inout CommitPlan,
        _ zones: ConsultedZones,
        _ author: Authorship
    ) throws(SyncError) {
        guard let rules else { return }
        for (change, passage) in rules.implied {
            let item = change.item
            guard let zone = zones.key(of: item.zone) else { continue }
            guard let save = change.save else {
                let type = try item.live?.readBody().recordTypeBytes ?? []
                let place = try place(of: item, in: passage.from)
                plan.delete(item, in: zone, type: type, holding: nil, audience: place)
                continue
            }
            if passage.from != passage.to {
                try move(item, zone, passage.from, .tombstone, &plan)
            }
            let place = try place(of: item, in: passage.to)
            try plan.save(
                item,
                over: item.live,
                in: zone,
                save,
                author,
                share: change.link,
                audience: place
            )
        }
        for entry in rules.moves {
            guard let zone = zones.key(of: entry.item.zone) else { continue }
            try move(entry.item, zone, entry.from, .tombstone, &plan)
            try move(entry.item, zone, entry.to, .live, &plan)
        }
        for key in rules.ended { plan.deleteZone(key, .deleted) }
    }

    /// What stands for the audiences that the commit begins in a zone of it.
    package func begun(in zone: Int) -> [ZoneKey] {
        begun.filter { $0.key.zone == zone }.map(\.value).sorted(by: >)
    }

    private mutating func move(
        _ item: ConsultedItem,
        _ zone: ZoneKey,
        _ audience: AudienceRef,
        _ state: RecordState,
        _ plan: inout CommitPlan
    ) throws(SyncError) {
        guard let place = try place(of: item, in: audience), let live = item.live else { return }
        plan.move(
            item,
            in: zone,
            AudienceEvent(
                state: state,
                probeCount: item.probeCount,
                place: place,
                version: live.sequence,
                name: item.name,
                type: Name(try live.readBody().recordType)
            )
        )
    }

    private func place(
        of item: ConsultedItem,
        in audience: AudienceRef
    ) throws(SyncError) -> AudiencePlace? {
        switch audience {
        case .none: nil
        case .known(let key): try audiences.place(of: item.slot, in: key)
        case .new(let share): begun[share].map { AudiencePlace(key: $0) }
        }
    }
}
