// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Workload

/// A history in SQLite: names once, versions by the rowid, real columns instead of encoded fields.
/// The smallest tables found that still answer what a sync server is asked.
extension SQLiteContender {
    package static func bytesOnDisk(
        of history: [RealCommit],
        keeping: Kept,
        in folder: String
    ) async throws -> Stored? {
        // Its tables are the same whichever layout the records of a server have.
        guard Choice.self == FastestLayout.self else { return nil }
        let database = try SQLiteDatabase(folder + "/history.sqlite")
        try database.run(
            """
            PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;
            CREATE TABLE zone(id INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE user(id INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE commits(id INTEGER PRIMARY KEY, time INTEGER, user INTEGER);
            CREATE TABLE record(id INTEGER PRIMARY KEY, zone INTEGER, name TEXT, version INTEGER);
            CREATE TABLE version(sequence INTEGER PRIMARY KEY, record INTEGER, previous INTEGER,
                in_commit INTEGER, title TEXT, folder TEXT, text TEXT, lines INTEGER);
            BEGIN;
            """
        )
        try append(history, to: database)
        if keeping == .current {
            try database.run(
                """
                DELETE FROM version WHERE sequence NOT IN (SELECT version FROM record)
                    OR title IS NULL;
                DELETE FROM record WHERE version NOT IN (SELECT sequence FROM version);
                DELETE FROM commits WHERE id NOT IN (SELECT in_commit FROM version);
                """
            )
        }
        try database.run(
            """
            CREATE UNIQUE INDEX record_name ON record(zone, name);
            CREATE INDEX record_version ON record(zone, version);
            COMMIT; VACUUM;
            """
        )
        let pageCount = try database.number("PRAGMA page_count")
        return Stored(byteCount: Int(try pageCount * database.number("PRAGMA page_size")))
    }

    private static func append(_ history: [RealCommit], to database: SQLiteDatabase) throws {
        let addCommit = try database.prepare("INSERT INTO commits(time, user) VALUES (?1, ?2)")
        let addVersion = try database.prepare(
            "INSERT INTO version VALUES (?1, ?2, ?3, (SELECT max(id) FROM commits),"
                + " ?4, ?5, ?6, ?7)"
        )
        var zones = SQLiteNames(try database.prepare("INSERT INTO zone VALUES (?1, ?2)"))
        var users = SQLiteNames(try database.prepare("INSERT INTO user VALUES (?1, ?2)"))
        let addRecord = try database.prepare("INSERT INTO record VALUES (?1, ?2, ?3, ?4)")
        let move = try database.prepare("UPDATE record SET version = ?2 WHERE id = ?1")
        var records: [String: (id: Int64, version: Int64)] = [:]
        var sequence: Int64 = 0
        for commit in history {
            addCommit.bind(1, commit.time)
            addCommit.bind(2, try users.id(of: commit.user))
            _ = try addCommit.step()
            for change in commit.changes {
                sequence += 1
                let zone = try zones.id(of: change.zone)
                let key = "\(zone)/\(change.recordName)"
                let old = records[key]
                let id = old?.id ?? Int64(records.count + 1)
                if old == nil {
                    addRecord.bind(2, zone)
                    addRecord.bind(4, sequence)
                    addRecord.bind(1, id)
                    try addRecord.run(texts: [(3, change.recordName)])
                } else {
                    move.bind(1, id)
                    move.bind(2, sequence)
                    _ = try move.step()
                }
                records[key] = (id, sequence)
                addVersion.bind(1, sequence)
                addVersion.bind(2, id)
                addVersion.bind(3, old?.version ?? 0)
                addVersion.clear(4...7)
                if let fields = change.fields {
                    addVersion.bind(7, fields.lines)
                    try addVersion.run(
                        texts: [(4, fields.title), (5, fields.folder), (6, fields.text)])
                } else {
                    _ = try addVersion.step()
                }
            }
        }
    }
}

/// A table of names, each with a number.
private struct SQLiteNames {
    private let add: SQLiteStatement
    private var ids: [String: Int64] = [:]

    init(_ add: SQLiteStatement) {
        self.add = add
    }

    mutating func id(of name: String) throws -> Int64 {
        if let id = ids[name] { return id }
        let id = Int64(ids.count + 1)
        ids[name] = id
        add.bind(1, id)
        try add.run(texts: [(2, name)])
        return id
    }
}
