// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import GRDB
import TidemarkModel

/// The kind of the values in a column or a list's table.
///
/// Raw values are stored, and define the sort order of different kinds.
enum ColumnKind: Int64, CaseIterable, Sendable {
    case number = 1
    case time = 2
    case text = 3
    case reference = 4
    case location = 5
    case numberList = 17
    case timeList = 18
    case textList = 19
    case referenceList = 20
    case locationList = 21
    /// Bytes and assets, of which only the presence is stored.
    case opaque = 32
    case opaqueList = 33

    init(_ type: FieldType) {
        switch type {
        case .int64, .double: self = .number
        case .timestamp: self = .time
        case .string: self = .text
        case .reference: self = .reference
        case .location: self = .location
        case .int64List, .doubleList: self = .numberList
        case .timestampList: self = .timeList
        case .stringList: self = .textList
        case .referenceList: self = .referenceList
        case .locationList: self = .locationList
        case .bytes, .asset: self = .opaque
        case .bytesList, .assetList: self = .opaqueList
        }
    }

    var isList: Bool { rawValue >= 17 && self != .opaque }

    /// True if the elements have a table.
    var hasTable: Bool { isList && self != .opaqueList }

    /// The kind of a list of such values.
    var list: ColumnKind { ColumnKind(rawValue: rawValue + 16) ?? self }
}

/// A column for values of one kind in one field of one record type.
///
/// A field whose type was changed, as by an import, has several columns; a record has a value in at
/// most one.
struct Column: Sendable {
    let id: Int64
    let fieldName: Name
    /// The field's name as bytes, for comparison with the bytes of a record.
    let fieldNameBytes: [UInt8]
    let kind: ColumnKind

    init(id: Int64, fieldName: Name, kind: ColumnKind) {
        self.id = id
        self.fieldName = fieldName
        fieldNameBytes = Array(fieldName.string.utf8)
        self.kind = kind
    }

    /// The name of the column in the type's table.
    ///
    /// For a list, the column holds the number of elements.
    var name: String { "c\(id)" }
    /// The table of a list's elements.
    var listTable: String { "l\(id)" }
    /// The table of a text's words.
    var wordTable: String { "w\(id)" }
    /// The table of places.
    var placeTable: String { "p\(id)" }
}

/// The table of a record type.
struct TypeTable: Sendable {
    let id: Int64
    /// The container whose records it has: each has types of its own.
    let container: UInt64
    let typeName: Name
    /// The columns in ascending order of names, then of kinds.
    var columns: [Column] = []
    /// The number of records.
    var rowCount = 0

    var name: String { "t\(id)" }

    /// The maximum number of columns, including those of lists: SQLite allows 2,000 with the system
    /// columns.
    static let columnLimit = 1_900

    /// True if some fields may have no column, so that their values are only in the records'
    /// bodies.
    var isFull: Bool { columns.count >= Self.columnLimit }

    /// Returns the columns of a field, in ascending order of kinds.
    func columns(of field: Name) -> ArraySlice<Column> {
        // The columns of a field are adjacent, because `insert` keeps them sorted by name.
        let start = columns.partitioningIndex { $0.fieldName >= field }
        let end = columns[start...].firstIndex { $0.fieldName != field } ?? columns.count
        return columns[start..<end]
    }

    /// Returns the column for values of a kind; `nil` if no record ever had one.
    func column(of field: Name, _ kind: ColumnKind) -> Column? {
        columns(of: field).first { $0.kind == kind }
    }
}

/// The existing tables and indexes, and the position up to which the log has been applied.
struct Catalog: Sendable {
    /// Incremented whenever tables or meanings change: an index of another format is emptied.
    static let format = 8

    var position = IndexPosition()
    var types: [TypeTable] = []
    /// The indexes that queries needed, by name, each with the number of its rows for deleted
    /// records.
    ///
    /// Full-text and location indexes keep such rows until there are too many: row numbers are
    /// unique, so that they match no record.
    var made: [String: Int] = [:]
    /// The indexes of the types of each container.
    private var typesOfContainers: [UInt64: [Int]] = [:]
    private var pageByteCount = 0
    private var pageCount = 0
    /// The length of the database.
    var byteCount: Int { pageCount * pageByteCount }

    /// Returns the indexes of a container's types in ``types``; without a container, those of all.
    func indexes(of container: UInt64?) -> [Int] {
        container.map { typesOfContainers[$0] ?? [] } ?? Array(types.indices)
    }

    /// Returns a type's table; `nil` if no record ever had the type.
    ///
    /// O(types of the container), which are few.
    func type(named name: Name, of container: UInt64) -> TypeTable? {
        indexes(of: container).lazy.map { types[$0] }.first { $0.typeName == name }
    }

    /// The number of columns of each type that has more than in an earlier catalog.
    func columnCounts(since known: Catalog) -> [Int64: Int] {
        var counts: [Int64: Int] = [:]
        for (index, type) in types.enumerated() {
            let old = index < known.types.count ? known.types[index].columns.count : 0
            if type.columns.count > old { counts[type.id] = type.columns.count }
        }
        return counts
    }

    /// Returns the index of a type's table in ``types``; `nil` if there is none.
    func index(ofType name: RawSpan, of container: UInt64?) -> Int? {
        for index in indexes(of: container) where types[index].typeName.hasBytes(name) {
            return index
        }
        return nil
    }

    /// Reads the catalog, or creates a new one.
    static func open(_ database: Database, identity: String) throws -> Catalog {
        let wanted = "\(format) \(identity)"
        if try database.tableExists("state") {
            let row = try Row.fetchOne(database, sql: "SELECT * FROM state")
            if let row, try row.decode(String?.self, forColumn: "identity") == wanted {
                let catalog = try read(database, row)
                // Rows without a position are from an index whose build was not completed.
                if catalog.position.sequence > 0 || catalog.types.isEmpty { return catalog }
            }
            // Inside the transaction of the open: after an interruption, the old index is still
            // there, and is cleared again.
            try clear(database)
        }
        try database.execute(
            sql: """
                CREATE TABLE state(
                    identity TEXT NOT NULL, incarnation INTEGER NOT NULL, sequence INTEGER NOT NULL,
                    received INTEGER NOT NULL
                );
                CREATE TABLE types(
                    id INTEGER PRIMARY KEY, container INTEGER NOT NULL, name BLOB NOT NULL,
                    rows INTEGER NOT NULL
                );
                CREATE TABLE columns(
                    id INTEGER PRIMARY KEY, type INTEGER NOT NULL, name BLOB NOT NULL,
                    kind INTEGER NOT NULL
                );
                CREATE TABLE bodies(record INTEGER PRIMARY KEY, body BLOB NOT NULL);
                CREATE TABLE made(name TEXT PRIMARY KEY, stale INTEGER NOT NULL);
                """
        )
        try database.execute(sql: "INSERT INTO state VALUES (?, 0, 0, 0)", arguments: [wanted])
        return Catalog()
    }

    private static func clear(_ database: Database) throws {
        // Virtual tables first: their shadow tables are removed with them.
        for pattern in ["CREATE VIRTUAL%", "CREATE TABLE%"] {
            let names = try String.fetchAll(
                database,
                sql: "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE ?",
                arguments: [pattern]
            )
            for name in names { try database.execute(sql: "DROP TABLE IF EXISTS \"\(name)\"") }
        }
    }

    private static func read(_ database: Database, _ state: Row) throws -> Catalog {
        var catalog = Catalog()
        catalog.position = IndexPosition(
            incarnation: UInt64(bitPattern: try state.decode(forColumn: "incarnation")),
            sequence: UInt64(bitPattern: try state.decode(forColumn: "sequence")),
            received: try state.decode(forColumn: "received")
        )
        func name(_ row: Row) throws -> Name {
            Name(String(decoding: try row.decode(Data.self, forColumn: "name"), as: UTF8.self))
        }
        for row in try Row.fetchAll(database, sql: "SELECT * FROM types ORDER BY id") {
            _ = catalog.append(
                TypeTable(
                    id: try row.decode(forColumn: "id"),
                    container: UInt64(bitPattern: try row.decode(forColumn: "container")),
                    typeName: try name(row),
                    rowCount: try count("rows", row)
                )
            )
        }
        for row in try Row.fetchAll(database, sql: "SELECT id, type, name, kind FROM columns") {
            let type = try row.decode(Int64.self, forColumn: "type")
            guard let kind = ColumnKind(rawValue: try row.decode(forColumn: "kind")),
                let index = catalog.types.firstIndex(where: { $0.id == type })
            else { continue }
            let id = try row.decode(Int64.self, forColumn: "id")
            catalog.types[index].insert(Column(id: id, fieldName: try name(row), kind: kind))
        }
        for row in try Row.fetchAll(database, sql: "SELECT name, stale FROM made") {
            catalog.made[try row.decode(forColumn: "name")] = try count("stale", row)
        }
        return catalog
    }

    /// Reads a number of rows, which is added to others.
    private static func count(_ column: String, _ row: Row) throws -> Int {
        let count = try row.decode(Int.self, forColumn: column)
        guard (0...1 << 40).contains(count) else {
            throw QueryIndexError(.damaged, "The query index counts \(count) \(column).")
        }
        return count
    }
}

extension Catalog {
    /// Reads the length of the database.
    mutating func measure(_ database: Database) throws {
        func read(_ sql: String) throws -> Int {
            let statement = try PreparedStatement(sql, database)
            defer { statement.reset() }
            return try statement.step() ? Int(statement.int64(at: 0)) : 0
        }
        // The length of a page never changes.
        if pageByteCount == 0 { pageByteCount = try read("PRAGMA page_size") }
        pageCount = try read("PRAGMA page_count")
    }

    /// Creates the table of a type, and returns its index in ``types``.
    mutating func addType(
        _ name: Name,
        of container: UInt64,
        _ database: Database
    ) throws -> Int {
        let statement = try PreparedStatement(
            "INSERT INTO types(container, name, rows) VALUES (?, ?, 0)",
            database
        )
        statement.bind(.int(Int64(bitPattern: container)), at: 1)
        statement.bind(text: name.string, at: 2)
        try statement.run()
        let table = TypeTable(
            id: database.lastInsertedRowID,
            container: container,
            typeName: name
        )
        try database.execute(
            sql: """
                CREATE TABLE \(table.name)(
                    sequence INTEGER PRIMARY KEY, zone INTEGER NOT NULL, name BLOB NOT NULL,
                    created INTEGER NOT NULL, modified INTEGER NOT NULL, creator BLOB, modifier BLOB,
                    parent BLOB, share BLOB
                )
                """
        )
        return append(table)
    }

    /// Adds a column to a type.
    mutating func addColumn(
        _ field: Name,
        _ kind: ColumnKind,
        toTypeAt index: Int,
        _ database: Database
    ) throws {
        let statement = try PreparedStatement(
            "INSERT INTO columns(type, name, kind) VALUES (?, ?, ?)",
            database
        )
        statement.bind(.int(types[index].id), at: 1)
        statement.bind(text: field.string, at: 2)
        statement.bind(.int(kind.rawValue), at: 3)
        try statement.run()
        let column = Column(id: database.lastInsertedRowID, fieldName: field, kind: kind)
        // No declared type: values are stored unchanged.
        try database.execute(
            sql: "ALTER TABLE \(types[index].name) ADD COLUMN \(column.name)"
        )
        if kind.hasTable {
            try database.execute(
                sql: """
                    CREATE TABLE \(column.listTable)(
                        record INTEGER NOT NULL, position INTEGER NOT NULL, zone INTEGER NOT NULL,
                        value, PRIMARY KEY(record, position)
                    ) WITHOUT ROWID
                    """
            )
        }
        types[index].insert(column)
    }

    /// Adds a table that exists, and returns its index.
    private mutating func append(_ table: TypeTable) -> Int {
        types.append(table)
        typesOfContainers[table.container, default: []].append(types.count - 1)
        return types.count - 1
    }
}

extension TypeTable {
    fileprivate mutating func insert(_ column: Column) {
        let index = columns.partitioningIndex {
            $0.fieldName == column.fieldName
                ? $0.kind.rawValue >= column.kind.rawValue : $0.fieldName >= column.fieldName
        }
        columns.insert(column, at: index)
    }
}

extension Array {
    /// Returns the first index at which a condition holds, if the condition also holds for all
    /// later elements.
    fileprivate func partitioningIndex(where holds: (Element) -> Bool) -> Int {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            if holds(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
