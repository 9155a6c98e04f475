// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Where a name is found among the names of its zone, or a zone's among those of its database: the
/// name's hash and, where other names had that place, a few further.
package struct Slot: RawRepresentable, Hashable, Comparable, Sendable {
    /// The slot as a number.
    package let rawValue: UInt64

    @inlinable @inline(__always)
    package init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// The slot that is a number of steps behind this one; after the last comes the first.
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
