// Tidemark
// SPDX-License-Identifier: Apache-2.0

import GRDB
import TidemarkModel

/// Writes records into tables, inside one transaction.
struct RowWriter {
    private let database: Database
    /// What there is after what was written.
    private(set) var catalog: Catalog
    /// A statement for each type that was written to, by the type's place in the catalog.
    private var inserts: [PreparedStatement?] = []
    /// What full-text indexes are still to be told, by the column's id.
    private var wordChanges: [Column.ID: WordChanges] = [:]
    /// Fields of the record being written that have something beside their column.
    private var beside: [(Fields.Element, Column)] = []

    /// Begins where a catalog is, which must be what is on disk.
    init(_ database: Database, _ catalog: Catalog) throws {
        self.database = database
        self.catalog = catalog
        let state = try PreparedStatement("SELECT sequence FROM state", database)
        defer { state.reset() }
        guard try state.step(),
            UInt64(bitPattern: state.int64(at: 0)) == catalog.position.sequence
        else { throw QueryIndexError(.damaged, "Somebody else has written the query index.") }
    }

    /// Takes in one change.
    mutating func apply(_ change: IndexedChange) throws {
        switch change.content {
        case .saved(let body):
            let type = Name(body.recordType)
            let index = try catalog.index(ofType: type, database)
            if change.previous > 0 { try remove(change.previous, from: index) }
            try insert(body, change, at: index)
        case .deleted(let recordType):
            let index = recordType.flatMap { name in
                catalog.types.firstIndex { $0.typeName == Name(name) }
            }
            if change.previous > 0 { try remove(change.previous, from: index) }
        case .zoneDeleted: try removeZone(change.zone)
        }
    }

    /// Notes how far the log has been taken in.
    mutating func finish(through position: IndexPosition) throws {
        for changes in wordChanges.values { try changes.write(database) }
        guard position.sequence > catalog.position.sequence else { return }
        let statement = try PreparedStatement(
            "UPDATE state SET incarnation = ?, sequence = ?, received = ?",
            database
        )
        statement.bind([
            .int(Int64(bitPattern: position.incarnation)),
            .int(Int64(bitPattern: position.sequence)), .int(position.received),
        ])
        try statement.run()
        catalog.position = position
    }
}

// MARK: Inserting

extension RowWriter {
    /// System columns, in the order of ``Catalog/index(ofType:_:)``.
    private static let systemColumns =
        "sequence, zone, name, created, modified, creator, modifier, parent, share"
    private static let systemColumnCount = 9

    private mutating func insert(
        _ body: RecordBody,
        _ change: IndexedChange,
        at index: Int
    ) throws {
        let fields = body.fields
        if try bind(fields, at: index) == false {
            try addColumns(for: fields, at: index)
            guard try bind(fields, at: index) else { return }
        }
        let statement = try insertStatement(at: index)
        statement.bind(.int(Int64(bitPattern: change.sequence)), at: 1)
        statement.bind(.int(Int64(bitPattern: change.zone)), at: 2)
        statement.bind(bytes: body.recordNameBytes, at: 3)
        let (created, modified) = (body.created, body.modified)
        statement.bind(.int(created.time), at: 4)
        statement.bind(.int(modified.time), at: 5)
        if let user = created.user { statement.bind(text: user.userRecordName, at: 6) }
        if let user = modified.user { statement.bind(text: user.userRecordName, at: 7) }
        if let name = body.parentName { statement.bind(text: name, at: 8) }
        if let name = body.shareName { statement.bind(text: name, at: 9) }
        try statement.run()
        let beside = self.beside
        for (field, column) in beside { try insertBeside(field, column, change) }
    }

    /// Binds the fields' values, and notes those that have something beside their column; whether
    /// every field has a column.
    ///
    /// Fields and columns are both in the order of names, so one walk finds them all.
    private mutating func bind(_ fields: Fields, at index: Int) throws -> Bool {
        let statement = try insertStatement(at: index)
        beside.removeAll(keepingCapacity: true)
        let columns = catalog.types[index].columns
        var position = 0
        for field in fields {
            guard let kind = field.columnKind else { continue }
            while position < columns.count,
                columns[position].kind != kind
                    || !columns[position].fieldNameBytes.elementsEqual(field.nameBytes)
            { position += 1 }
            guard position < columns.count else {
                statement.reset()
                return false
            }
            let parameter = Self.systemColumnCount + 1 + position
            if kind == .text {
                statement.bind(bytes: field.valueBytes, at: parameter)
            } else if let value = field.value {
                statement.bind(value, at: parameter)
            }
            let column = columns[position]
            if kind.hasTable || kind == .location || isWordIndexed(column) {
                beside.append((field, column))
            }
        }
        return true
    }

    private func isWordIndexed(_ column: Column) -> Bool {
        column.kind.holdsWords && catalog.made.contains(column.wordTable)
    }

    /// Adds the columns that fields lack.
    private mutating func addColumns(for fields: Fields, at index: Int) throws {
        for field in fields {
            guard let kind = field.columnKind else { continue }
            let name = Name(field.name)
            guard catalog.types[index].column(of: name, kind) == nil else { continue }
            try catalog.addColumn(name, kind, toTypeAt: index, database)
        }
        inserts[index] = nil
    }

    private mutating func insertStatement(at index: Int) throws -> PreparedStatement {
        while inserts.count <= index { inserts.append(nil) }
        if let statement = inserts[index] { return statement }
        let type = catalog.types[index]
        let names = [Self.systemColumns] + type.columns.map(\.name)
        let count = Self.systemColumnCount + type.columns.count
        let marks = Array(repeating: "?", count: count).joined(separator: ", ")
        let statement = try PreparedStatement(
            "INSERT INTO \(type.name)(\(names.joined(separator: ", "))) VALUES (\(marks))",
            database
        )
        inserts[index] = statement
        return statement
    }

    /// Writes what a value has beside its column: a list's elements, words, a place.
    private mutating func insertBeside(
        _ field: Fields.Element,
        _ column: Column,
        _ change: IndexedChange
    ) throws {
        guard let value = field.value else { return }
        let row = Int64(bitPattern: change.sequence)
        if column.kind.hasTable {
            let statement = try PreparedStatement(
                "INSERT INTO \(column.listTable) VALUES (?, ?, ?, ?)",
                database
            )
            for (position, element) in value.elements.enumerated() {
                statement.bind(.int(row), at: 1)
                statement.bind(.int(Int64(position)), at: 2)
                statement.bind(.int(Int64(bitPattern: change.zone)), at: 3)
                statement.bind(element, at: 4)
                try statement.run()
            }
        }
        if isWordIndexed(column) {
            var words = WordRow(zone: change.zone)
            words.add(value)
            wordChanges[column.id, default: WordChanges(column)].take(row, words)
        }
        if case .location(let place) = value, catalog.made.contains(column.placeTable) {
            try PlaceRow(place).insert(row, into: column, database)
        }
    }
}

// MARK: Removing

extension RowWriter {
    /// Removes a version, which is mostly in the table that is looked into first.
    private mutating func remove(_ sequence: UInt64, from index: Int?) throws {
        if let index, try remove(sequence, fromTypeAt: index) { return }
        for other in catalog.types.indices where other != index {
            if try remove(sequence, fromTypeAt: other) { return }
        }
    }

    private mutating func remove(_ sequence: UInt64, fromTypeAt index: Int) throws -> Bool {
        let type = catalog.types[index]
        let row = SQLValue.int(Int64(bitPattern: sequence))
        try removeWords(from: type, where: "sequence = ?1", row)
        let delete = try PreparedStatement(
            "DELETE FROM \(type.name) WHERE sequence = ?1",
            database
        )
        delete.bind([row])
        try delete.run()
        guard database.changesCount > 0 else { return false }
        for column in type.columns {
            if column.kind.hasTable {
                let statement = try PreparedStatement(
                    "DELETE FROM \(column.listTable) WHERE record = ?1",
                    database
                )
                statement.bind([row])
                try statement.run()
            }
            if catalog.made.contains(column.placeTable) {
                let statement = try PreparedStatement(
                    "DELETE FROM \(column.placeTable) WHERE id = ?1",
                    database
                )
                statement.bind([row])
                try statement.run()
            }
        }
        return true
    }

    /// Removes all records of a zone.
    ///
    /// The first time that a zone is deleted makes the index by which they are found.
    private mutating func removeZone(_ zone: UInt64) throws {
        let key = SQLValue.int(Int64(bitPattern: zone))
        for type in catalog.types {
            var maker = IndexMaker(database, catalog)
            try maker.make(.column(table: type.name, name: "name"))
            catalog = maker.catalog
            try removeWords(from: type, where: "zone = ?1", key)
            let rows = "SELECT sequence FROM \(type.name) WHERE zone = ?1"
            var statements: [String] = []
            for column in type.columns {
                if column.kind.hasTable {
                    statements.append("DELETE FROM \(column.listTable) WHERE record IN (\(rows))")
                }
                if catalog.made.contains(column.placeTable) {
                    statements.append("DELETE FROM \(column.placeTable) WHERE id IN (\(rows))")
                }
            }
            statements.append("DELETE FROM \(type.name) WHERE zone = ?1")
            for sql in statements {
                let statement = try PreparedStatement(sql, database)
                statement.bind([key])
                try statement.run()
            }
        }
    }

    /// Takes records out of the indexes of words, which must be told what was in them.
    private mutating func removeWords(
        from type: TypeTable,
        where condition: String,
        _ argument: SQLValue
    ) throws {
        for column in type.columns
        where column.kind.holdsWords && catalog.made.contains(column.wordTable) {
            // Taken out meanwhile, so that it is not copied.
            var changes = wordChanges.removeValue(forKey: column.id) ?? WordChanges(column)
            try WordRow.forEach(of: column, in: type, database, where: condition, argument) {
                changes.forget($0, $1)
            }
            wordChanges[column.id] = changes
        }
    }
}

extension PreparedStatement {
    /// Binds a field's value as its column, or a list's table, holds it.
    func bind(_ value: FieldValue, at index: Int) {
        switch value {
        case .string(let text): bind(text: text, at: index)
        case .int64(let number), .timestamp(let number): bind(.int(number), at: index)
        case .double(let number): bind(.real(number), at: index)
        case .reference(let link): bind(text: link.recordName, at: index)
        case .location(let place): bind(.blob(place.stored), at: index)
        case .bytes, .asset, .bytesList, .assetList: bind(.int(1), at: index)
        default: bind(.int(Int64(value.elements.count)), at: index)
        }
    }
}

extension Fields.Element {
    /// The kind of column for the value; `nil` if it is removed or encrypted.
    fileprivate var columnKind: ColumnKind? { isEncrypted ? nil : type.map(ColumnKind.init) }
}

extension ColumnKind {
    /// Whether words are searched for in the values.
    var holdsWords: Bool { self == .text || self == .textList }
}
