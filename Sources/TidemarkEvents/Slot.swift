// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The place of a record's name in its zone, or of a zone's name in its database.
///
/// This is the name's hash or, if other names had that slot, one of the next slots.
@usableFromInline
package struct Slot: RawRepresentable, Hashable, Comparable, Sendable {
    /// The slot as a number.
    @usableFromInline package let rawValue: UInt64

    @inlinable @inline(__always)
    package init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// Returns the slot that is a number of steps after this one; the first follows the last.
    @inlinable @inline(__always)
    package func probed(_ count: UInt8) -> Slot {
        Slot(rawValue: rawValue &+ UInt64(count))
    }

    // Written out: the comparison that the compiler makes is not inlined in other targets.
    @inlinable @inline(__always)
    package static func == (lhs: Slot, rhs: Slot) -> Bool { lhs.rawValue == rhs.rawValue }

    @inlinable @inline(__always)
    package static func < (lhs: Slot, rhs: Slot) -> Bool { lhs.rawValue < rhs.rawValue }
}

extension Slot: ExpressibleByIntegerLiteral {
    @inlinable @inline(__always)
    package init(integerLiteral value: UInt64) {
        rawValue = value
    }
}
