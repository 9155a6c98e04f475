// Tidemark
// SPDX-License-Identifier: Apache-2.0

import GRDB
import GRDBSQLite

/// Why the query index could not be read or written.
package struct QueryIndexError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What there is to do about it.
    package enum Reason: Hashable, Sendable {
        /// The index is not what it should be: delete its files, and build it anew from the log.
        case damaged
        /// The disk is full.
        case full
        /// The index is sound, but could not do this.
        case failed
    }

    /// What there is to do about it.
    package let reason: Reason
    /// What was attempted, and what happened.
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
        default: self.init(.failed, "The query index failed while \(attempt): \(error)")
        }
    }

    /// What a primary result code of SQLite's means for the index.
    init(code: Int32, _ message: String) {
        switch code {
        case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_FORMAT, SQLITE_IOERR, SQLITE_CANTOPEN,
            SQLITE_CONSTRAINT, SQLITE_MISUSE, SQLITE_MISMATCH, SQLITE_READONLY:
            self.init(.damaged, message)
        case SQLITE_FULL: self.init(.full, message)
        default: self.init(.failed, message)
        }
    }
}
