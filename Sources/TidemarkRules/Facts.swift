// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
package import TidemarkLog
package import TidemarkModel

/// A state of a store, as read by decisions.
///
/// The state is immutable: equal calls have equal results. The zone views implement it over the
/// log; tests may implement it by a dictionary.
package protocol Facts: Sendable {
    /// The hashes of the store.
    var hash: StoreHash { get }

    /// The position of the last event that the state includes.
    var bound: SequenceNumber { get }

    /// Returns the latest epoch of a zone, which may have ended, and the place of the zone's name.
    func epoch(of zone: ZoneIdentity) throws(SyncError) -> ZoneEpoch

    /// Returns the reason why a zone or an audience ended, by its key; `nil` while it exists.
    func endReason(of zone: ZoneKey) throws(SyncError) -> ZoneDeletionReason?

    /// Returns the existing zones of a database, oldest change first.
    ///
    /// O(zones of the database).
    func zones(of database: DatabaseID) throws(SyncError) -> [LivingZone]

    /// Returns the last event of each slot, in the given order; `nil` for a slot without events.
    func versions(at slots: [ViewKey]) throws(SyncError) -> [RecordVersion?]

    /// Returns the last event of one slot; `nil` for a slot without events.
    func version(at slot: ViewKey) throws(SyncError) -> RecordVersion?

    /// Returns the existing records of a zone, in the order of their last events.
    ///
    /// O(records of the zone).
    func liveVersions(in zone: ZoneKey) throws(SyncError) -> [RecordVersion]

    /// Returns the events of records at some positions, in the given order.
    ///
    /// Throws if the log lacks one of them.
    func records(at sequences: [SequenceNumber]) throws(SyncError) -> [StoredRecord]

    /// Returns the records of a zone that the index lists as bound to a target, in slot order.
    ///
    /// Names with the same hash may be among them.
    func referrers(of target: UInt64, in zone: ZoneKey) throws(SyncError) -> [Referrer]

    /// Returns the number of those records whose binding is of a kind, among others.
    func referrerCount(
        of target: UInt64,
        in zone: ZoneKey,
        with binding: Binding
    ) throws(SyncError) -> Int

    /// Returns the key of the record's last audience, even if the audience has ended; `nil` if the
    /// record is in none.
    func audience(of record: ViewKey) throws(SyncError) -> ZoneKey?
}

/// An existing zone and its key.
package struct LivingZone: Sendable {
    /// The position of its creation.
    package let key: ZoneKey
    /// The identity of the zone.
    package let identity: ZoneIdentity

    package init(key: ZoneKey, identity: ZoneIdentity) {
        self.key = key
        self.identity = identity
    }
}
