// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
package import TidemarkModel

/// The records of system zones.
extension Facts {
    /// Returns the live record of a system zone with a name; `nil` if there is none.
    ///
    /// Two lookups and the read of one event, regardless of the number of records.
    package func record(
        named name: Name,
        of zone: SystemZone,
        in database: DatabaseID
    ) throws(SyncError) -> StoredRecord? {
        // `.every`: a zone that does not exist is no error here, and has no record.
        var zones = ConsultedZones(includesSystem: true)
        let index = try zones.index(
            of: zone.zone,
            in: zone.home(for: database),
            creating: .every,
            self,
            Limits()
        )
        return try item(named: name, in: zones, at: index).live
    }

    /// Returns the live records of a system zone, oldest change first.
    package func records(
        of zone: SystemZone,
        in database: DatabaseID
    ) throws(SyncError) -> [StoredRecord] {
        // Not at the zone's home: the caller names the database that has the zone.
        let epoch = try epoch(of: ZoneIdentity(database: database, zoneName: zone.zone.name))
        guard let key = epoch.key, epoch.end == nil else { return [] }
        return try records(at: try liveVersions(in: key).map(\.sequence))
    }
}
