// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
import TidemarkLog
package import TidemarkModel

/// The changes to be made in a system zone.
package struct SystemChange: Sendable {
    /// The zone.
    package var zone: SystemZone
    /// The records to save, each in full.
    package var saves: [RecordSave] = []
    /// The records to delete.
    package var deletions: [Name] = []

    /// Creates a change.
    package init(zone: SystemZone, saves: [RecordSave] = [], deletions: [Name] = []) {
        self.zone = zone
        self.saves = saves
        self.deletions = deletions
    }

    /// True if nothing is to be changed.
    package var isEmpty: Bool { saves.isEmpty && deletions.isEmpty }
}

extension CommitPlan {
    /// Adds a change of a system zone, after creating the zone if it does not exist.
    ///
    /// `facts` must be the facts that the plan was based on.
    package mutating func add(
        _ change: SystemChange,
        of database: DatabaseID,
        by author: Authorship,
        over facts: any Facts
    ) throws(SyncError) {
        if change.isEmpty { return }
        var zones = ConsultedZones(includesSystem: true)
        // The limits of the store do not apply: no client names these zones.
        let zone = try zones.index(
            of: change.zone.zone,
            in: change.zone.home(for: database),
            creating: .every,
            facts,
            Limits()
        )
        if let error = zones[zone].error { throw error }
        let names = change.saves.map(\.recordID.name) + change.deletions
        // Two events of one record in a commit would both name the same predecessor, and break the
        // record's chain.
        assert(Set(names).count == names.count, "a record comes twice in one change: \(names)")
        let items = names.map { name in
            ConsultedItem(name: name, zone: zone, slot: facts.hash.slot(ofName: name))
        }
        var consulted = try ConsultedItems(items, in: zones, facts)
        let newcomers = change.saves.indices.filter { consulted.items[$0].old == nil }
        try consulted.settle(newcomers, in: zones, facts)
        for item in consulted.items { restsOn(item.slot, in: zones[zone].key) }
        let key = zones[zone].key ?? createZone(zones[zone])
        let author = BodyAuthor(author)
        for (save, item) in zip(change.saves, consulted.items) {
            try self.save(item, in: key, save, author)
        }
        for item in consulted.items.dropFirst(change.saves.count) {
            guard let body = item.liveBody else { continue }
            delete(item, in: key, type: body.recordTypeBytes, holding: nil)
        }
        // Decisions of all requests rest on these zones. So each change of one conflicts with every
        // decision that did not see it.
        if change.zone.isRestedOn { changesSystemZone = true }
    }
}
