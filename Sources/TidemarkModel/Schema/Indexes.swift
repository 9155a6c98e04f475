// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension Schema {
    /// The kinds of queries that can use a field.
    ///
    /// Raw values are on disk.
    public struct Indexes: OptionSet, Hashable, Codable, Sendable {
        /// One bit for each index.
        public let rawValue: UInt8

        /// Wraps bits.
        @inlinable
        public init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        /// Equality, membership, distance.
        @inlinable public static var queryable: Indexes { Indexes(rawValue: 1) }
        /// Order and ranges.
        @inlinable public static var sortable: Indexes { Indexes(rawValue: 2) }
        /// An index for the words of a text.
        @inlinable public static var searchable: Indexes { Indexes(rawValue: 4) }

        /// All three.
        static let all: Indexes = [.queryable, .sortable, .searchable]

        /// Each index that is here, in the order in which CloudKit exports them.
        var each: [Indexes] {
            [.queryable, .searchable, .sortable].filter(contains)
        }
    }
}

extension Schema.Indexes: CustomStringConvertible {
    /// The indexes in the schema language: `QUERYABLE SEARCHABLE SORTABLE`.
    public var description: String { each.map(\.word).joined(separator: " ") }

    private var word: String {
        switch self {
        case .queryable: "QUERYABLE"
        case .searchable: "SEARCHABLE"
        default: "SORTABLE"
        }
    }
}

extension Schema.DeclaredType {
    /// The result of declaring an index on a field of a type.
    enum IndexUse: Hashable {
        /// Queries use it.
        case used
        /// CloudKit accepts it and no query can use it, for this reason.
        case idle(String)
        /// It is refused, for this reason.
        case refused(String)
    }

    /// The type of the values for checking predicates; `nil` for types that predicates cannot read.
    package var queriedType: FieldType? {
        switch self {
        case .plain(let type): type
        case .encrypted: nil
        case .number: .double
        case .numberList: .doubleList
        }
    }

    /// Returns the result of declaring one index on a field of this type.
    ///
    /// Idle indexes occur in schemas that CloudKit exports, most often in those of Core Data's
    /// mirroring.
    func use(of index: Schema.Indexes) -> IndexUse {
        if isEncrypted { return .refused("the store cannot read what a client encrypted") }
        // A list has the indexes of its elements, except an order.
        // The order of the cases matters: BYTES is refused for SEARCHABLE, and idle for the two
        // others.
        switch (element ?? self, index) {
        case (.plain(.asset), _):
            return .refused("an asset's bytes are not part of the record")
        case (.plain(.string), .searchable): return .used
        case (_, .searchable): return .refused("only texts can be searched for words")
        case (.plain(.bytes), _): return .idle("no predicate can name a field of bytes")
        case (_, .sortable) where element != nil: return .idle("lists have no order")
        default: return .used
        }
    }

    /// The indexes that a new field gets automatically.
    ///
    /// They are all those that queries use, except the order of references, which is rarely needed.
    public var automaticIndexes: Schema.Indexes {
        if self == .plain(.reference) { return .queryable }
        return Schema.Indexes(Schema.Indexes.all.each.filter { use(of: $0) == .used })
    }
}
