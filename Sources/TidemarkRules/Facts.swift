// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
package import TidemarkLog
package import TidemarkModel

/// A state of a store, as decisions read it.
///
/// It does not change: two calls about one thing have one answer. The zone views implement it over the log;
/// tests may implement it by a dictionary.
package protocol Facts: Sendable {
    /// The hashes of the store.
    var hash: StoreHash { get }

    /// Position of the last event that the state includes.
    var bound: SequenceNumber { get }

    /// The latest epoch of a zone, which may have ended, and the place of the zone's name.
    func epoch(of zone: ZoneIdentity) throws(SyncError) -> ZoneEpoch

    /// Why a zone or an audience ended, by its key; `nil` while it is there.
    func endReason(of zone: ZoneKey) throws(SyncError) -> ZoneDeletionReason?

    /// The zones of a database that are there, oldest change first.
    ///
    /// O(zones of the database).
    func zones(of database: DatabaseID) throws(SyncError) -> [LivingZone]

    /// The last event of each of some slots, in their order; `nil` where there was none.
    func versions(at slots: [ViewKey]) throws(SyncError) -> [RecordVersion?]

    /// The records that are there in a zone, in the order of their last events.
    ///
    /// O(records of the zone).
    func liveVersions(in zone: ZoneKey) throws(SyncError) -> [RecordVersion]

    /// The events of records at positions that ascend.
    ///
    /// Throws where the log does not have one of them.
    func records(at sequences: [SequenceNumber]) throws(SyncError) -> [StoredRecord]

    /// The records of a zone that the index lists as bound to a target, at most `limit`, in the order of their
    /// slots. Names with the same hash may be among them.
    func referrers(
        of target: UInt64,
        in zone: ZoneKey,
        limit: Int
    ) throws(SyncError) -> [Referrer]

    /// The key of the audience that a record was last in, also of one that has ended; `nil` if it is in none.
    func audience(of record: ViewKey) throws(SyncError) -> ZoneKey?
}

/// A zone that is there, and its key.
package struct LivingZone: Sendable {
    /// The position of its creation.
    package let key: ZoneKey
    /// Which zone it is.
    package let identity: ZoneIdentity

    package init(key: ZoneKey, identity: ZoneIdentity) {
        self.key = key
        self.identity = identity
    }
}
