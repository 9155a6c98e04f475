// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Tidemark
public import TidemarkLog
public import TidemarkModel

extension Store {
    /// Visits the differences of a database between two points, until `visit` returns `false`.
    ///
    /// Zones and records are ordered by the bytes of their names. For each zone, the difference of the
    /// zone itself comes first, and then those of its records.
    ///
    /// - Parameters:
    ///   - first: The position after whose event the comparison begins; zero is the empty store.
    ///   - last: The position at which the comparison ends; `nil` for now.
    ///   - database: The database.
    ///   - zone: One of its zones; `nil` for all but the internal zones of the store.
    ///   - name: The name of one record; `nil` for all.
    ///   - visit: Takes one difference.
    ///
    /// O(events between the two points + records of zones that ended there). Holds in memory the names
    /// of one zone's changed records, and the content of a few records.
    ///
    /// - Throws: `zoneNotFound` for a zone that never existed, `invalidArguments` for a point
    ///   beyond the store's last event, one whose history was pruned, or a first one after the last.
    public func visitDifferences(
        after first: SequenceNumber,
        through last: SequenceNumber? = nil,
        of database: DatabaseID = .standard,
        in zone: ZoneID? = nil,
        record name: String? = nil,
        _ visit: (Difference) throws -> Bool
    ) async throws {
        let past = try pastPicture(showing: [first, last].compactMap(\.self))
        let last = last ?? past.last
        guard first <= last else {
            throw SyncError(
                .invalidArguments,
                "The first point must be before the second: event \(first) is not before event "
                    + "\(last).",
                remedy: "Exchange the points."
            )
        }
        // One scan of the stretch finds the records. Their bodies are read below, zone by zone.
        let differing = try await reading { () throws(SyncError) in
            try DifferingRecords(past, after: first, through: last, of: database, in: zone)
        }
        let name = name.map { Name($0) }
        // The bodies may be as long to read as the stretch.
        try LongWork.run { () throws -> Void in
            for zone in differing.zones {
                if name == nil, let difference = zone.difference, try !visit(.zone(difference)) {
                    return
                }
                let pairs = try RecordPairs(zone, of: name, past.log)
                let goesOn = try pairs.visit { pair in
                    guard let difference = RecordDifference(from: pair.before, to: pair.after)
                    else { return true }
                    return try visit(.record(difference))
                }
                if !goesOn { return }
            }
        }
    }
}
