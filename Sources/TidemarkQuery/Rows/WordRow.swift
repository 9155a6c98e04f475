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
            text.append(digit(byte >> 4))
            text.append(digit(byte & 15))
        }
    }

    private static func digit(_ value: UInt8) -> UInt8 { value < 10 ? value + 48 : value + 87 }

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

    /// The statement that puts a row into an index of words.
    static func insertion(into column: Column) -> String {
        "INSERT INTO \(column.wordTable)(rowid, words) VALUES (?, CAST(? AS TEXT))"
    }

    /// Writes the row; fast where the rows' numbers ascend, since FTS5 then collects them in memory.
    func insert(_ row: Int64, _ statement: PreparedStatement) throws {
        statement.bind(.int(row), at: 1)
        statement.bind(bytes: words[...], at: 2)
        try statement.run()
    }

    /// Reads the words of a column's values back from the tables, in the order of the rows' numbers.
    static func forEach(
        of column: Column,
        in type: TypeTable,
        _ database: Database,
        _ body: (Int64, WordRow) throws -> Void
    ) throws {
        let rows = try PreparedStatement(
            "SELECT sequence, zone, \(column.name) FROM \(type.name) WHERE \(column.name) IS NOT "
                + "NULL ORDER BY sequence",
            database
        )
        defer { rows.reset() }
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
