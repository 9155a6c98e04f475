// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkRules
import TidemarkViews

/// The facts of a picture of the zone views, and of the log.
///
/// A class: a structure of this size would be boxed, and every holder of the facts would copy the
/// box through a witness.
private final class PictureFacts: Facts {
    let picture: ViewPicture

    init(_ picture: ViewPicture) {
        self.picture = picture
    }

    var hash: StoreHash { picture.hash }
    var bound: SequenceNumber { picture.bound }

    func epoch(of zone: ZoneIdentity) throws(SyncError) -> ZoneEpoch {
        try SyncError.wrapping { () throws(ViewIndexError) in try picture.epoch(of: zone) }
    }

    func endReason(of zone: ZoneKey) throws(SyncError) -> ZoneDeletionReason? {
        try SyncError.wrapping { () throws(ViewIndexError) in try picture.zone(zone).end?.reason }
    }

    func zones(of database: DatabaseID) throws(SyncError) -> [LivingZone] {
        try SyncError.wrapping { () throws(ViewIndexError) in
            try picture.zones(of: database, after: 0, limit: .max)
        }.map { LivingZone(key: $0.key, identity: $0.identity) }
    }

    func versions(at slots: [ViewKey]) throws(SyncError) -> [RecordVersion?] {
        try SyncError.wrapping { () throws(ViewIndexError) in try picture.versions(at: slots) }
    }

    func version(at slot: ViewKey) throws(SyncError) -> RecordVersion? {
        try SyncError.wrapping { () throws(ViewIndexError) in try picture.version(at: slot) }
    }

    func liveVersions(in zone: ZoneKey) throws(SyncError) -> [RecordVersion] {
        try SyncError.wrapping { () throws(ViewIndexError) in
            try picture.changes(in: zone, after: 0, quiet: .max, limit: .max)
        }
    }

    func records(at sequences: [SequenceNumber]) throws(SyncError) -> [StoredRecord] {
        // Commits that are not durable yet are read from the overlay, since the log returns durable
        // ones only.
        try picture.views.records(at: sequences)
    }

    func referrers(of target: UInt64, in zone: ZoneKey) throws(SyncError) -> [Referrer] {
        try SyncError.wrapping { () throws(ViewIndexError) in
            try picture.referrers(of: target, in: zone)
        }
    }

    func referrerCount(
        of target: UInt64,
        in zone: ZoneKey,
        with binding: Binding
    ) throws(SyncError) -> Int {
        try SyncError.wrapping { () throws(ViewIndexError) in
            try picture.referrerCount(of: target, in: zone, with: binding)
        }
    }

    func audience(of record: ViewKey) throws(SyncError) -> ZoneKey? {
        try SyncError.wrapping { () throws(ViewIndexError) in try picture.audience(of: record) }
    }
}

extension ViewPicture {
    /// The picture as decisions read it.
    ///
    /// It allocates, so a request reads it once.
    var facts: any Facts { PictureFacts(self) }
}
