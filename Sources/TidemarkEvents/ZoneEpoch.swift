// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkLog

/// A zone's latest epoch and the place of its name, which are constant until a zone begins or ends.
@usableFromInline
package struct ZoneEpoch: Hashable, Sendable {
    /// The epoch's key; `nil` if the zone never existed.
    @usableFromInline package var key: ZoneKey?
    /// The position of the epoch's end; `nil` while the epoch is live.
    @usableFromInline package var end: SequenceNumber?
    /// The place of the zone's name, or the free place for it.
    @usableFromInline package var place: ViewKey
    /// The distance of that place from the name's hash.
    @usableFromInline package var probeCount: UInt8

    @inlinable @inline(__always)
    package init(key: ZoneKey?, end: SequenceNumber?, place: ViewKey, probeCount: UInt8) {
        self.key = key
        self.end = end
        self.place = place
        self.probeCount = probeCount
    }
}
