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

    init(_ database: Database, _ catalog: Catalog) {
        self.database = database
        self.catalog = catalog
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
    mutating func finish(through sequence: UInt64) throws {
        guard sequence > catalog.sequence else { return }
        let statement = try PreparedStatement("UPDATE state SET sequence = ?", database)
        statement.bind([.int(Int64(bitPattern: sequence))])
        try statement.run()
        catalog.sequence = sequence
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
        try addColumns(for: fields, at: index)
        let type = catalog.types[index]
        let statement = try insertStatement(at: index)
        statement.bind(.int(Int64(bitPattern: change.sequence)), at: 1)
        statement.bind(.int(Int64(bitPattern: change.zone)), at: 2)
        statement.bind(text: body.recordName, at: 3)
        statement.bind(.int(body.created.time), at: 4)
        statement.bind(.int(body.modified.time), at: 5)
        let names = [
            body.created.user?.userRecordName, body.modified.user?.userRecordName,
            body.parentName, body.shareName,
        ]
        for (position, name) in names.enumerated() {
            if let name { statement.bind(text: name, at: 6 + position) }
        }
        var position = 0
        for field in fields {
            guard let kind = field.columnKind, let value = field.value else { continue }
            let name = Name(field.name)
            while position < type.columns.count,
                type.columns[position].fieldName != name || type.columns[position].kind != kind
            { position += 1 }
            guard position < type.columns.count else { break }
            let column = type.columns[position]
            statement.bind(value, at: Self.systemColumnCount + 1 + position)
            try insertBeside(value, column, change)
        }
        try statement.run()
    }

    /// Sees to it that every field has a column.
    ///
    /// Fields and columns are both in the order of names, so one walk finds what is missing.
    private mutating func addColumns(for fields: Fields, at index: Int) throws {
        var position = 0
        for field in fields {
            guard let kind = field.columnKind else { continue }
            let name = Name(field.name)
            func isWanted(_ column: Column) -> Bool {
                column.fieldName == name && column.kind == kind
            }
            var found = position
            while found < catalog.types[index].columns.count,
                catalog.types[index].columns[found].fieldName < name
                    || catalog.types[index].columns[found].fieldName == name
                        && !isWanted(catalog.types[index].columns[found])
            { found += 1 }
            let columns = catalog.types[index].columns
            if found < columns.count, isWanted(columns[found]) {
                position = found
                continue
            }
            try catalog.addColumn(name, kind, toTypeAt: index, database)
            if index < inserts.count { inserts[index] = nil }
        }
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
    private func insertBeside(
        _ value: FieldValue,
        _ column: Column,
        _ change: IndexedChange
    ) throws {
        if column.kind.hasTable {
            let statement = try PreparedStatement(
                "INSERT INTO \(column.listTable) VALUES (?, ?, ?, ?)",
                database
            )
            for (position, element) in value.elements.enumerated() {
                statement.bind(.int(Int64(bitPattern: change.sequence)), at: 1)
                statement.bind(.int(Int64(position)), at: 2)
                statement.bind(.int(Int64(bitPattern: change.zone)), at: 3)
                statement.bind(element, at: 4)
                try statement.run()
            }
        }
        let row = Int64(bitPattern: change.sequence)
        if column.kind.holdsWords, catalog.made.contains(column.wordTable) {
            let words = WordRow(value, zone: change.zone)
            try words.insert(row, into: column, database)
        }
        if case .location(let place) = value, catalog.made.contains(column.placeTable) {
            try PlaceRow(place).insert(row, into: column, database)
        }
    }
}

// MARK: Removing

extension RowWriter {
    /// Removes a version, which is mostly in the table that is looked into first.
    private func remove(_ sequence: UInt64, from index: Int?) throws {
        if let index, try remove(sequence, fromTypeAt: index) { return }
        for other in catalog.types.indices where other != index {
            if try remove(sequence, fromTypeAt: other) { return }
        }
    }

    private func remove(_ sequence: UInt64, fromTypeAt index: Int) throws -> Bool {
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
    /// Reads every table once: zones are deleted rarely.
    private func removeZone(_ zone: UInt64) throws {
        let key = SQLValue.int(Int64(bitPattern: zone))
        for type in catalog.types {
            try removeWords(from: type, where: "zone = ?1", key)
            var statements: [String] = []
            for column in type.columns {
                if column.kind.hasTable {
                    statements.append("DELETE FROM \(column.listTable) WHERE zone = ?1")
                }
                if catalog.made.contains(column.placeTable) {
                    let rows = "SELECT sequence FROM \(type.name) WHERE zone = ?1"
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
    private func removeWords(
        from type: TypeTable,
        where condition: String,
        _ argument: SQLValue
    ) throws {
        for column in type.columns
        where column.kind.holdsWords && catalog.made.contains(column.wordTable) {
            try WordRow.forEach(of: column, in: type, database, where: condition, argument) {
                try $1.delete($0, from: column, database)
            }
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
