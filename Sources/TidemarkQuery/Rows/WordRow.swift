// Tidemark
// SPDX-License-Identifier: Apache-2.0

import GRDB
import TidemarkModel

/// The words of one value, as a row of a full-text index.
///
/// The model splits and folds; FTS5 gets every word as hexadecimal digits, behind those of its zone, so
/// that it can neither split nor fold any further and zones stay apart.
struct WordRow {
    private let prefix: [UInt8]
    private var words: [UInt8] = []

    /// A row without words.
    init(zone: UInt64) {
        prefix = Array(Self.prefix(zone).utf8)
    }

    /// Adds the words of a text.
    mutating func add(_ text: RawSpan) {
        Query.WordSearch.forEachWord(in: text) { word in
            words.append(contentsOf: prefix)
            Self.appendDigits(of: word, to: &words)
            words.append(UInt8(ascii: " "))
        }
    }

    /// Adds the words of a value.
    mutating func add(_ value: FieldValue) {
        switch value {
        case .string(let text): add(Array(text.utf8).span.bytes)
        case .stringList(let texts): for text in texts { add(Array(text.utf8).span.bytes) }
        default: break
        }
    }

    /// A word in a zone as FTS5 knows it.
    static func text(of word: [UInt8], zone: UInt64) -> String {
        var digits: [UInt8] = []
        appendDigits(of: word, to: &digits)
        return prefix(zone) + String(decoding: digits, as: UTF8.self)
    }

    private static func prefix(_ zone: UInt64) -> String { String(zone, radix: 16) + "z" }

    private static func appendDigits(of word: [UInt8], to text: inout [UInt8]) {
        for byte in word {
            for digit in [byte >> 4, byte & 15] {
                text.append(digit < 10 ? digit + 48 : digit + 87)
            }
        }
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
        try run(
            "INSERT INTO \(column.wordTable)(rowid, words) VALUES (?, CAST(? AS TEXT))",
            row,
            database
        )
    }

    /// An index without content must be given what it is to forget.
    func delete(_ row: Int64, from column: Column, _ database: Database) throws {
        let table = column.wordTable
        try run(
            "INSERT INTO \(table)(\(table), rowid, words) VALUES ('delete', ?, CAST(? AS TEXT))",
            row,
            database
        )
    }

    private func run(_ sql: String, _ row: Int64, _ database: Database) throws {
        let statement = try PreparedStatement(sql, database)
        statement.bind(.int(row), at: 1)
        statement.bind(bytes: words[...], at: 2)
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
        defer { rows.reset() }
        if let argument { rows.bind([argument]) }
        let elements =
            column.kind.isList
            ? try PreparedStatement(
                "SELECT value FROM \(column.listTable) WHERE record = ?1",
                database
            ) : nil
        while try rows.step() {
            var words = WordRow(zone: UInt64(bitPattern: rows.int64(at: 1)))
            if let elements {
                elements.bind([.int(rows.int64(at: 0))])
                while try elements.step() { elements.withBytes(at: 0) { words.add($0) } }
                elements.reset()
            } else {
                rows.withBytes(at: 2) { words.add($0) }
            }
            try body(rows.int64(at: 0), words)
        }
    }
}

/// Rows to be taken out of and put into one full-text index.
///
/// FTS5 collects rows in memory as long as their numbers ascend. A record that is replaced has a low
/// number to forget and a high one to take, so one after the other would write the index anew for
/// each: all that is to be forgotten comes first.
struct WordChanges {
    private let column: Column
    private var forgotten: [(row: Int64, words: WordRow)] = []
    private var taken: [Int64: WordRow] = [:]

    init(_ column: Column) {
        self.column = column
    }

    mutating func take(_ row: Int64, _ words: WordRow) {
        taken[row] = words
    }

    mutating func forget(_ row: Int64, _ words: WordRow) {
        if taken.removeValue(forKey: row) == nil { forgotten.append((row, words)) }
    }

    func write(_ database: Database) throws {
        for (row, words) in forgotten.sorted(by: { $0.row < $1.row }) {
            try words.delete(row, from: column, database)
        }
        for (row, words) in taken.sorted(by: { $0.key < $1.key }) {
            try words.insert(row, into: column, database)
        }
    }
}
