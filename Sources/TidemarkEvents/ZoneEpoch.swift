// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkLog

/// A zone's latest epoch as requests need it, and where its name is: what stays the same until a
/// zone begins or ends.
package struct ZoneEpoch: Hashable, Sendable {
    /// The epoch's key; `nil` if there never was such a zone.
    package var key: ZoneKey?
    /// Position of the epoch's end; `nil` while it lives.
    package var end: SequenceNumber?
    /// The place of the zone's name, or the free one where it would go.
    package var place: ViewKey
    /// How far that is from the name's hash.
    package var probeCount: UInt8

    @inlinable @inline(__always)
    package init(key: ZoneKey?, end: SequenceNumber?, place: ViewKey, probeCount: UInt8) {
        self.key = key
        self.end = end
        self.place = place
        self.probeCount = probeCount
    }
}
