// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Workload

/// A plain table with the same fields and an index for each query, as a program of one's own would
/// have it.
package final class SQLiteTasks: QueriedTasks {
    private let database: SQLiteDatabase
    private let byShelf: SQLiteStatement
    private let byTime: SQLiteStatement
    private let update: SQLiteStatement
    private let folder: String
    private let recordCount: Int
    private var words: SQLiteWords?

    package init(_ folder: String, recordCount: Int) async throws {
        self.folder = folder
        self.recordCount = recordCount
        database = try SQLiteDatabase(folder + "/tasks.sqlite")
        try database.run(
            """
            PRAGMA page_size=4096; PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF;
            PRAGMA cache_size=-65536; PRAGMA mmap_size=2147483648;
            CREATE TABLE task(
                id INTEGER PRIMARY KEY, zone INTEGER NOT NULL, name TEXT NOT NULL, title TEXT,
                note TEXT, shelf INTEGER, price REAL, due INTEGER, done INTEGER,
                modified INTEGER NOT NULL
            );
            BEGIN
            """
        )
        let insert = try database.prepare(
            "INSERT INTO task VALUES (?1, 1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?1)"
        )
        for number in 0..<recordCount {
            let task = TaskRecord(number, of: recordCount)
            insert.bind(1, Int64(number + 1))
            insert.bind(5, task.shelf)
            insert.bind(6, real: task.price)
            insert.bind(7, task.due)
            insert.bind(8, task.done)
            try insert.run(texts: [(2, task.name), (3, task.title), (4, task.note)])
        }
        try database.run(
            """
            COMMIT;
            CREATE INDEX byShelf ON task(zone, shelf, name);
            CREATE INDEX byTime ON task(zone, due, name);
            """
        )
        update = try database.prepare(
            """
            UPDATE task SET title = ?2, note = ?3, shelf = ?4, price = ?5, due = ?6, done = ?7,
                modified = modified + 1
            WHERE id = ?1
            """
        )
        let columns = "name, title, note, shelf, price, due, done, modified"
        byShelf = try database.prepare(
            "SELECT \(columns) FROM task WHERE zone = 1 AND shelf = ? ORDER BY name LIMIT 200"
        )
        byTime = try database.prepare(
            "SELECT \(columns) FROM task WHERE zone = 1 AND due >= ? ORDER BY due, name LIMIT 100"
        )
    }

    package func find(shelf: Int64, into sink: Sink) throws { try run(byShelf, shelf, sink) }

    package func find(dueFrom time: Int64, into sink: Sink) throws { try run(byTime, time, sink) }

    private func run(_ statement: SQLiteStatement, _ value: Int64, _ sink: Sink) throws {
        statement.bind(1, value)
        while try statement.step() {
            sink.take(name: statement.text(0), sequence: 0, value: statement.text(1))
            var rest = (
                statement.int(3), statement.real(4), statement.int(5), statement.int(6),
                statement.int(7)
            )
            let note = statement.text(2)
            withUnsafeBytes(of: &rest) { sink.add(note, $0) }
        }
    }

    package func freshSpeed() -> Double? { nil }

    /// The speed of FTS5 alone, with the words of the replaced records.
    package func replacementSpeed(version: Int) throws -> Double? {
        let words = try words ?? SQLiteWords(folder, recordCount: recordCount)
        self.words = words
        let tasks = replaced(version).map(\.task)
        let start = ContinuousClock.now
        try words.add(tasks)
        return Double(tasks.count) / (start.duration(to: .now) / .seconds(1))
    }

    /// The speed of FTS5 and of the table with an index for each query: each row stays where it is.
    package func replacementFloor(version: Int) throws -> Double? {
        guard let words else { return nil }
        // In the order of the rows, and in transactions as long as those of the words: what is fastest.
        let tasks = replaced(version).sorted { $0.number < $1.number }
        let start = ContinuousClock.now
        try words.add(tasks.lazy.map(\.task))
        try database.run("BEGIN")
        for (index, (number, task)) in tasks.enumerated() {
            if index > 0, index % SQLiteWords.batchCount == 0 {
                try database.run("COMMIT; BEGIN")
            }
            update.bind(1, Int64(number + 1))
            update.bind(4, task.shelf)
            update.bind(5, real: task.price)
            update.bind(6, task.due)
            update.bind(7, task.done)
            try update.run(texts: [(2, task.title), (3, task.note)])
        }
        try database.run("COMMIT")
        return Double(tasks.count) / (start.duration(to: .now) / .seconds(1))
    }

    private func replaced(_ version: Int) -> [(number: Int, task: TaskRecord)] {
        let order = Shuffle(count: recordCount, seed: version)
        return (0..<max(1, recordCount / 10)).map { place in
            (order[place], TaskRecord(order[place], version: version, of: recordCount))
        }
    }

    package func close() {
        database.close()
        words?.close()
    }
}
