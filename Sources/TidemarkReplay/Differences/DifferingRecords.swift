// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Tidemark
import TidemarkEvents
import TidemarkLog
import TidemarkModel

/// A zone with something that may differ between two points: all its epochs of that time.
struct DifferingZone {
    /// A record by the events that it was at the two points; zero where it was not there.
    struct Versions {
        var before: SequenceNumber
        var after: SequenceNumber
    }

    let zone: ZoneID
    /// The difference of the zone itself; `nil` if the zone is the same at both points.
    var difference: ZoneDifference?
    /// Its records, in no order; a record in two epochs appears twice.
    var records: [Versions] = []
}

/// The records that have an event between two points, with their versions at both.
///
/// An event names the one that it replaces, so nothing before the first point is read. All records
/// of a zone are read only if the zone ended.
struct DifferingRecords {
    /// In the order of their names' bytes.
    let zones: [DifferingZone]

    /// Walks the log between the points.
    ///
    /// O(events between them + records of zones that ended).
    init(
        _ past: PastPicture,
        after first: SequenceNumber,
        through last: SequenceNumber,
        of database: DatabaseID,
        in zone: ZoneID?
    ) throws(SyncError) {
        // Those that were there at one of the points or between them.
        let epochs = try past.epochs(of: database, in: zone).filter { epoch in
            epoch.key.creation <= last && epoch.end.map { $0 > first } ?? true
        }
        var fold = VersionFold(places: PastPlaces(hash: past.hash))
        try past.log.scan(from: first.next, through: last, zones: Set(epochs.map(\.key))) {
            event throws(EventFormatError) in
            try fold.add(event)
            return true
        }
        // The end of a zone is not an event of its records. The scan finds only records that
        // changed after the first point; this adds the others.
        for epoch in epochs where epoch.isThere(at: first) && !epoch.isThere(at: last) {
            for version in try past.newestVersions(in: epoch.key)
            where version.sequence <= first && version.state == .live {
                fold.records[PastPlace(of: version, in: epoch)] = DifferingZone.Versions(
                    before: version.sequence,
                    after: 0
                )
            }
        }
        var records: [ZoneKey: [DifferingZone.Versions]] = [:]
        let ended = Set(epochs.filter { !$0.isThere(at: last) }.map(\.key))
        for (place, versions) in fold.records {
            var versions = versions
            // A record whose last event in the stretch is a save is gone too if its zone ended
            // after it.
            if ended.contains(place.epoch) { versions.after = 0 }
            if versions.before != versions.after {
                records[place.epoch, default: []].append(versions)
            }
        }
        zones = Dictionary(grouping: epochs, by: \.identity.zoneName)
            .sorted { $0.key < $1.key }
            .map { _, epochs in
                DifferingZone(
                    zone: epochs[0].identity.zone,
                    difference: ZoneDifference(epochs, first, last),
                    records: epochs.flatMap { records[$0.key] ?? [] }
                )
            }
    }
}

/// Folds events to the versions before and after them.
private struct VersionFold {
    let places: PastPlaces
    var records: [PastPlace: DifferingZone.Versions] = [:]

    mutating func add(_ event: LogEvent) throws(EventFormatError) {
        switch event.kind {
        case .recordSaved, .recordDeleted, .recordTouched:
            // Only the first event of a record in the stretch names the version at the first point.
            let step = try places.step(event)
            records[
                step.place,
                default: DifferingZone.Versions(before: step.before, after: 0)
            ].after = step.after
        default:
            break
        }
    }
}

extension ZoneDifference {
    /// Creates the difference of a zone from its epochs; `nil` if neither point has the zone, or
    /// both have the same epoch.
    fileprivate init?(_ epochs: [PastZone], _ first: SequenceNumber, _ last: SequenceNumber) {
        zone = epochs[0].identity.zone
        let before = epochs.first { $0.isThere(at: first) }
        let after = epochs.first { $0.isThere(at: last) }
        switch (before, after) {
        case (nil, nil): return nil
        case (nil, _): kind = .created
        case (let before?, nil): kind = .deleted(before.endReason ?? .deleted)
        case (let before?, let after?):
            if before.key == after.key { return nil }
            kind = .recreated(before.endReason ?? .deleted)
        }
    }
}
