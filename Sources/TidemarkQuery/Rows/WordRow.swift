// Tidemark
// SPDX-License-Identifier: Apache-2.0

import GRDB
import TidemarkModel

/// The words of one value, as a row of a full-text index.
///
/// The model splits and folds texts. FTS5 gets every word with its zone's digits as prefix, so that
/// zones are separate. Words are spelled so that FTS5 neither splits nor folds them further:
/// lowercase ASCII letters, digits and bytes from 0x80 on stay as they are; `z` precedes itself, and the
/// two hexadecimal digits of any other byte. One buffer is reused for all rows.
struct WordRow {
    private var zone: UInt64?
    private var prefix: [UInt8] = []
    private var words: [UInt8] = []

    /// Starts the row of a record in a zone.
    mutating func begin(zone: UInt64) {
        words.removeAll(keepingCapacity: true)
        guard zone != self.zone else { return }
        self.zone = zone
        prefix = Self.prefix(zone)
    }

    /// Adds the words of a text.
    mutating func add(_ text: RawSpan) {
        Query.WordSearch.forEachWord(in: text) { word in
            words.append(contentsOf: prefix)
            Self.spell(word, to: &words)
            words.append(UInt8(ascii: " "))
        }
    }

    /// Adds the words of a list's texts.
    mutating func add(_ texts: [String]) {
        for text in texts { add(Array(text.utf8).span.bytes) }
    }

    /// Returns a word in a zone in the form that FTS5 has.
    static func text(of word: [UInt8], zone: UInt64) -> String {
        var text = prefix(zone)
        spell(word.span.bytes, to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    private static func prefix(_ zone: UInt64) -> [UInt8] {
        // No hexadecimal digit is a `z`, so the first one ends the zone, whatever word follows.
        Array((String(zone, radix: 16) + "z").utf8)
    }

    private static func spell(_ word: RawSpan, to text: inout [UInt8]) {
        for offset in 0..<word.byteCount {
            let byte = word.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
            switch byte {
            case UInt8(ascii: "a")..<UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                0x80...:
                text.append(byte)
            case UInt8(ascii: "z"):
                text.append(byte)
                text.append(byte)
            default:
                text.append(UInt8(ascii: "z"))
                text.append(digit(byte >> 4))
                text.append(digit(byte & 15))
            }
        }
    }

    private static func digit(_ value: UInt8) -> UInt8 { value < 10 ? value + 48 : value + 87 }

    /// Creates an empty full-text index.
    static func make(for column: Column, _ database: Database) throws {
        try database.execute(
            sql: """
                CREATE VIRTUAL TABLE \(column.wordTable) USING fts5(
                    words, content = '', columnsize = 0, detail = none, tokenize = 'ascii'
                );
                INSERT INTO \(column.wordTable)(\(column.wordTable), rank)
                    VALUES ('hashsize', \(gatheredByteCount));
                """
        )
    }

    /// The number of bytes that FTS5 gathers in memory before it writes; with less, it merges its
    /// data again and again.
    private static let gatheredByteCount = 8 << 20

    /// Returns the statement that inserts a row into a full-text index.
    static func insertion(into column: Column) -> String {
        "INSERT INTO \(column.wordTable)(rowid, words) VALUES (?, CAST(? AS TEXT))"
    }

    /// Writes the row; fast if row numbers ascend, since FTS5 then collects rows in memory.
    func insert(_ row: Int64, _ statement: PreparedStatement) throws {
        statement.bind(.int(row), at: 1)
        statement.bind(words.span.bytes, at: 2)
        try statement.run()
    }

    /// Reads the words of a column's values from the tables, in row number order.
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
        defer { elements?.reset() }
        var words = WordRow()
        while try rows.step() {
            words.begin(zone: UInt64(bitPattern: rows.int64(at: 1)))
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
