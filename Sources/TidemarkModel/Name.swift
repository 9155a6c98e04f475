// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// A name that is its UTF-8 bytes.
///
/// Swift compares strings by Unicode equivalence: a composed and a decomposed "é" are equal. Names
/// of records, zones, types, fields and users are compared by their UTF-8 bytes, for equality and
/// for order. Every type that stores a name uses this type, so that the conformances that the
/// compiler synthesizes are right.
public struct Name: Sendable {
    /// The name as text.
    public let string: String

    /// Wraps text of any kind, whether or not it is a valid name for something.
    @inlinable
    public init(_ string: String) {
        self.string = string
    }

    /// The number of bytes of the name in UTF-8.
    @inlinable
    public var byteCount: Int { string.utf8.count }

    /// Calls a closure with the name's UTF-8 bytes, without copying them where possible.
    @inlinable
    public func withBytes<Result>(
        _ body: (UnsafeBufferPointer<UInt8>) -> Result
    ) -> Result {
        if let result = string.utf8.withContiguousStorageIfAvailable(body) { return result }
        return Array(string.utf8).withUnsafeBufferPointer(body)
    }
}

extension Name {
    /// The first byte of the name; `nil` if the name is empty.
    @inlinable
    package var firstByte: UInt8? { withBytes { $0.first } }

    /// Returns true if the name has these bytes.
    ///
    /// O(bytes).
    package func hasBytes(_ span: RawSpan) -> Bool {
        withBytes { mine in
            span.withUnsafeBytes { ByteEquality.areEqual(UnsafeRawBufferPointer(mine), $0) }
        }
    }
}

extension Name: Hashable {
    /// Returns true if two names have the same bytes.
    @inlinable
    public static func == (lhs: Name, rhs: Name) -> Bool {
        if lhs.hasSameStorage(as: rhs) { return true }
        return lhs.byteCount == rhs.byteCount && lhs.hasSameBytes(as: rhs)
    }

    @usableFromInline
    func hasSameBytes(as other: Name) -> Bool {
        withBytes { mine in
            other.withBytes { theirs in
                ByteEquality.areEqual(UnsafeRawBufferPointer(mine), UnsafeRawBufferPointer(theirs))
            }
        }
    }

    /// Returns true if both names are the same short bytes or share their storage.
    ///
    /// Strings of up to 15 bytes are their own storage, so this answers most comparisons in which
    /// the names are equal.
    @inlinable @inline(__always)
    package func hasSameStorage(as other: Name) -> Bool {
        withUnsafeBytes(of: string) { mine in
            withUnsafeBytes(of: other.string) { theirs in
                mine.count == 16
                    && mine.load(as: UInt64.self) == theirs.load(as: UInt64.self)
                    && mine.load(fromByteOffset: 8, as: UInt64.self)
                        == theirs.load(fromByteOffset: 8, as: UInt64.self)
            }
        }
    }

    /// Hashes the bytes.
    public func hash(into hasher: inout Hasher) {
        withBytes { bytes in hasher.combine(bytes: UnsafeRawBufferPointer(bytes)) }
        // No UTF-8 has this byte, so names that are hashed one after another do not run together.
        hasher.combine(0xFF as UInt8)
    }
}

extension Name: Comparable {
    /// Returns true if the first name sorts before the second, as bytes.
    public static func < (lhs: Name, rhs: Name) -> Bool {
        lhs.withBytes { left in
            rhs.withBytes { right in left.lexicographicallyPrecedes(right) }
        }
    }
}

extension Name: ExpressibleByStringLiteral, CustomStringConvertible {
    /// Wraps a literal.
    public init(stringLiteral value: String) {
        self.init(value)
    }

    /// The name as text.
    public var description: String { string }
}
