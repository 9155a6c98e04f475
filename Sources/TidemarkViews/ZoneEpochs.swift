// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
import TidemarkLog
import TidemarkModel

/// A cache of epochs, so that repeated requests to one zone do not search for it.
///
/// The cache is emptied when a zone begins or ends, or when it is full.
struct ZoneEpochs: Sendable {
    private static let countLimit = 1_000

    /// The epochs, by a hash of the zone; of two zones with the same hash, the later one.
    ///
    /// The standard library's hash of the three names takes longer than the rest of a lookup.
    private var epochs: [UInt64: (zone: ZoneIdentity, epoch: ZoneEpoch)] = [:]
    /// The zone of the last request, since many clients ask for one zone again and again: comparing
    /// its names takes less than hashing them.
    private var last: (zone: ZoneIdentity, epoch: ZoneEpoch)?
    /// The last beginning or end of a zone when the epochs were found.
    private var sequence: SequenceNumber = 0

    mutating func epoch(
        of zone: ZoneIdentity,
        _ hash: StoreHash,
        asOf sequence: SequenceNumber
    ) -> ZoneEpoch? {
        guard sequence == self.sequence else { return nil }
        if let last, last.zone == zone { return last.epoch }
        guard let known = epochs[hash.epochs(of: zone)], known.zone == zone else { return nil }
        last = known
        return known.epoch
    }

    mutating func keep(
        _ epoch: ZoneEpoch,
        of zone: ZoneIdentity,
        _ hash: StoreHash,
        asOf sequence: SequenceNumber
    ) {
        // An older picture must not put back epochs from before a zone's last beginning or end.
        guard sequence >= self.sequence else { return }
        if sequence > self.sequence || epochs.count >= Self.countLimit { epochs = [:] }
        self.sequence = sequence
        epochs[hash.epochs(of: zone)] = (zone, epoch)
        last = (zone, epoch)
    }
}

extension ViewPicture {
    /// Returns a zone's latest epoch, which may have ended.
    ///
    /// O(1) for a zone that was looked up since a zone last began or ended.
    package func epoch(of zone: ZoneIdentity) throws(ViewIndexError) -> ZoneEpoch {
        let asOf = lastZoneSequence
        let hash = hash
        // Otherwise this picture shows an older state than the cached one.
        guard bound >= asOf else { return ZoneEpoch(try search(for: zone)) }
        if let known = views.epochs.withLock({ $0.epoch(of: zone, hash, asOf: asOf) }) {
            return known
        }
        let found = ZoneEpoch(try search(for: zone))
        views.epochs.withLock { $0.keep(found, of: zone, hash, asOf: asOf) }
        return found
    }
}

extension StoreHash {
    /// Returns the key of a zone in the cache of epochs.
    fileprivate func epochs(of zone: ZoneIdentity) -> UInt64 {
        let database = zone.database
        let isProduction = database.environment == .production
        func hash(_ name: Name, _ seed: UInt64) -> UInt64 {
            name.withBytes { xxh3($0.span.bytes, seed: seed) }
        }
        let kind = UInt64(database.scope.rawValue << 1 | (isProduction ? 1 : 0))
        let place = hash(database.container.name, hash(database.owner.name, seed ^ kind))
        return hash(zone.zoneName, place)
    }
}

extension ZoneEpoch {
    /// The epoch that a search for a zone's name gave.
    init(_ search: ZoneSearch) {
        self.init(
            key: search.standing?.key,
            end: search.standing?.end?.sequence,
            place: search.place,
            probeCount: search.probeCount
        )
    }
}
