// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel

/// Writes the effects of sharing on a commit into the commit's plan.
///
/// A record leaves one audience before it joins another, so that a user who sees both gets the
/// record last.
struct ShareTransitions {
    /// The rules that were applied; `nil` if the commit does not involve shares.
    var rules: SharedHierarchies?
    /// The number of cascaded deletions that have been written.
    var cascadedCount = 0

    private var audiences: Audiences
    /// The placeholders for the keys of audiences that the commit begins.
    private var begun: [RecordPlace: ZoneKey] = [:]

    init(_ audiences: Audiences) {
        self.audiences = audiences
    }

    /// Writes the start of new audiences, which precede the records.
    mutating func begin(
        _ plan: inout CommitPlan,
        _ zones: ConsultedZones
    ) throws(SyncError) {
        guard let rules else { return }
        plan.restsOn(rules.consulted)
        // A record's audience can change without an event in the record's own slot, so the slots
        // alone do not show the conflict.
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

    /// Writes that an item leaves an audience, if it does; returns its place in the audience of its
    /// own event.
    mutating func pass(
        _ item: ConsultedItem,
        _ index: Int,
        in zone: ZoneKey,
        _ plan: inout CommitPlan,
        isDeletion: Bool = false
    ) throws(SyncError) -> AudiencePlace? {
        guard let passage = rules?.passages[index] else { return nil }
        let leaves = rules?.leaves[index] != nil
        // The deletion's own event names the audience, and so removes the record from it.
        if isDeletion, !leaves { return try place(of: item, in: passage.from) }
        if passage.from != passage.to {
            try move(item, zone, passage.from, .tombstone, &plan)
        }
        return try place(of: item, in: passage.to)
    }

    /// Writes that a record is touched, if the caller may see it, and updates its audience.
    ///
    /// Does nothing for a record that the commit changes anyway because of a share.
    mutating func touch(
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
            // When a share ends, its audience ends as a whole.
            if case .known(let key) = audience, rules.ended.contains(key) { audience = .none }
        }
        // The touch enters the new audience itself, so no separate entry is written.
        if let index = rules?.moves.firstIndex(where: { RecordPlace($0.item) == place }),
            let entry = rules?.moves.remove(at: index)
        {
            try move(item, zone, entry.from, .tombstone, &plan)
            audience = entry.to
        }
        try plan.touch(item, in: zone, audience: try self.place(of: item, in: audience))
    }

    /// Writes the events at the end: roots that were not named, records that only change their
    /// audience, and ended audiences.
    mutating func finish(
        _ plan: inout CommitPlan,
        _ zones: ConsultedZones,
        _ author: BodyAuthor
    ) throws(SyncError) {
        guard let rules else { return }
        // Roots that begin or cease to name a share, and shares that end with their root.
        for (change, passage) in rules.implied {
            let item = change.item
            guard let zone = zones.key(of: item.zone) else { continue }
            guard let save = change.save else {
                let type = item.liveBody?.recordTypeBytes ?? []
                let place = try place(of: item, in: passage.from)
                plan.delete(item, in: zone, type: type, holding: nil, audience: place)
                continue
            }
            if passage.from != passage.to {
                try move(item, zone, passage.from, .tombstone, &plan)
            }
            let place = try place(of: item, in: passage.to)
            try plan.save(item, in: zone, save, author, share: change.link, audience: place)
        }
        for entry in rules.moves {
            guard let zone = zones.key(of: entry.item.zone) else { continue }
            try move(entry.item, zone, entry.from, .tombstone, &plan)
            try move(entry.item, zone, entry.to, .live, &plan)
        }
        // Last: the end of an audience removes every record from it (events.md, "Audience entered,
        // audience left").
        for key in rules.ended { plan.deleteZone(key, .deleted) }
    }

    /// Returns the placeholders of the audiences that the commit begins in one of its zones.
    func begun(in zone: Int) -> [ZoneKey] {
        // Placeholders count down, so this is the order in which the audiences are created.
        begun.filter { $0.key.zone == zone }.map(\.value).sorted(by: >)
    }

    private mutating func move(
        _ item: ConsultedItem,
        _ zone: ZoneKey,
        _ audience: AudienceRef,
        _ state: RecordState,
        _ plan: inout CommitPlan
    ) throws(SyncError) {
        guard let place = try place(of: item, in: audience), let body = item.liveBody else {
            return
        }
        plan.move(
            item,
            in: zone,
            AudienceEvent(
                state: state,
                probeCount: item.probeCount,
                place: place,
                version: item.previous,
                name: item.name,
                type: Name(body.recordType)
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
