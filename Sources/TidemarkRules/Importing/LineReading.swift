// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel

/// A line of a change stream, sorted by what it is about.
///
/// A line says what happens in order, and may name a record or a zone more than once. Here each
/// record comes once, with its last change: so no event's back-link has to point into its own
/// commit. A zone that the line deletes and uses again is two epochs.
struct LineReading {
    /// One epoch of a zone that the line names.
    struct Epoch {
        /// The zone; with a key only if this epoch is there already.
        var zone: ConsultedZone
        /// The line says that the zone is to be there.
        var isWanted = false
        /// Why the line deletes the zone; `nil` if it does not.
        var end: ZoneDeletionReason?
    }

    /// What the line does to one record.
    struct Step {
        /// The record's last change.
        var change: ChangeStreamLine.Change
        /// Whether the first change is a deletion, which misses if the record was not there.
        var beginsWithDeletion: Bool
        /// Deletions right after a deletion.
        var missingDeletionCount = 0
        /// Whether a deletion came before the last change: a save then begins the record anew.
        var hadDeletion = false
    }

    /// In the order in which the line names them.
    private(set) var epochs: [Epoch] = []
    /// In the order in which the line first names each record.
    private(set) var steps: [Step] = []
    /// The record of each step; its zone is an index of `epochs`.
    private(set) var items: [ConsultedItem] = []

    private var zones = ConsultedZones(includesSystem: true)
    /// The latest epoch of each zone of `zones`.
    private var latest: [Int] = []

    /// Sorts a line.
    ///
    /// Throws if it names a zone that there cannot be.
    init(
        _ line: ChangeStreamLine,
        _ facts: any Facts,
        _ limits: Limits
    ) throws(SyncError) {
        items.reserveCapacity(line.changes.count)
        steps.reserveCapacity(line.changes.count)
        for change in line.changes {
            let system = SystemZone(change.zone.name)
            // What only this store can say of itself is not exported either.
            if system == .notified { try limits.check(zone: change.zone) }
            let zone = try zones.index(
                of: change.zone,
                in: system?.home(for: line.database) ?? line.database,
                creating: .every,
                facts,
                limits
            )
            if let error = zones.error(of: zone) { throw error }
            if zone == latest.count { begin(zones[zone]) }
            add(change, in: zone, facts.hash)
        }
        if let repetition = ConsultedItems.firstRepetition(in: items) { collapse(from: repetition) }
    }

    private mutating func begin(_ zone: ConsultedZone) {
        latest.append(epochs.count)
        epochs.append(Epoch(zone: zone))
    }

    private mutating func add(
        _ change: ChangeStreamLine.Change,
        in zone: Int,
        _ hash: StoreHash
    ) {
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
            guard epochs[epoch].isWanted || epochs[epoch].zone.key != nil else { return }
            epochs[epoch].end = reason
            latest[zone] = epochs.count
            var next = Epoch(zone: zones[zone])
            next.zone.key = nil
            epochs.append(next)
        }
    }

    /// Leaves one step per record, from the first repetition on.
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
    /// Takes in a later change of the same record.
    fileprivate mutating func follow(with next: ChangeStreamLine.Change) {
        if change.isDeletion {
            hadDeletion = true
            if next.isDeletion { missingDeletionCount += 1 }
        }
        change = next
    }
}

extension ChangeStreamLine.Change {
    /// Whether a record is deleted.
    var isDeletion: Bool {
        if case .delete = self { true } else { false }
    }
}
