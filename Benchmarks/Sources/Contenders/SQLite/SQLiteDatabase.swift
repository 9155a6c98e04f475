// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CSQLite

/// A call of SQLite that did not succeed.
package struct SQLiteError: Error, CustomStringConvertible {
    /// What was tried and what SQLite said.
    package let description: String
}

/// One connection.
final class SQLiteDatabase {
    let handle: OpaquePointer
    private var isOpen = true
    /// Those that programs have prepared; full-text tables have more of their own.
    fileprivate var statements: Set<OpaquePointer> = []

    init(_ path: String) throws {
        var opened: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
        let status = sqlite3_open_v2(path, &opened, flags, nil)
        guard status == SQLITE_OK, let opened else {
            sqlite3_close_v2(opened)
            throw SQLiteError(description: "open \(path): status \(status)")
        }
        handle = opened
    }

    deinit { close() }

    /// Ends every statement and the connection, which moves the WAL into the database.
    func close() {
        guard isOpen else { return }
        isOpen = false
        for statement in statements { sqlite3_finalize(statement) }
        statements = []
        sqlite3_close_v2(handle)
    }

    func run(_ sql: String) throws {
        try check(sqlite3_exec(handle, sql, nil, nil, nil), sql)
    }

    func prepare(_ sql: String) throws -> SQLiteStatement {
        try SQLiteStatement(self, sql)
    }

    /// The one number that a query gives; 0 where it gives none.
    func number(_ sql: String) throws -> Int64 {
        let statement = try prepare(sql)
        return try statement.step() ? statement.int(0) : 0
    }

    func check(_ status: Int32, _ what: String) throws {
        guard status == SQLITE_OK else {
            let message = String(cString: sqlite3_errmsg(handle))
            throw SQLiteError(description: "\(what): \(message) (\(status))")
        }
    }
}

/// One prepared statement.
///
/// Parameters and columns are counted as SQLite counts them: from 1, from 0.
final class SQLiteStatement {
    private let database: SQLiteDatabase
    private let handle: OpaquePointer

    init(_ database: SQLiteDatabase, _ sql: String) throws {
        var prepared: OpaquePointer?
        let status = sqlite3_prepare_v3(
            database.handle,
            sql,
            -1,
            UInt32(SQLITE_PREPARE_PERSISTENT),
            &prepared,
            nil
        )
        try database.check(status, sql)
        guard let prepared else { throw SQLiteError(description: "nothing in: \(sql)") }
        self.database = database
        handle = prepared
        database.statements.insert(prepared)
    }

    deinit { if database.statements.remove(handle) != nil { sqlite3_finalize(handle) } }

    @inline(__always)
    func bind(_ index: Int32, _ number: Int64) {
        sqlite3_bind_int64(handle, index, number)
    }

    func bind(_ index: Int32, real number: Double) {
        sqlite3_bind_double(handle, index, number)
    }

    /// The bytes must stay where they are until the statement is reset.
    @inline(__always)
    func bind(_ index: Int32, text bytes: UnsafeRawBufferPointer) {
        sqlite3_bind_text(
            handle,
            index,
            bytes.baseAddress?.assumingMemoryBound(to: CChar.self),
            Int32(bytes.count),
            nil
        )
    }

    /// The bytes must stay where they are until the statement is reset.
    @inline(__always)
    func bind(_ index: Int32, blob bytes: UnsafeRawBufferPointer) {
        sqlite3_bind_blob(handle, index, bytes.baseAddress, Int32(bytes.count), nil)
    }

    /// Whether there is a row.
    ///
    /// After the last one the statement is ready for the next use.
    @inline(__always)
    func step() throws -> Bool {
        let status = sqlite3_step(handle)
        if status == SQLITE_ROW { return true }
        sqlite3_reset(handle)
        if status != SQLITE_DONE { try database.check(status, "step") }
        return false
    }

    /// Binds texts, which stay where they are for just this step, and steps.
    func run(texts: [(index: Int32, text: String)]) throws {
        let copies = texts.map { Array($0.text.utf8) }
        try run(texts.map(\.index), copies[...])
    }

    private func run(_ indexes: [Int32], _ texts: ArraySlice<[UInt8]>) throws {
        guard let text = texts.first, let index = indexes.first else {
            _ = try step()
            return
        }
        try text.withUnsafeBytes {
            bind(index, text: $0)
            try run(Array(indexes.dropFirst()), texts.dropFirst())
        }
    }

    func clear(_ indexes: ClosedRange<Int32>) {
        for index in indexes { sqlite3_bind_null(handle, index) }
    }

    func reset() { sqlite3_reset(handle) }

    @inline(__always)
    func int(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

    func real(_ column: Int32) -> Double { sqlite3_column_double(handle, column) }

    /// Valid until the next step.
    @inline(__always)
    func bytes(_ column: Int32) -> UnsafeRawBufferPointer {
        let start = sqlite3_column_blob(handle, column)
        return UnsafeRawBufferPointer(
            start: start,
            count: Int(sqlite3_column_bytes(handle, column))
        )
    }

    @inline(__always)
    func text(_ column: Int32) -> UnsafeRawBufferPointer {
        let start = UnsafeRawPointer(sqlite3_column_text(handle, column))
        return UnsafeRawBufferPointer(
            start: start,
            count: Int(sqlite3_column_bytes(handle, column))
        )
    }
}
