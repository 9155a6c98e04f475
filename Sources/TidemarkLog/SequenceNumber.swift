// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The position of one event in a store's log.
///
/// Starts at 1, is dense when written, and is never reused. Zero means "before every event": the
/// sequence number of an empty log's end, and of a record version that does not exist.
public struct SequenceNumber: RawRepresentable, Hashable, Comparable, Codable, Sendable {
    /// The position as a number.
    public let rawValue: UInt64

    /// Makes a sequence number of any value, zero included.
    public init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// Before every event.
    public static let zero = SequenceNumber(rawValue: 0)

    /// The position after this one.
    public var next: SequenceNumber { SequenceNumber(rawValue: rawValue + 1) }

    /// The position before this one, which is not zero.
    package var previous: SequenceNumber { SequenceNumber(rawValue: rawValue - 1) }

    /// Orders positions.
    public static func < (lhs: SequenceNumber, rhs: SequenceNumber) -> Bool {
        lhs.rawValue < rhs.rawValue
    }
}

extension SequenceNumber: CustomStringConvertible {
    /// The number in decimal.
    public var description: String { String(rawValue) }
}

extension SequenceNumber: ExpressibleByIntegerLiteral {
    /// The position of this number.
    public init(integerLiteral value: UInt64) {
        self.init(rawValue: value)
    }
}
