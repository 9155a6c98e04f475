// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkRules

extension WaitingShares {
    /// Finds the shares of a container's environment that an earlier import left waiting.
    ///
    /// O(shares) once for each container and environment; O(1) afterwards.
    mutating func consult(_ database: DatabaseID, in reader: Reader) throws(SyncError) {
        let home = database.ofSystemZones
        guard consulted.insert(home).inserted else { return }
        let picture = try reader.picture(.visible)
        let links = ZoneIdentity(database: home, zoneName: SystemZone.shares.zone.name)
        let live = LivePicture(views: picture)
        guard let key = try live.zone(links).key else { return }
        let records = try ZoneRecords(live.liveSequences(in: key), from: reader.source)
        let audiences = Audiences(picture.facts)
        _ = try records.visit { (_, body) throws(SyncError) in
            guard let link = ShareRecords.link(in: body), link.participantID == nil else {
                return true
            }
            let zone = link.zoneIdentity(in: home)
            // A share whose record names a root, and that has no audience, was saved before its
            // root.
            if link.shareName != Name(Share.zoneWideName),
                try audiences.key(ofShare: body.recordName, in: zone) == nil,
                let root = try Self.share(link.shareName, of: zone, in: reader)?.root
            {
                add(link.shareName, of: root, in: zone)
            }
            return true
        }
    }

    /// Returns the shares that still wait, in the order of their zones and names.
    func all(in reader: Reader) throws(SyncError) -> [ChangeImport.WaitingShare] {
        let audiences = Audiences(try reader.picture(.visible).facts)
        var found: [ChangeImport.WaitingShare] = []
        for (root, name) in shares {
            guard let share = try Self.share(name, of: root.zone, in: reader),
                share.root == root.name,
                try audiences.key(ofShare: share.token, in: root.zone) == nil
            else { continue }
            found.append(
                ChangeImport.WaitingShare(
                    database: root.zone.database,
                    share: RecordID(recordName: name.string, zone: root.zone.zone),
                    root: root.name.string
                )
            )
        }
        return found.sorted {
            ($0.share.zone.zoneName, $0.share.recordName)
                < ($1.share.zone.zoneName, $1.share.recordName)
        }
    }

    /// Returns the content of a share's record; `nil` if the record does not exist.
    private static func share(
        _ name: Name,
        of zone: ZoneIdentity,
        in reader: Reader
    ) throws(SyncError) -> Share? {
        let id = RecordID(recordName: name.string, zone: zone.zone)
        do throws(SyncError) {
            // A link may lead to a zone or record that is gone, which is no error. A failure to
            // read the log is one.
            return try reader.record(id, of: zone.database, asOf: nil).share
        } catch  where error.code != .internalError {
            return nil
        }
    }
}
