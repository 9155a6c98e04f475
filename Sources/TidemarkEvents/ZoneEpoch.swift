// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkLog

/// A zone's latest epoch and the place of its name, which are constant until a zone begins or ends.
package struct ZoneEpoch: Hashable, Sendable {
    /// The epoch's key; `nil` if the zone never existed.
    package var key: ZoneKey?
    /// The position of the epoch's end; `nil` while the epoch is live.
    package var end: SequenceNumber?
    /// The place of the zone's name, or the free place for it.
    package var place: ViewKey
    /// The distance of that place from the name's hash.
    package var probeCount: UInt8

    @inlinable @inline(__always)
    package init(key: ZoneKey?, end: SequenceNumber?, place: ViewKey, probeCount: UInt8) {
        self.key = key
        self.end = end
        self.place = place
        self.probeCount = probeCount
    }
}
