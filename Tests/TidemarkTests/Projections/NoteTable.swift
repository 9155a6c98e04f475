// Tidemark
// SPDX-License-Identifier: Apache-2.0

import GRDB
import Tidemark

/// The titles of all notes of one database, in a table of SQLite.
struct NoteTable: Projection {
    let databaseID: DatabaseID?
    let database: any DatabaseWriter

    init(_ database: any DatabaseWriter, of databaseID: DatabaseID) throws {
        self.databaseID = databaseID
        self.database = database
        try database.write { db in
            try db.execute(
                sql: """
                    CREATE TABLE IF NOT EXISTS note (
                        zone TEXT, name TEXT, title TEXT, PRIMARY KEY (zone, name));
                    CREATE TABLE IF NOT EXISTS progress (mark TEXT);
                    """
            )
        }
    }

    func mark() async throws -> ProjectionMark? {
        let text = try await database.read { db in
            try String.fetchOne(db, sql: "SELECT mark FROM progress")
        }
        return text.flatMap { ProjectionMark($0) }
    }

    func take(_ commits: [ProjectedCommit], through mark: ProjectionMark) async throws {
        // One transaction for the rows and the mark: after a crash there are both or neither.
        try await database.write { db in
            for change in commits.flatMap(\.line.changes) {
                switch change {
                case .save(let id, _, let fields, _):
                    var title: String?
                    if case .string(let text) = fields["title"] { title = text }
                    try db.execute(
                        sql: "INSERT OR REPLACE INTO note VALUES (?, ?, ?)",
                        arguments: [id.zone.zoneName, id.recordName, title]
                    )
                case .delete(let id):
                    try db.execute(
                        sql: "DELETE FROM note WHERE zone = ? AND name = ?",
                        arguments: [id.zone.zoneName, id.recordName]
                    )
                case .createZone:
                    break
                case .deleteZone(let zone, _):
                    try db.execute(
                        sql: "DELETE FROM note WHERE zone = ?",
                        arguments: [zone.zoneName]
                    )
                }
            }
            try db.execute(sql: "DELETE FROM progress")
            try db.execute(sql: "INSERT INTO progress VALUES (?)", arguments: [mark.description])
        }
    }

    func reset(_ reason: ProjectionReset) async throws {
        try await database.write { db in
            try db.execute(sql: "DELETE FROM note; DELETE FROM progress;")
        }
    }
}
