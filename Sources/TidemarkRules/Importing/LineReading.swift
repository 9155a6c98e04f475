// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel

/// A line of a change stream, grouped by zone and record.
///
/// A line lists changes in order, and may name a record or a zone several times. This type has each
/// record once, with its last change, so that no event's back-link points into its own commit. A
/// zone that the line deletes and uses again has two epochs.
struct LineReading {
    /// One epoch of a zone that the line names.
    struct Epoch {
        /// The zone; it has a key only if this epoch exists already.
        var zone: ConsultedZone
        /// True if the line requires the zone to exist.
        var isWanted = false
        /// The reason for which the line deletes the zone; `nil` if it does not.
        var end: ZoneDeletionReason?
    }

    /// The change that the line makes to one record.
    struct Step {
        /// The record's last change.
        var change: ChangeStreamLine.Change
        /// True if the first change is a deletion, which has no effect if the record did not exist.
        var beginsWithDeletion: Bool
        /// The number of deletions directly after a deletion.
        var missingDeletionCount = 0
        /// True if a deletion precedes the last change: a save then begins the record anew.
        var hadDeletion = false
    }

    /// The epochs in the order in which the line names them.
    private(set) var epochs: [Epoch] = []
    /// The steps in the order in which the line first names each record.
    private(set) var steps: [Step] = []
    /// The record of each step; its zone is an index of `epochs`.
    private(set) var items: [ConsultedItem] = []

    private var zones = ConsultedZones(includesSystem: true)
    /// The latest epoch of each zone of `zones`.
    private var latest: [Int] = []

    /// Groups the changes of a line.
    ///
    /// Throws if the line names an invalid zone.
    init(_ line: ChangeStreamLine, _ facts: any Facts, _ limits: Limits) throws(SyncError) {
        items.reserveCapacity(line.changes.count)
        steps.reserveCapacity(line.changes.count)
        for change in line.changes {
            let system = SystemZone(change.zone.name)
            // Types that only this store may write are not exported either.
            if system == .notified { try limits.check(zone: change.zone) }
            let zone = try zones.index(
                of: change.zone,
                in: system?.home(for: line.database) ?? line.database,
                creating: .every,
                facts,
                limits
            )
            if let error = zones.error(of: zone) { throw error }
            // `zones` numbers the zones in the order of their first use, so this index is new.
            if zone == latest.count { begin(zones[zone]) }
            add(change, in: zone, facts.hash)
        }
        // Most lines name each record once, and are left as they are.
        if let repetition = SlotOrder(items).firstRepetition(in: items) {
            collapse(from: repetition)
        }
    }

    private mutating func begin(_ zone: ConsultedZone) {
        latest.append(epochs.count)
        epochs.append(Epoch(zone: zone))
    }

    private mutating func add(_ change: ChangeStreamLine.Change, in zone: Int, _ hash: StoreHash) {
        let epoch = latest[zone]
        switch change {
        case .save(let record, _, _, _), .delete(let record):
            if case .save = change { epochs[epoch].isWanted = true }
            let name = Name(record.recordName)
            items.append(ConsultedItem(name: name, zone: epoch, slot: hash.slot(ofName: name)))
            steps.append(Step(change: change, beginsWithDeletion: change.isDeletion))
        case .createZone:
            epochs[epoch].isWanted = true
        case .deleteZone(_, let reason):
            // Deleting a zone that does not exist changes nothing and begins no epoch.
            guard epochs[epoch].isWanted || epochs[epoch].zone.key != nil else { return }
            epochs[epoch].end = reason
            latest[zone] = epochs.count
            var next = Epoch(zone: zones[zone])
            // Later records of the line belong to a new zone of the same name, which the commit
            // creates.
            next.zone.key = nil
            epochs.append(next)
        }
    }

    /// Leaves one step per record, starting at the first repetition.
    private mutating func collapse(from repetition: Int) {
        var places: [RecordPlace: Int] = [:]
        let all = zip(items, steps).map { ($0, $1) }
        items = []
        steps = []
        for (item, step) in all {
            let place = RecordPlace(item)
            if let index = places[place] {
                steps[index].follow(with: step.change)
            } else {
                places[place] = items.count
                items.append(item)
                steps.append(step)
            }
        }
    }
}

extension LineReading.Step {
    /// Adds a later change of the same record.
    fileprivate mutating func follow(with next: ChangeStreamLine.Change) {
        if change.isDeletion {
            hadDeletion = true
            if next.isDeletion { missingDeletionCount += 1 }
        }
        change = next
    }
}

extension ChangeStreamLine.Change {
    /// True if the change deletes a record.
    var isDeletion: Bool {
        if case .delete = self { true } else { false }
    }
}
