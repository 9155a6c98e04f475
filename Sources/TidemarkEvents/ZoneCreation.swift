// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// What a zone's creation says about it.
package struct ZoneCreation: Hashable, Sendable {
    /// Which zone it is.
    package var identity: ZoneIdentity
    /// Database key and zone slot: where its name is in the table of zone names.
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
