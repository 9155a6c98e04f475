// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// A zone's latest epoch as requests need it, and where its name is: what stays the same until a
/// zone begins or ends.
package struct ZoneEpoch: Hashable, Sendable {
    /// The epoch's key; `nil` if there never was such a zone.
    package var key: UInt64?
    /// Position of the epoch's end; `nil` while it lives.
    package var end: UInt64?
    /// The place of the zone's name, or the free one where it would go.
    package var place: ViewKey
    /// How far that is from the name's hash.
    package var probeCount: UInt8

    @inlinable @inline(__always)
    package init(key: UInt64?, end: UInt64?, place: ViewKey, probeCount: UInt8) {
        self.key = key
        self.end = end
        self.place = place
        self.probeCount = probeCount
    }
}
