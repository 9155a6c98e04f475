// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkModel

/// The name of a record in its zone, in a typed record.
///
/// A property of this type is not a field: it is the record's name.
public struct RecordName: Sendable {
    /// The name, compared by its bytes.
    package let name: Name

    /// Wraps a name.
    public init(_ text: String) {
        name = Name(text)
    }

    /// The name.
    public var text: String { name.string }

    /// Returns a unique name: a random UUID.
    public static func unique() -> RecordName {
        var random = SystemRandomNumberGenerator()
        return unique(using: &random)
    }

    /// Creates a name from 122 random bits, in the form of a UUID of version 4.
    package static func unique(using random: inout some RandomNumberGenerator) -> RecordName {
        RecordName(UniqueName.make(using: &random))
    }
}

extension RecordName: Hashable, Comparable {
    /// Returns true if the first sorts before the second, as bytes.
    public static func < (lhs: RecordName, rhs: RecordName) -> Bool { lhs.name < rhs.name }
}

extension RecordName: ExpressibleByStringLiteral, ExpressibleByStringInterpolation {
    /// Wraps a literal.
    public init(stringLiteral value: String) {
        self.init(value)
    }
}

extension RecordName: CustomStringConvertible {
    /// The name.
    public var description: String { text }
}

extension RecordName: Codable {
    /// Reads the name as one text.
    public init(from decoder: any Decoder) throws {
        self.init(try decoder.singleValueContainer().decode(String.self))
    }

    /// Writes the name as one text.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}
