// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkViews

/// The store as it is now, from the zone views.
struct LivePicture: Picture {
    let views: ViewPicture

    var bound: SequenceNumber { views.bound }

    func zone(_ zone: ZoneIdentity) throws(SyncError) -> (key: ZoneKey?, end: ZoneDeletionReason?) {
        try SyncError.wrapping { () throws(ViewIndexError) in
            let epoch = try views.epoch(of: zone)
            guard let key = epoch.key else { return (nil, nil) }
            return epoch.end == nil ? (key, nil) : (nil, try views.zone(key).end?.reason)
        }
    }

    func versions(
        in zone: ZoneKey,
        after start: SequenceNumber,
        limit: Int
    ) throws(SyncError) -> [RecordVersion] {
        try SyncError.wrapping { () throws(ViewIndexError) in
            try views.changes(in: zone, after: start, quiet: 0, limit: limit)
        }
    }

    func zones(
        of database: DatabaseID,
        after start: SequenceNumber,
        quiet: SequenceNumber,
        limit: Int
    ) throws(SyncError) -> [ZoneHead] {
        try SyncError.wrapping { () throws(ViewIndexError) in
            try views.zones(of: database, after: start, quiet: quiet, limit: limit).map {
                ZoneHead(identity: $0.identity, head: $0.head, end: $0.end?.reason)
            }
        }
    }

    func livingZones(of database: DatabaseID) throws(SyncError) -> [ZoneKey: ZoneIdentity] {
        try SyncError.wrapping { () throws(ViewIndexError) in
            let zones = try views.zones(of: database, after: 0, limit: .max)
            return Dictionary(uniqueKeysWithValues: zones.map { ($0.key, $0.identity) })
        }
    }

    func liveSequences(in zone: ZoneKey, limit: Int) throws(SyncError) -> [SequenceNumber] {
        try SyncError.wrapping { () throws(ViewIndexError) in
            try views.changes(in: zone, after: 0, quiet: .max, limit: limit).map(\.sequence)
        }
    }
}
