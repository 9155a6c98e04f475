// Tidemark
// SPDX-License-Identifier: Apache-2.0

import GRDB
import GRDBSQLite

/// The rule by which SQLite's log is moved to the file of the index.
///
/// A long log makes updates fast, because a page that changes often is moved once. But it needs
/// space of its own. So it has as many pages as the index, within bounds.
enum SQLLog {
    /// The least and the most pages at which the log is moved, of 8 KiB each in a new index.
    private static let pageCounts: ClosedRange<Int32> = 512...8192

    /// Moves the log of a connection after its commits, in place of SQLite's own rule.
    static func bound(in database: Database) {
        let moves:
            @convention(c) (
                UnsafeMutableRawPointer?, OpaquePointer?, UnsafePointer<CChar>?, Int32
            ) -> Int32 = { _, connection, name, pageCount in
                if SQLLog.isLong(pageCount, connection) {
                    // Waits for nobody: if a reader keeps this from completing, it continues after the
                    // next commit. A failure leaves the log as it is.
                    sqlite3_wal_checkpoint_v2(connection, name, SQLITE_CHECKPOINT_PASSIVE, nil, nil)
                }
                return SQLITE_OK
            }
        sqlite3_wal_hook(database.sqliteConnection, moves, nil)
    }

    private static func isLong(_ pageCount: Int32, _ connection: OpaquePointer?) -> Bool {
        if pageCount < pageCounts.lowerBound { return false }
        return pageCount >= pageCounts.upperBound || pageCount >= indexPageCount(connection)
    }

    /// The number of pages of the index; the most there can be if it cannot be read.
    private static func indexPageCount(_ connection: OpaquePointer?) -> Int32 {
        var statement: OpaquePointer?
        defer { sqlite3_finalize(statement) }
        guard sqlite3_prepare_v2(connection, "PRAGMA page_count", -1, &statement, nil) == SQLITE_OK,
            sqlite3_step(statement) == SQLITE_ROW
        else { return .max }
        return sqlite3_column_int(statement, 0)
    }
}
