// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
package import TidemarkLog
package import TidemarkModel
import TidemarkViews

/// One epoch of a zone, or one audience, from its beginning to its end.
package struct PastZone: Hashable, Sendable {
    /// Its key.
    package let key: ZoneKey
    /// The identity of the zone.
    package let identity: ZoneIdentity
    /// Position of its end; `nil` while it lives.
    package let end: SequenceNumber?
    /// The reason why it ended; `nil` while it lives.
    package let endReason: ZoneDeletionReason?
    /// Position of its last event.
    let head: SequenceNumber
    /// The position up to which tombstones may have been forgotten.
    let tombstoneHorizon: SequenceNumber

    init(_ standing: ZoneStanding) {
        key = standing.key
        identity = standing.identity
        end = standing.end?.sequence
        endReason = standing.end?.reason
        head = standing.head
        tombstoneHorizon = standing.tombstoneHorizon
    }

    /// Returns true if the zone had begun and had not ended after an event.
    package func isThere(at position: SequenceNumber) -> Bool {
        key.creation <= position && end.map { $0 > position } ?? true
    }
}
