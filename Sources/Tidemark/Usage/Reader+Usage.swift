// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkViews

extension Reader {
    /// The number of records to read at a time.
    private static let countedAtOnce = 1 << 14

    /// Returns the usage of a database as of a picture of the visible state.
    ///
    /// System zones are not counted.
    func usage(of database: DatabaseID, _ picture: ViewPicture) throws(SyncError) -> DatabaseUsage {
        var usage = DatabaseUsage(database)
        let zones = try LivePicture(views: picture).livingZones(of: database).filter {
            !$0.value.isSystem
        }
        for (key, identity) in zones.sorted(by: { $0.value.zoneName < $1.value.zoneName }) {
            let zone = try self.usage(ofZone: key, picture)
            usage.zones.append(DatabaseUsage.Zone(zone: identity.zone, usage: zone))
        }
        return usage
    }

    private func usage(ofZone key: ZoneKey, _ picture: ViewPicture) throws(SyncError) -> Usage {
        var usage = Usage()
        var start: SequenceNumber = 0
        while true {
            // The quiet position leaves out all tombstones, so these are live records.
            let versions: [RecordVersion] = try SyncError.wrapping { () throws(ViewIndexError) in
                try picture.changes(in: key, after: start, quiet: .max, limit: Self.countedAtOnce)
            }
            guard let last = versions.last else { return usage }
            start = last.sequence
            try source.visit(versions.map(\.sequence)) { (event) throws(EventFormatError) in
                let record = try StoredRecord(event.sequence, zone: key, event.payload)
                usage.add(try record.body())
                return true
            }
        }
    }

    /// The databases that have a zone that lives and is not the store's own.
    func databases(_ picture: ViewPicture) throws(SyncError) -> [DatabaseID] {
        try SyncError.wrapping { () throws(ViewIndexError) in
            let standings = try picture.zones().filter { $0.end == nil && !$0.identity.isSystem }
            return standings.sorted { $0.key < $1.key }.map(\.identity.database).eachOnce
        }
    }
}
