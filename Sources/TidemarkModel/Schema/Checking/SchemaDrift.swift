// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The gaps between production's schema and the saves and queries of an app's builds.
///
/// They are recorded before the app fails in production. Gaps are counted per build. The number of
/// entries is bounded, because names come from clients.
public struct SchemaDrift: Hashable, Sendable {
    /// Something that production lacks, or has otherwise.
    public enum Gap: Hashable, Sendable {
        /// A record type that is written.
        case recordType(Name)
        /// A field that is written.
        case field(Name, Name, Schema.DeclaredType)
        /// A field that is written with another type than it has.
        case type(Name, Name, written: Schema.DeclaredType, declared: Schema.DeclaredType)
        /// Indexes that a query uses.
        case indexes(Name, Name, Schema.Indexes)
    }

    /// A gap, and how often a build met it.
    public struct Entry: Hashable, Sendable {
        /// The build; `nil` for clients that do not report one.
        public let build: Name?
        /// The missing part of the schema.
        public let gap: Gap
        /// The number of times that the gap was met.
        public internal(set) var count: Int
        /// The time at which the gap was first met, in milliseconds since 1970.
        public internal(set) var firstSeen: Int64
        /// The time at which the gap was last met, in milliseconds since 1970.
        public internal(set) var lastSeen: Int64
    }

    /// The identity of an entry.
    private struct Key: Hashable {
        var build: Name?
        var gap: Gap
    }

    /// The maximum number of entries.
    public let capacity: Int
    /// The number of times that a gap was met and had no room.
    public private(set) var uncounted = 0
    private var entries: [Key: Entry] = [:]

    /// No drift.
    public init(capacity: Int = 10_000) {
        self.capacity = capacity
    }

    /// True if no gap was met.
    public var isEmpty: Bool { entries.isEmpty && uncounted == 0 }

    /// Counts gaps that a build met at a time; returns those that are new for the build.
    @discardableResult
    public mutating func note(_ gaps: [Gap], build: Name?, at time: Int64) -> [Gap] {
        gaps.filter { gap in
            merge(Entry(build: build, gap: gap, count: 1, firstSeen: time, lastSeen: time))
        }
    }

    /// Adds the counts of another value.
    public mutating func merge(_ other: SchemaDrift) {
        uncounted += other.uncounted
        // In order, so that equal values keep equal entries if there is no room for all.
        for entry in other.sortedEntries { merge(entry) }
    }

    /// Removes the gaps that production's schema has closed.
    public mutating func settle(with production: Schema) {
        entries = entries.filter { !$0.key.gap.isClosed(in: production) }
    }

    /// The gaps of each build, with builds and gaps in the order of their names.
    ///
    /// Clients that do not name their build come first.
    public var byBuild: [(build: Name?, entries: [Entry])] {
        var groups: [(build: Name?, entries: [Entry])] = []
        for entry in sortedEntries {
            if let last = groups.indices.last, groups[last].build == entry.build {
                groups[last].entries.append(entry)
            } else {
                groups.append((entry.build, [entry]))
            }
        }
        return groups
    }

    /// Adds an entry to the present ones; returns true if it is new.
    @discardableResult
    private mutating func merge(_ entry: Entry) -> Bool {
        let key = Key(build: entry.build, gap: entry.gap)
        // The index stays valid, because values are changed in place and no key is added.
        if let index = entries.index(forKey: key) {
            entries.values[index].count += entry.count
            entries.values[index].firstSeen = min(
                entries.values[index].firstSeen,
                entry.firstSeen
            )
            entries.values[index].lastSeen = max(entries.values[index].lastSeen, entry.lastSeen)
            return false
        }
        // Clients choose the names, so without a bound they could fill the memory.
        guard entries.count < capacity else {
            uncounted += entry.count
            return false
        }
        entries[key] = entry
        return true
    }

    private var sortedEntries: [Entry] {
        entries.values.sorted { first, second in
            if first.build != second.build {
                guard let left = first.build else { return true }
                return second.build.map { left < $0 } ?? false
            }
            return first.gap.sortKey.lexicographicallyPrecedes(second.gap.sortKey)
        }
    }
}

extension SchemaDrift.Gap {
    /// Returns true if a schema has the part that this gap reports as missing.
    package func isClosed(in schema: Schema) -> Bool {
        switch self {
        case .recordType(let name):
            schema[name] != nil
        case .field(let recordType, let field, let type):
            // A field that was added with another type still rejects these saves.
            schema[recordType]?[field].map { $0.type.takes(type) } ?? false
        case .type(let recordType, let field, let written, _):
            schema[recordType]?[field].map { $0.type.takes(written) } ?? false
        case .indexes(let recordType, let field, let indexes):
            schema[recordType]?[field].map { $0.indexes.isSuperset(of: indexes) } ?? false
        }
    }

    /// Gaps in the order of record type, field, kind, text.
    fileprivate var sortKey: [Name] {
        switch self {
        case .recordType(let name): [name]
        case .field(let recordType, let field, let type):
            [recordType, field, "field", Name("\(type)")]
        case .type(let recordType, let field, let written, let declared):
            [recordType, field, "type", Name("\(written)"), Name("\(declared)")]
        case .indexes(let recordType, let field, let indexes):
            [recordType, field, "indexes", Name("\(indexes)")]
        }
    }
}

extension SchemaDrift.Gap: CustomStringConvertible {
    /// The missing part in a few words: `field Note.due TIMESTAMP`.
    public var description: String {
        switch self {
        case .recordType(let name): "record type \(name)"
        case .field(let recordType, let field, let type): "field \(recordType).\(field) \(type)"
        case .type(let recordType, let field, let written, let declared):
            "field \(recordType).\(field) is \(declared), written as \(written)"
        case .indexes(let recordType, let field, let indexes):
            "index \(recordType).\(field) \(indexes)"
        }
    }
}

extension Schema.DeclaredType {
    /// Returns true if values of another declared type may be stored under this one.
    fileprivate func takes(_ other: Self) -> Bool {
        switch other {
        case .plain(let type): admits(type, isEncrypted: false)
        case .encrypted(let type): admits(type, isEncrypted: true)
        case .number, .numberList: self == other
        }
    }
}

extension Schema {
    /// Returns the parts that this schema lacks for a save.
    ///
    /// ``RecordChecks`` is a faster way to find out that nothing is missing.
    public func gaps(saving fields: Fields, as recordType: Name) -> [SchemaDrift.Gap] {
        guard let own = self[recordType] else { return [.recordType(recordType)] }
        return fields.compactMap { field in
            guard let type = field.type else { return nil }
            let name = Name(field.name)
            let written: DeclaredType = field.isEncrypted ? .encrypted(type) : .plain(type)
            guard let declared = own[name] else { return .field(recordType, name, written) }
            guard !declared.type.admits(type, isEncrypted: field.isEncrypted) else { return nil }
            return .type(recordType, name, written: written, declared: declared.type)
        }
    }

    /// Returns the parts that this schema lacks for a query of a record type with index
    /// requirements.
    ///
    /// A key that names no field, or an index that a field cannot have, is an error in the query
    /// and not a gap.
    public func gaps(
        querying recordType: Name,
        using requirements: [Query.IndexRequirement]
    ) -> [SchemaDrift.Gap] {
        guard let own = self[recordType] else { return [.recordType(recordType)] }
        var missing: [(field: Name, indexes: Indexes)] = []
        for requirement in requirements {
            let index = requirement.kind.indexes
            guard let key = requirement.key, key.isInSchemas, let field = own[key.schemaName],
                !field.indexes.contains(index), case .used = field.type.use(of: index)
            else { continue }
            if let place = missing.firstIndex(where: { $0.field == field.name }) {
                missing[place].indexes.insert(index)
            } else {
                missing.append((field.name, index))
            }
        }
        return missing.map { .indexes(recordType, $0.field, $0.indexes) }
    }
}
