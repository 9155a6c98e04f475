// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Workload

/// FTS5 alone, with the words of both texts of some tasks: the least that an index of full text in
/// SQLite takes.
///
/// It has the options of Tidemark's query index: no contents, no positions, 8 MiB gathered in memory.
/// As there, a replaced task gets a new row, and its old one stays. Nothing is read from a log, no word
/// is folded, and no other index is kept.
final class SQLiteWords {
    private let database: SQLiteDatabase
    private let inserts: [SQLiteStatement]
    private var lastRow: Int64 = 0
    /// The number of rows per transaction, as when Tidemark makes an index.
    static let batchCount = 16_384

    init(_ folder: String, recordCount: Int) throws {
        let database = try SQLiteDatabase(folder + "/words.sqlite")
        self.database = database
        try database.run(
            """
            PRAGMA page_size=4096; PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;
            PRAGMA cache_size=-65536; PRAGMA wal_autocheckpoint=16384; PRAGMA threads=1;
            """
        )
        let tables = ["titles", "notes"]
        for table in tables {
            try database.run(
                """
                CREATE VIRTUAL TABLE \(table) USING fts5(
                    words, content = '', columnsize = 0, detail = none, tokenize = 'ascii'
                );
                INSERT INTO \(table)(\(table), rank) VALUES ('hashsize', \(8 << 20));
                """
            )
        }
        inserts = try tables.map { table in
            try database.prepare("INSERT INTO \(table)(rowid, words) VALUES (?1, ?2)")
        }
        try add((0..<recordCount).lazy.map { TaskRecord($0, of: recordCount) })
    }

    /// Adds a row for each task.
    func add(_ tasks: some Sequence<TaskRecord>) throws {
        var count = 0
        for task in tasks {
            if count % Self.batchCount == 0 {
                try database.run(count == 0 ? "BEGIN" : "COMMIT; BEGIN")
            }
            count += 1
            lastRow += 1
            for (insert, text) in zip(inserts, [task.title, task.note]) {
                insert.bind(1, lastRow)
                try insert.run(texts: [(2, text)])
            }
        }
        if count > 0 { try database.run("COMMIT") }
    }

    func close() { database.close() }
}
