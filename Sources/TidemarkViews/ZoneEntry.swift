// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
package import TidemarkLog
import TidemarkModel

/// The view index's entry of a zone: the value under its key in the table `zones`.
package struct ZoneEntry: Hashable, Sendable {
    /// The identity of the zone.
    package var identity: ZoneIdentity
    /// The place of its name in the table of zone names.
    package var place: ViewKey
    /// The creation time, in milliseconds since 1970.
    package var createdTime: Int64
    /// The position of its last event.
    package var head: SequenceNumber
    /// The number of its records.
    package var liveCount: Int64 = 0
    /// The number of its tombstones.
    package var tombstoneCount: Int64 = 0
    /// The position up to which tombstones may have been dropped; tokens below it are expired.
    package var tombstoneHorizon: SequenceNumber = 0
    /// The reason and position of its end; `nil` while the zone is live.
    package var end: OverlayZone.End?
    /// True if a record of the zone ever had a slot other than its name's hash.
    package var isProbed = false

    package init(_ creation: ZoneCreation, key: ZoneKey) {
        identity = creation.identity
        place = creation.place
        createdTime = creation.time
        head = key.creation
    }

    /// The format's version, the first byte of every entry.
    private static let version: UInt8 = 1
    private static let identityOffset = 74

    /// The entry's bytes in the view index: fields at fixed offsets, and the identity at the end.
    package var bytes: [UInt8] {
        // The second byte is 0 while the zone is live. Otherwise it is the reason of its end plus
        // one.
        var bytes: [UInt8] = [Self.version, end.map { $0.reason.rawValue + 1 } ?? 0]
        bytes.append(integer: place.high)
        bytes.append(integer: place.low)
        bytes.append(integer: createdTime)
        bytes.append(integer: head.rawValue)
        bytes.append(integer: liveCount)
        bytes.append(integer: tombstoneCount)
        bytes.append(integer: tombstoneHorizon.rawValue)
        bytes.append(integer: end?.sequence.rawValue ?? 0)
        bytes.append(integer: UInt64(isProbed ? 1 : 0))
        bytes.append(contentsOf: identity.bytes)
        return bytes
    }

    /// Reads the bytes that `bytes` returned.
    package init(_ value: ViewValue, key: ZoneKey) throws(ViewIndexError) {
        guard case .bytes(let bytes) = value else { throw Self.damage(key) }
        let span = bytes.span.bytes
        var offset = Self.identityOffset
        // Another version is damage: the index is a cache, and is computed again.
        guard span.byteCount > offset, span.byte(at: 0) == Self.version,
            let identity = ZoneIdentity(span, at: &offset), offset == span.byteCount
        else { throw Self.damage(key) }
        self.identity = identity
        place = ViewKey(span.integer(at: 2), span.integer(at: 10))
        createdTime = span.integer(at: 18)
        head = span.sequence(at: 26)
        liveCount = span.integer(at: 34)
        tombstoneCount = span.integer(at: 42)
        tombstoneHorizon = span.sequence(at: 50)
        isProbed = span.byte(at: 66) != 0
        if span.byte(at: 1) != 0 {
            guard let reason = ZoneDeletionReason(rawValue: span.byte(at: 1) - 1) else {
                throw Self.damage(key)
            }
            end = OverlayZone.End(sequence: span.sequence(at: 58), reason: reason)
        }
    }

    private static func damage(_ key: ZoneKey) -> ViewIndexError {
        ViewIndexError(
            .damaged,
            "The view index's entry for zone \(key) is not of the expected form; the index is "
                + "discarded and rebuilt from the log."
        )
    }
}

extension ViewKey {
    /// Returns the key of a zone in the table `zones`.
    package static func zone(_ key: ZoneKey) -> ViewKey { ViewKey(key.rawValue, 0) }
}
