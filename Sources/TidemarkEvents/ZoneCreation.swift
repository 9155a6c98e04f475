// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The content of a zone's creation event.
package struct ZoneCreation: Hashable, Sendable {
    /// The identity of the zone.
    package var identity: ZoneIdentity
    /// The place of the zone's name in the table of zone names: database key and zone slot.
    package var place: ViewKey
    /// The time of its commit, in milliseconds since 1970.
    package var time: Int64

    @inlinable @inline(__always)
    package init(identity: ZoneIdentity, place: ViewKey, time: Int64) {
        self.identity = identity
        self.place = place
        self.time = time
    }
}
