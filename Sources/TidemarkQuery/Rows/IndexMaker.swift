// Tidemark
// SPDX-License-Identifier: Apache-2.0

import GRDB
import TidemarkModel

/// An index that would speed up a query.
enum NeededIndex: Hashable, Sendable {
    /// An index of a column of a type's table, by zone, value and name.
    case column(table: String, name: String)
    /// An index of the elements of a list, by zone and value.
    case elements(Column.ID)
    /// A full-text index of the words of a text column.
    case words(type: TypeTable.ID, Column.ID)
    /// A location index.
    case places(type: TypeTable.ID, Column.ID)

    /// The name of the index in the catalog, and of its table if it is one.
    var name: String {
        switch self {
        case .column(let table, let name): "i_\(table)_\(name)"
        case .elements(let column): "i_l\(column)"
        case .words(_, let column): "w\(column)"
        case .places(_, let column): "p\(column)"
        }
    }
}

extension Column: Identifiable {}

extension TypeTable: Identifiable {}

/// Creates indexes of the tables' content, inside one transaction.
struct IndexMaker {
    private let database: Database
    /// The catalog including the created indexes.
    private(set) var catalog: Catalog

    init(_ database: Database, _ catalog: Catalog) {
        self.database = database
        self.catalog = catalog
    }

    /// Creates an index if it does not exist.
    mutating func make(_ index: NeededIndex) throws {
        guard catalog.made[index.name] == nil else { return }
        // A new index has no rows of deleted records.
        catalog.made[index.name] = 0
        switch index {
        case .column(let table, let column):
            // With the name last, the index has the rows of one zone in the whole order of a query
            // that sorts by the column.
            let columns = column == "name" ? "zone, name" : "zone, \(column), name"
            try database.execute(sql: "CREATE INDEX \(index.name) ON \(table)(\(columns))")
        case .elements(let column):
            try database.execute(
                sql: "CREATE INDEX \(index.name) ON l\(column)(zone, value, record)"
            )
        case .words(let type, let column): try makeWords(type, column)
        case .places(let type, let column): try makePlaces(type, column)
        }
        try database.execute(sql: "INSERT INTO made VALUES (?, 0)", arguments: [index.name])
    }

    /// Removes an index; the next query that needs it creates it again.
    mutating func drop(_ name: String) throws {
        guard catalog.made.removeValue(forKey: name) != nil else { return }
        // Indexes of columns and of lists have names of this form; the others are tables.
        let kind = name.hasPrefix("i_") ? "INDEX" : "TABLE"
        try database.execute(sql: "DROP \(kind) \(name)")
        try database.execute(sql: "DELETE FROM made WHERE name = ?", arguments: [name])
    }

    private func find(_ type: Int64, _ column: Int64) -> (TypeTable, Column)? {
        guard let type = catalog.types.first(where: { $0.id == type }),
            let column = type.columns.first(where: { $0.id == column })
        else { return nil }
        return (type, column)
    }

    private func makeWords(_ type: Int64, _ column: Int64) throws {
        guard let (type, column) = find(type, column) else { return }
        try WordRow.make(for: column, database)
        let insert = try PreparedStatement(WordRow.insertion(into: column), database)
        try WordRow.forEach(of: column, in: type, database) { try $1.insert($0, insert) }
    }

    private func makePlaces(_ type: Int64, _ column: Int64) throws {
        guard let (type, column) = find(type, column) else { return }
        try PlaceRow.make(for: column, database)
        let insert = try PreparedStatement(PlaceRow.insertion(into: column), database)
        let rows = try PreparedStatement(
            "SELECT sequence, \(column.name) FROM \(type.name) WHERE \(column.name) IS NOT NULL",
            database
        )
        // A statement that is not finished would keep its snapshot of the database.
        defer { rows.reset() }
        while try rows.step() {
            guard case .blob(let bytes) = rows.value(at: 1), let place = Location(stored: bytes)
            else { continue }
            try PlaceRow(place).insert(rows.int64(at: 0), insert)
        }
    }
}
