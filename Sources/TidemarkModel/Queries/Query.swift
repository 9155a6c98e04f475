// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// A search for records of one type, with their order (Docs/queries.md).
///
/// The parts of a query are nested here because Foundation has its own `Predicate` and
/// `SortDescriptor`.
public struct Query: Hashable, Codable, Sendable {
    private var typeName: Name
    /// The condition that a record must fulfil.
    public var predicate: Predicate
    /// The order of the results: by the first criterion, then by the second, and so on.
    ///
    /// Records that are equal by all of them, and all records if there is none, are in the order of
    /// their names' bytes.
    public var sortDescriptors: [SortDescriptor]

    private enum CodingKeys: String, CodingKey {
        case predicate, sortDescriptors
        case typeName = "recordType"
    }

    /// Creates a query for the records of a type that fulfil a predicate.
    public init(
        recordType: String,
        predicate: Predicate = .always,
        sortDescriptors: [SortDescriptor] = []
    ) {
        typeName = Name(recordType)
        self.predicate = predicate
        self.sortDescriptors = sortDescriptors
    }

    /// The type of the records to find.
    public var recordType: String {
        get { typeName.string }
        set { typeName = Name(newValue) }
    }
}

extension Query: CustomStringConvertible {
    /// The type, the predicate's text, and the order.
    public var description: String {
        var text = recordType
        // Every page with a cursor has a hash of this text.
        text.reserveCapacity(128)
        text += " where "
        predicate.write(to: &text)
        for (index, descriptor) in sortDescriptors.enumerated() {
            text += index == 0 ? " by " : ", "
            text += descriptor.description
        }
        return text
    }
}

extension Query {
    /// One criterion of an order.
    public struct SortDescriptor: Hashable, Codable, Sendable {
        /// The key of the compared values.
        public let key: Key
        /// True if small values come first.
        public let isAscending: Bool
        /// The place from which distances are measured; `nil` to compare the values themselves.
        public let origin: Location?

        /// Creates an order by a value.
        ///
        /// Records without the value come first in an ascending order, last in a descending one.
        public init(_ key: Key, ascending: Bool = true) {
            self.key = key
            isAscending = ascending
            origin = nil
        }

        /// Creates an order by the distance of a location field from a place, nearest first.
        ///
        /// Records without the location come last in both directions. CloudKit has no descending
        /// one.
        public init(_ key: Key, distanceFrom origin: Location, ascending: Bool = true) {
            self.key = key
            isAscending = ascending
            self.origin = origin.coordinates
        }
    }
}

extension Location {
    /// The place without the fix's other attributes.
    ///
    /// Queries read nothing else.
    package var coordinates: Location { Location(latitude: latitude, longitude: longitude) }
}
