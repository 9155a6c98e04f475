// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
import TidemarkLog

/// A cache of epochs, so that repeated requests to one zone do not search for it.
///
/// The cache is emptied when a zone begins or ends, or when it is full.
struct ZoneEpochs: Sendable {
    private static let countLimit = 1_000

    private var epochs: [ZoneIdentity: ZoneEpoch] = [:]
    /// The last beginning or end of a zone when the epochs were found.
    private var sequence: SequenceNumber = 0

    func epoch(of zone: ZoneIdentity, asOf sequence: SequenceNumber) -> ZoneEpoch? {
        sequence == self.sequence ? epochs[zone] : nil
    }

    mutating func keep(_ epoch: ZoneEpoch, of zone: ZoneIdentity, asOf sequence: SequenceNumber) {
        // An older picture must not put back epochs from before a zone's last beginning or end.
        guard sequence >= self.sequence else { return }
        if sequence > self.sequence || epochs.count >= Self.countLimit { epochs = [:] }
        self.sequence = sequence
        epochs[zone] = epoch
    }
}

extension ViewPicture {
    /// Returns a zone's latest epoch, which may have ended.
    ///
    /// O(1) for a zone that was looked up since a zone last began or ended.
    package func epoch(of zone: ZoneIdentity) throws(ViewIndexError) -> ZoneEpoch {
        let asOf = lastZoneSequence
        // Otherwise this picture shows an older state than the cached one.
        let isNewest = bound >= asOf
        if isNewest, let known = views.epochs.withLock({ $0.epoch(of: zone, asOf: asOf) }) {
            return known
        }
        let found = ZoneEpoch(try search(for: zone))
        if isNewest { views.epochs.withLock { $0.keep(found, of: zone, asOf: asOf) } }
        return found
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
