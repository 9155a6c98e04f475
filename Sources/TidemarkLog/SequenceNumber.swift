// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The position of one event in a store's log.
///
/// Starts at 1, is dense when written, and is never reused. Zero is before every event: it is the
/// last sequence number of an empty log, and the version of a record that does not exist.
public struct SequenceNumber: RawRepresentable, Hashable, Comparable, Codable, Sendable {
    /// The position as a number.
    public let rawValue: UInt64

    /// Makes a sequence number of any value, zero included.
    @inlinable
    public init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// Before every event.
    @inlinable
    public static var zero: SequenceNumber { SequenceNumber(rawValue: 0) }

    /// After every event: the upper bound of a range of all events.
    @inlinable
    package static var max: SequenceNumber { SequenceNumber(rawValue: .max) }

    /// The position after this one.
    @inlinable
    public var next: SequenceNumber { SequenceNumber(rawValue: rawValue + 1) }

    /// The position before this one, which is not zero.
    @inlinable
    package var previous: SequenceNumber { SequenceNumber(rawValue: rawValue - 1) }

    /// Orders positions.
    @inlinable
    public static func < (lhs: SequenceNumber, rhs: SequenceNumber) -> Bool {
        lhs.rawValue < rhs.rawValue
    }

    // Written out: the comparison that the compiler makes is not inlined in other targets.
    /// Returns true if two positions are equal.
    @inlinable
    public static func == (lhs: SequenceNumber, rhs: SequenceNumber) -> Bool {
        lhs.rawValue == rhs.rawValue
    }

    /// Returns the position that is a number of events after another one.
    @inlinable
    package static func + (first: SequenceNumber, count: Int) -> SequenceNumber {
        SequenceNumber(rawValue: first.rawValue + UInt64(count))
    }

    /// Returns the number of positions from one, inclusive, to a later one, exclusive.
    @inlinable
    package static func - (end: SequenceNumber, first: SequenceNumber) -> UInt64 {
        end.rawValue - first.rawValue
    }
}

extension SequenceNumber: CustomStringConvertible {
    /// The number in decimal.
    public var description: String { String(rawValue) }
}

extension SequenceNumber: ExpressibleByIntegerLiteral {
    /// The position of this number.
    @inlinable
    public init(integerLiteral value: UInt64) {
        self.init(rawValue: value)
    }
}
