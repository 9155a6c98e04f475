// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Tidemark
public import TidemarkLog
public import TidemarkModel

extension Store {
    /// Visits what differs between two points in a database, until `visit` returns `false`: zone by zone
    /// in the order of their names' bytes; of each zone first whether it began or ended, and then its
    /// records in the order of their names' bytes.
    ///
    /// - Parameters:
    ///   - first: The position after whose event the comparison begins; zero is the empty store.
    ///   - last: The position up to which it goes; `nil` for now.
    ///   - database: The database.
    ///   - zone: One of its zones; `nil` for all but those that the store keeps for itself.
    ///   - name: The name of one record; `nil` for all.
    ///   - visit: Takes one difference.
    ///
    /// Costs the events between the two points, and the records of zones that ended there. Holds the
    /// names of one zone's records that changed, and the records of a few.
    ///
    /// - Throws: `zoneNotFound` for a zone that never was there, `invalidArguments` for a point
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
                "A comparison goes forward: event \(first) is not before event \(last)."
            )
        }
        let differing = try await reading { () throws(SyncError) in
            try DifferingRecords(past, after: first, through: last, of: database, in: zone)
        }
        let name = name.map { Name($0) }
        for zone in differing.zones {
            if name == nil, let difference = zone.difference, try !visit(.zone(difference)) {
                return
            }
            let pairs = try RecordPairs(zone, of: name, past.log)
            let goesOn = try pairs.visit { pair in
                guard let difference = RecordDifference(from: pair.before, to: pair.after) else {
                    return true
                }
                return try visit(.record(difference))
            }
            if !goesOn { return }
        }
    }
}
