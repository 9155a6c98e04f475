// Tidemark
// SPDX-License-Identifier: Apache-2.0

import GRDB
import GRDBSQLite

/// The error for a failed read or write of the query index.
package struct QueryIndexError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The remedy for the error.
    package enum Reason: Hashable, Sendable {
        /// The index is damaged: delete its files, and rebuild it from the log.
        case damaged
        /// The disk is full.
        case full
        /// The index cannot be opened at present.
        case unavailable
        /// The index is sound, but the operation failed.
        case failed
    }

    /// The remedy for the error.
    package let reason: Reason
    /// The operation, and the cause of its failure.
    package let message: String

    /// Describes a failure.
    package init(_ reason: Reason, _ message: String) {
        self.reason = reason
        self.message = message
    }

    /// The message.
    package var description: String { message }

    init(_ attempt: String, _ error: any Error) {
        switch error {
        case let error as QueryIndexError: self = error
        case let error as DatabaseError:
            self.init(
                code: error.resultCode.primaryResultCode.rawValue,
                "The query index failed while \(attempt): \(error)"
            )
        // A row has a value of another type than the index writes.
        case is RowDecodingError:
            self.init(.damaged, "The query index is damaged; it failed while \(attempt): \(error)")
        default: self.init(.failed, "The query index failed while \(attempt): \(error)")
        }
    }

    /// Creates the error for a primary result code of SQLite.
    init(code: Int32, _ message: String) {
        switch code {
        // The index is a cache. For all of these, deleting the files and rebuilding the index is
        // the remedy.
        case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_FORMAT, SQLITE_IOERR, SQLITE_CONSTRAINT,
            SQLITE_MISUSE, SQLITE_MISMATCH, SQLITE_READONLY:
            self.init(.damaged, message)
        case SQLITE_FULL: self.init(.full, message)
        // Usually no descriptors are left; the index may be sound.
        case SQLITE_CANTOPEN: self.init(.unavailable, message)
        default: self.init(.failed, message)
        }
    }
}
