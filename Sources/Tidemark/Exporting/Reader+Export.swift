// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkViews

extension Reader {
    /// See ``Store/visitRecords(of:in:asOf:_:)``.
    func visitRecords(
        of database: DatabaseID,
        in zone: ZoneID?,
        asOf position: SequenceNumber?,
        _ visit: (Record) -> Bool
    ) throws(SyncError) {
        let now = try picture(.visible)
        // While it is held, the log keeps the events that are read below.
        defer { withExtendedLifetime(now) {} }
        let picture = try picture(throughChecked: check(position, now), now)
        var zones = try picture.livingZones(of: database)
        if let zone {
            let name = Name(zone.zoneName)
            zones = zones.filter { $0.value.zoneName == name }
            if zones.isEmpty, !ZoneIdentity(database: database, zoneName: name).isImplicit {
                throw position == nil ? .zoneNotFound(zone) : .zoneNotFoundThen(zone)
            }
        } else {
            zones = zones.filter { !$0.value.isSystem }
        }
        for (key, identity) in zones.sorted(by: { $0.value.zoneName < $1.value.zoneName }) {
            let records = try ZoneRecords(picture.liveSequences(in: key), from: source)
            let zone = identity.zone
            let goesOn = try records.visit { (sequence, body) throws(SyncError) in
                let tag = TagContent(of: sequence, in: line).tag
                return visit(Record(zone: zone, changeTag: tag, body: body))
            }
            if !goesOn { return }
        }
    }

    /// See ``Store/figures()``.
    func figures() throws(SyncError) -> StoreFigures {
        try SyncError.wrapping { () throws(ViewIndexError) in
            let figures = try views.picture(.visible).figures()
            return StoreFigures(
                zoneCount: figures.zoneCount,
                liveRecordCount: figures.liveRecordCount,
                tombstoneCount: figures.tombstoneCount,
                viewByteCount: views.index.byteCount,
                viewSpareByteCount: views.index.spareByteCount
            )
        }
    }
}
