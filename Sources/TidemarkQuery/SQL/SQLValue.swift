// Tidemark
// SPDX-License-Identifier: Apache-2.0

import GRDB
import GRDBSQLite

/// A value in SQLite.
///
/// Texts are stored as blobs, which keep every byte, including NUL, and sort by bytes.
enum SQLValue: Hashable, Sendable {
    case null
    case int(Int64)
    case real(Double)
    case blob([UInt8])

    /// Returns a text's bytes.
    static func text(_ text: String) -> SQLValue { .blob(Array(text.utf8)) }
}

/// A statement whose values are bound and read through SQLite's own functions: GRDB's bindings
/// would create several objects per value, and end texts at a NUL.
struct PreparedStatement {
    /// Keeps the statement alive.
    private let statement: Statement
    private let handle: OpaquePointer
    private let connection: OpaquePointer?

    init(_ sql: String, _ database: Database) throws {
        // A cached statement may have the bindings of an earlier use, or be unfinished after an
        // error. `reset` below clears both.
        statement = try database.cachedStatement(sql: sql)
        handle = statement.sqliteStatement
        connection = database.sqliteConnection
        reset()
    }

    var columnCount: Int { Int(sqlite3_column_count(handle)) }

    /// Resets the statement for another run, and clears all bindings.
    func reset() {
        sqlite3_reset(handle)
        sqlite3_clear_bindings(handle)
    }

    /// Binds values to the parameters in order; extra values are ignored.
    func bind(_ values: [SQLValue]) {
        let count = Int(sqlite3_bind_parameter_count(handle))
        for (index, value) in values.prefix(count).enumerated() { bind(value, at: index + 1) }
    }

    /// Binds a value to a parameter; the first parameter is 1.
    func bind(_ value: SQLValue, at index: Int) {
        let index = Int32(truncatingIfNeeded: index)
        switch value {
        case .null: sqlite3_bind_null(handle, index)
        case .int(let number): sqlite3_bind_int64(handle, index, number)
        case .real(let number): sqlite3_bind_double(handle, index, number)
        case .blob(let bytes): bytes.withUnsafeBytes { bind($0, at: index) }
        }
    }

    /// Binds a text's bytes.
    func bind(text: String, at index: Int) {
        var text = text
        let index = Int32(truncatingIfNeeded: index)
        text.withUTF8 { bind(UnsafeRawBufferPointer($0), at: index) }
    }

    /// Binds bytes of a record.
    func bind(_ bytes: RawSpan, at index: Int) {
        bytes.withUnsafeBytes { bind($0, at: Int32(truncatingIfNeeded: index)) }
    }

    private func bind(_ bytes: UnsafeRawBufferPointer, at index: Int32) {
        // A null pointer would bind NULL.
        guard let start = bytes.baseAddress, !bytes.isEmpty else {
            sqlite3_bind_zeroblob(handle, index, 0)
            return
        }
        // SQLite copies the bytes before the call returns.
        let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        sqlite3_bind_blob(handle, index, start, Int32(truncatingIfNeeded: bytes.count), transient)
    }

    /// Moves to the next row; returns false at the end.
    func step() throws -> Bool {
        switch sqlite3_step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        default:
            let message = sqlite3_errmsg(connection).map { String(cString: $0) } ?? "unknown error"
            let code = sqlite3_errcode(connection) & 0xFF
            sqlite3_reset(handle)
            throw QueryIndexError(code: code, "SQLite: \(message), in: \(statement.sql)")
        }
    }

    /// Runs a statement without rows, and resets it.
    func run() throws {
        while try step() {}
        reset()
    }

    /// Returns a text of SQLite's own output.
    func text(at index: Int) -> String {
        sqlite3_column_text(handle, Int32(truncatingIfNeeded: index)).map { String(cString: $0) }
            ?? ""
    }

    func int64(at index: Int) -> Int64 {
        sqlite3_column_int64(handle, Int32(truncatingIfNeeded: index))
    }

    /// Calls a closure with the bytes of a text.
    func withBytes<Result>(at index: Int, _ body: (RawSpan) throws -> Result) rethrows -> Result {
        let found = bytes(at: index)
        return try body(found.bytes)
    }

    /// Returns the bytes of a blob in place, which are valid until the next step; empty if there is
    /// no value.
    func bytes(at index: Int) -> UnsafeRawBufferPointer {
        // The column is read once for both. The value needs no lock, because only one thread at a
        // time uses a connection.
        let value = sqlite3_column_value(handle, Int32(truncatingIfNeeded: index))
        return UnsafeRawBufferPointer(
            start: sqlite3_value_blob(value),
            count: Int(sqlite3_value_bytes(value))
        )
    }

    func value(at index: Int) -> SQLValue {
        let column = Int32(truncatingIfNeeded: index)
        switch sqlite3_column_type(handle, column) {
        case SQLITE_INTEGER: return .int(sqlite3_column_int64(handle, column))
        case SQLITE_FLOAT: return .real(sqlite3_column_double(handle, column))
        case SQLITE_NULL: return .null
        default: return .blob(Array(bytes(at: index)))
        }
    }
}
