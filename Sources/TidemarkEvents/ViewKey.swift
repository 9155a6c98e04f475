// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkLog

/// A key: two words, ordered by the first, then the second (stored big-endian).
@usableFromInline
package struct ViewKey: Hashable, Comparable, Sendable {
    /// The more significant word: a zone, a database, or half of a hash.
    @usableFromInline package var high: UInt64
    /// The less significant word.
    @usableFromInline package var low: UInt64

    @inlinable @inline(__always)
    package init(_ high: UInt64, _ low: UInt64) {
        self.high = high
        self.low = low
    }

    /// The place of a name in a zone.
    @inlinable @inline(__always)
    package init(zone: ZoneKey, slot: Slot) {
        self.init(zone.rawValue, slot.rawValue)
    }

    /// The place of a position in a zone.
    @inlinable @inline(__always)
    package init(zone: ZoneKey, sequence: SequenceNumber) {
        self.init(zone.rawValue, sequence.rawValue)
    }

    /// The zone, for a key whose first word is a zone's key.
    @inlinable @inline(__always)
    package var zone: ZoneKey { ZoneKey(rawValue: high) }

    /// The slot, for a key whose second word is a slot.
    @inlinable @inline(__always)
    package var slot: Slot { Slot(rawValue: low) }

    /// The position, for a key whose second word is a position.
    @inlinable @inline(__always)
    package var sequence: SequenceNumber { SequenceNumber(rawValue: low) }

    @inlinable @inline(__always)
    package static func < (lhs: ViewKey, rhs: ViewKey) -> Bool {
        // Must agree with the order of the stored bytes (`Docs/formats/views.md`, "Keys").
        lhs.high == rhs.high ? lhs.low < rhs.low : lhs.high < rhs.high
    }

    // Written out: the comparison that the compiler makes is not inlined in other targets.
    @inlinable @inline(__always)
    package static func == (lhs: ViewKey, rhs: ViewKey) -> Bool {
        lhs.high == rhs.high && lhs.low == rhs.low
    }

    @inlinable @inline(__always)
    package func hash(into hasher: inout Hasher) {
        hasher.combine(high)
        hasher.combine(low)
    }
}
