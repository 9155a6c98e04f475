// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The identity of a zone in events: the position of the event that created it.
///
/// A zone that is created again has another key. A key is opaque to the log; zero stands for the
/// store itself.
@usableFromInline
package struct ZoneKey: RawRepresentable, Hashable, Comparable, Sendable {
    /// The key as a number.
    @usableFromInline package let rawValue: UInt64

    @inlinable @inline(__always)
    package init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// The key of the zone that the event at a position creates.
    @inlinable @inline(__always)
    package init(createdAt sequence: SequenceNumber) {
        rawValue = sequence.rawValue
    }

    /// The position of the event that created the zone.
    @inlinable @inline(__always)
    package var creation: SequenceNumber { SequenceNumber(rawValue: rawValue) }

    // Written out: the comparison that the compiler makes is not inlined in other targets.
    @inlinable @inline(__always)
    package static func == (lhs: ZoneKey, rhs: ZoneKey) -> Bool { lhs.rawValue == rhs.rawValue }

    @inlinable @inline(__always)
    package static func < (lhs: ZoneKey, rhs: ZoneKey) -> Bool { lhs.rawValue < rhs.rawValue }
}

extension ZoneKey: CustomStringConvertible, ExpressibleByIntegerLiteral {
    /// The number in decimal.
    @usableFromInline package var description: String { String(rawValue) }

    @inlinable @inline(__always)
    package init(integerLiteral value: UInt64) {
        rawValue = value
    }
}
