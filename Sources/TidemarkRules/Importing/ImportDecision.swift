// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
import TidemarkLog
package import TidemarkModel

/// The decision about a line of a change stream.
package struct ImportDecision {
    /// The commit; empty if nothing has to change.
    package var plan: CommitPlan
    /// The number of deletions of records that did not exist.
    package private(set) var missingDeletionCount = 0
    /// The fields that refer to assets, each with the database of its record.
    package private(set) var namingAssets: [(database: DatabaseID, fields: Fields)] = []

    private let reading: LineReading
    private let database: DatabaseID
    /// The key or placeholder of each epoch; `nil` while the epoch does not exist.
    private var keys: [ZoneKey?]
    /// The effect of the line on shares.
    private var transitions: ShareTransitions

    /// Decides a line that was received at a time, in milliseconds since 1970.
    ///
    /// Throws if the line or one of its changes is invalid.
    package init(
        _ line: ChangeStreamLine,
        receivedAt received: Int64,
        by rules: RecordRules,
        over facts: any Facts,
        _ waiting: WaitingShares
    ) throws(SyncError) {
        try rules.limits.check(
            Caller(
                database: line.database,
                user: line.user,
                device: line.device,
                build: line.build,
                requestID: line.requestID
            )
        )
        reading = try LineReading(line, facts, rules.limits)
        database = line.database
        keys = reading.epochs.map(\.zone.key)
        transitions = ShareTransitions(Audiences(facts))
        plan = CommitPlan(time: line.time, received: received, bound: facts.bound, hash: facts.hash)
        plan.changesSystemZone = reading.epochs.contains {
            $0.zone.identity.systemZone?.isRestedOn ?? false
        }
        let author = BodyAuthor(
            Authorship(time: line.time, user: line.user, device: line.device)
        )
        let zones = ConsultedZones(reading.epochs.map(\.zone))
        var consulted = try ConsultedItems(reading.items, in: zones, facts)
        try consulted.settle(
            reading.steps.indices.filter { index in
                consulted.items[index].old == nil && !reading.steps[index].change.isDeletion
            },
            in: zones,
            facts
        )
        for item in consulted.items { plan.restsOn(item.slot, in: zones.key(of: item.zone)) }
        let saves = try saves()
        try settleShares(consulted.items, saves, waiting, zones, facts)
        try transitions.begin(&plan, zones)
        try decide(consulted.items, saves, by: rules, author, facts)
        try transitions.finish(&plan, zones, author)
    }

    /// Returns the saves of the line, by step.
    private func saves() throws(SyncError) -> [RecordSave?] {
        var saves: [RecordSave?] = []
        for step in reading.steps {
            guard case .save(let recordID, let recordType, let fields, let parent) = step.change
            else {
                saves.append(nil)
                continue
            }
            saves.append(
                RecordSave(
                    recordID,
                    type: recordType.string,
                    fields: try fields.withLocalReferences(to: recordID.zone, in: database),
                    parent: parent.map { .set($0) } ?? .removed,
                    policy: .replace
                )
            )
        }
        return saves
    }

    /// Finds the shares that the line begins and ends, and the records that join or leave them.
    private mutating func settleShares(
        _ items: [ConsultedItem],
        _ saves: [RecordSave?],
        _ waiting: WaitingShares,
        _ zones: ConsultedZones,
        _ facts: any Facts
    ) throws(SyncError) {
        let changes: [PlannedChange] = items.indices.map { index in
            if let save = saves[index] {
                // After a deletion in the same line, the save begins a new record.
                let hadDeletion = reading.steps[index].hadDeletion
                return .save(save, over: hadDeletion ? nil : items[index].liveBody)
            }
            return items[index].isLive ? .delete : .nothing
        }
        var roots: [RecordPlace: Name] = [:]
        for (item, save) in zip(items, saves) where save != nil {
            // A root in a zone that this line ends begins no share.
            let epoch = reading.epochs[item.zone]
            guard epoch.end == nil,
                let share = waiting.share(of: item.name, in: epoch.zone.identity)
            else { continue }
            roots[RecordPlace(item)] = share
        }
        guard !roots.isEmpty || SharedHierarchies.concern(items, changes) else { return }
        let rules = SharedHierarchies(
            items,
            changes,
            in: zones,
            by: nil,
            Neighbours(zones, facts),
            Audiences(facts)
        )
        rules.waiting = roots
        // Participants see more from here on, although no system zone records it.
        if !roots.isEmpty { plan.changesSystemZone = true }
        // A line is applied as a whole or not at all. So its first refusal is its error.
        if let refusal = try rules.settle().min(by: { $0.key < $1.key }) { throw refusal.value }
        transitions.rules = rules
    }

    /// Adds the line's shares whose roots do not exist to the waiting ones.
    package func note(in waiting: inout WaitingShares) {
        for (root, share) in transitions.rules?.rootless ?? [] {
            waiting.add(share, of: root.name, in: reading.epochs[root.zone].zone.identity)
        }
    }

    /// Returns true if the line names a given system zone.
    package func changes(_ zone: SystemZone) -> Bool {
        reading.epochs.contains { $0.zone.identity.systemZone == zone }
    }

    /// Sets the envelope of the commit.
    ///
    /// Outcomes are not stored: the existence of the commit is the result.
    package mutating func seal(_ line: ChangeStreamLine, _ request: CommitEnvelope.Request) {
        plan.request = request.key
        // The same line may be imported again at any time, and must then be recognized.
        plan.requestNeverExpires = true
        plan.draft.envelope =
            CommitEnvelope(
                user: line.user.userRecordName,
                device: line.device,
                build: line.build,
                request: request
            ).bytes
    }

    /// Decides the records in line order, except that the records of an epoch that ends precede
    /// those of the next epoch.
    private mutating func decide(
        _ items: [ConsultedItem],
        _ saves: [RecordSave?],
        by rules: RecordRules,
        _ author: BodyAuthor,
        _ facts: any Facts
    ) throws(SyncError) {
        for epoch in reading.epochs.indices {
            guard let reason = reading.epochs[epoch].end else { continue }
            if reading.epochs[epoch].isWanted { _ = key(of: epoch) }
            for index in items.indices where items[index].zone == epoch {
                try decide(index, items[index], saves[index], by: rules, author, facts)
            }
            // The shares that the line itself begins in this epoch end with it, like those that
            // existed before.
            for audience in transitions.begun(in: epoch) { plan.deleteZone(audience, reason) }
            // Shares that were there before the line end with their zone.
            if keys[epoch] != nil, reading.epochs[epoch].zone.key != nil {
                var audiences = Audiences(facts)
                for audience in try audiences.all(in: reading.epochs[epoch].zone.identity) {
                    plan.deleteZone(audience.key, reason)
                }
            }
            plan.deleteZone(key(of: epoch), reason)
        }
        for index in items.indices where reading.epochs[items[index].zone].end == nil {
            try decide(index, items[index], saves[index], by: rules, author, facts)
        }
        for (index, epoch) in reading.epochs.enumerated() where epoch.isWanted && epoch.end == nil {
            _ = key(of: index)
        }
    }

    /// Returns the key or placeholder of a zone, after creating the zone if it does not exist.
    private mutating func key(of epoch: Int) -> ZoneKey {
        if let key = keys[epoch] { return key }
        // Also for an epoch that the line ends: its history then says that the zone existed.
        let key = plan.createZone(reading.epochs[epoch].zone)
        keys[epoch] = key
        return key
    }

    private mutating func decide(
        _ index: Int,
        _ item: ConsultedItem,
        _ save: RecordSave?,
        by rules: RecordRules,
        _ author: BodyAuthor,
        _ facts: any Facts
    ) throws(SyncError) {
        let step = reading.steps[index]
        if step.beginsWithDeletion, !item.isLive { missingDeletionCount += 1 }
        missingDeletionCount += step.missingDeletionCount
        if let save {
            try SchemaRecords.check(save)
            if save.fields.namesAssets {
                let identity = reading.epochs[item.zone].zone.identity
                namingAssets.append((identity.database, save.fields))
            }
            try SubscriptionRecords.check(save)
            let verdict = try rules.verdict(on: [save], [item], at: 0, over: facts)
            if case .refused(let error) = verdict { throw error }
            let zone = key(of: item.zone)
            let place = try transitions.pass(item, index, in: zone, &plan)
            try plan.save(
                item,
                anew: step.hadDeletion,
                in: zone,
                save,
                author,
                share: transitions.rules?.links[index] ?? .unchanged,
                audience: place
            )
        } else if let body = item.liveBody {
            let zone = key(of: item.zone)
            let place = try transitions.pass(item, index, in: zone, &plan, isDeletion: true)
            plan.delete(item, in: zone, type: body.recordTypeBytes, holding: nil, audience: place)
        }
    }
}
