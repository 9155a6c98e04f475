// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
import TidemarkLog
package import TidemarkModel
import TidemarkViews

/// What is to change in a system zone.
package struct SystemChange: Sendable {
    /// The zone.
    package var zone: SystemZone
    /// Records to save, as a whole.
    package var saves: [RecordSave] = []
    /// Records to delete.
    package var deletions: [Name] = []

    /// Nothing to change yet.
    package init(zone: SystemZone, saves: [RecordSave] = [], deletions: [Name] = []) {
        self.zone = zone
        self.saves = saves
        self.deletions = deletions
    }

    /// Whether nothing is to change.
    package var isEmpty: Bool { saves.isEmpty && deletions.isEmpty }

    /// What makes a schema another one.
    static func schema(from old: Schema, to new: Schema) throws(SyncError) -> SystemChange {
        SystemChange(
            zone: .schema,
            saves: try SchemaRecords.saves(from: old, to: new),
            deletions: SchemaRecords.deletions(from: old, to: new)
        )
    }
}

extension Engine {
    /// Adds a change of a system zone to a plan that was begun over a picture, after creating the
    /// zone if it is not there.
    func add(
        _ change: SystemChange,
        of database: DatabaseID,
        by author: Authorship,
        to plan: inout CommitPlan,
        _ picture: ViewPicture
    ) throws(SyncError) {
        if change.isEmpty { return }
        var zones = ConsultedZones(includesSystem: true)
        let zone = try zones.index(
            of: change.zone.zone,
            in: change.zone.home(for: database),
            creating: .every,
            picture,
            options.limits
        )
        if let error = zones[zone].error { throw error }
        let names = change.saves.map(\.recordID.name) + change.deletions
        assert(Set(names).count == names.count, "a record comes twice in one change: \(names)")
        let items = names.map { name in
            ConsultedItem(name: name, zone: zone, slot: views.hash.slot(ofName: name))
        }
        var consulted = try ConsultedItems(items, in: zones, picture, views)
        let newcomers = change.saves.indices.filter { consulted.items[$0].old == nil }
        try consulted.settle(newcomers, in: zones, picture, views)
        for item in consulted.items { plan.restsOn(item.slot, in: zones[zone].key) }
        let key = zones[zone].key ?? plan.createZone(zones[zone])
        for (save, item) in zip(change.saves, consulted.items) {
            try plan.save(item, over: item.live, in: key, save, author)
        }
        for item in consulted.items.dropFirst(change.saves.count) {
            guard let live = item.live else { continue }
            let type = try live.readBody().recordTypeBytes
            plan.delete(item, in: key, type: type, holding: nil)
        }
        if change.zone.isRestedOn { plan.changesSystemZone = true }
    }
}
