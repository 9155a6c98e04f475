// Tidemark
// SPDX-License-Identifier: Apache-2.0

import GRDB
import TidemarkModel

/// The words of one value, as a row of a full-text index.
///
/// The model splits and folds; FTS5 gets every word as hexadecimal digits, so that it can neither
/// split nor fold any further. One more word, `z` and the zone's key, keeps zones apart.
struct WordRow {
    private let words: String

    init(_ value: FieldValue, zone: UInt64) {
        let texts: [String] =
            switch value {
            case .string(let text): [text]
            case .stringList(let texts): texts
            default: []
            }
        self.init(texts, zone: zone)
    }

    init(_ texts: [String], zone: UInt64) {
        let words = Set(texts.flatMap(Query.WordSearch.foldedWords).map(Self.digits)).sorted()
        self.words = ([Self.zoneWord(zone)] + words).joined(separator: " ")
    }

    static func zoneWord(_ zone: UInt64) -> String { "z\(zone)" }

    /// A word as FTS5 knows it.
    static func digits(of word: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        let bytes = word.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Makes an index of words, without any.
    static func make(for column: Column, _ database: Database) throws {
        try database.execute(
            sql: """
                CREATE VIRTUAL TABLE \(column.wordTable) USING fts5(
                    words, content = '', columnsize = 0, detail = none, tokenize = 'ascii'
                )
                """
        )
    }

    func insert(_ row: Int64, into column: Column, _ database: Database) throws {
        let statement = try PreparedStatement(
            "INSERT INTO \(column.wordTable)(rowid, words) VALUES (?, CAST(? AS TEXT))",
            database
        )
        statement.bind(.int(row), at: 1)
        statement.bind(text: words, at: 2)
        try statement.run()
    }

    /// An index without content must be given what it is to forget.
    func delete(_ row: Int64, from column: Column, _ database: Database) throws {
        let table = column.wordTable
        let statement = try PreparedStatement(
            "INSERT INTO \(table)(\(table), rowid, words) VALUES ('delete', ?, CAST(? AS TEXT))",
            database
        )
        statement.bind(.int(row), at: 1)
        statement.bind(text: words, at: 2)
        try statement.run()
    }

    /// Reads the words of a column's values back from the tables.
    static func forEach(
        of column: Column,
        in type: TypeTable,
        _ database: Database,
        where condition: String,
        _ argument: SQLValue?,
        _ body: (Int64, WordRow) throws -> Void
    ) throws {
        let rows = try PreparedStatement(
            "SELECT sequence, zone, \(column.name) FROM \(type.name) WHERE \(column.name) IS NOT "
                + "NULL AND \(condition)",
            database
        )
        if let argument { rows.bind([argument]) }
        let elements =
            column.kind.isList
            ? try PreparedStatement(
                "SELECT value FROM \(column.listTable) WHERE record = ?1",
                database
            ) : nil
        while try rows.step() {
            let row = rows.int64(at: 0)
            var texts: [String] = []
            if let elements {
                elements.bind([.int(row)])
                while try elements.step() { texts.append(elements.value(at: 0).text) }
                elements.reset()
            } else {
                texts = [rows.value(at: 2).text]
            }
            try body(row, WordRow(texts, zone: UInt64(bitPattern: rows.int64(at: 1))))
        }
        rows.reset()
    }
}

extension SQLValue {
    /// The bytes of a stored text as text.
    fileprivate var text: String {
        guard case .blob(let bytes) = self else { return "" }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// A place as a row of an R*Tree.
struct PlaceRow {
    private let place: Location

    init(_ place: Location) {
        self.place = place
    }

    /// Makes an index of places, without any.
    static func make(for column: Column, _ database: Database) throws {
        try database.execute(
            sql: """
                CREATE VIRTUAL TABLE \(column.placeTable) USING rtree(
                    id, latitudeFrom, latitudeTo, longitudeFrom, longitudeTo
                )
                """
        )
    }

    func insert(_ row: Int64, into column: Column, _ database: Database) throws {
        let statement = try PreparedStatement(
            "INSERT INTO \(column.placeTable) VALUES (?, ?, ?, ?, ?)",
            database
        )
        statement.bind([
            .int(row), .real(place.latitude), .real(place.latitude), .real(place.longitude),
            .real(place.longitude),
        ])
        try statement.run()
    }
}
