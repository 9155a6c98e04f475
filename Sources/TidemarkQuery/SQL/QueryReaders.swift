// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import GRDB
import TidemarkLock

/// The read-only connections of an index, for reads on the callers' threads.
///
/// GRDB's pool asks SQLite for the version of the schema before each read, and waits on two queues.
/// These connections read only by statements that SQLite itself prepares again when the schema has
/// changed (`Docs/decisions/0008-query-index.md`).
///
/// A connection has a cache of pages, which SQLite empties after each change of the index. An index
/// that fits into it is read with it. A larger one is read from a memory map of the file, which costs
/// less than copying each page, if the connection has read it at this position before. After a change,
/// SQLite removes the map, and faults for its pages cost more than copies of them.
final class QueryReaders: Sendable {
    private let path: String
    private let configuration: Configuration
    /// The size of a connection's cache.
    private let cacheByteCount: Int
    private let state = Lock(State())

    /// The state of the index when a read begins.
    struct Content {
        /// The sequence number of the last change.
        var sequence: UInt64
        var byteCount: Int
    }

    private struct Reader {
        let connection: DatabaseQueue
        /// The last change that was in the index at the last read.
        var sequence: UInt64?
        var isMapped = false
    }

    private struct State {
        /// The connections that no read uses.
        var idle: [Reader] = []
        var isClosed = false
    }

    /// The reads under way; closing waits for them.
    private let reading = DispatchGroup()

    /// The number of idle connections to keep; each has a cache of pages and prepared statements.
    private static let idleCountLimit = 8

    init(path: String, configuration: Configuration, cacheByteCount: Int) {
        var configuration = configuration
        configuration.readonly = true
        configuration.prepareDatabase { database in
            try database.execute(sql: "PRAGMA cache_size = -\(cacheByteCount >> 10)")
        }
        self.cacheByteCount = cacheByteCount
        self.path = path
        self.configuration = configuration
    }

    /// Reads with a connection that no other reader uses meanwhile.
    ///
    /// `onClose` is called before a connection is closed, because more readers are idle than are
    /// kept. What is noted of the connection must be dropped: another one may get its identifier.
    func read<Answer>(
        _ content: Content,
        _ body: (Database) throws -> Answer,
        onClose: (ObjectIdentifier) -> Void
    ) throws -> Answer {
        let idle = try begin()
        defer { reading.leave() }
        var reader =
            try idle
            ?? Reader(connection: DatabaseQueue(path: path, configuration: configuration))
        defer { putBack(reader, onClose) }
        let isMapped =
            content.byteCount > cacheByteCount && content.sequence == reader.sequence
        reader.sequence = content.sequence
        return try reader.connection.unsafeRead { database in
            if isMapped != reader.isMapped {
                try database.execute(sql: "PRAGMA mmap_size = \(isMapped ? Int64.max : 0)")
                reader.isMapped = isMapped
            }
            return try body(database)
        }
    }

    /// Begins a read; returns an idle connection if there is one.
    private func begin() throws -> Reader? {
        try state.withLock { state in
            guard !state.isClosed else {
                throw DatabaseError(resultCode: .SQLITE_MISUSE, message: "The index is closed.")
            }
            // Under the lock under which `close` sets `isClosed`, so that it waits for every read.
            reading.enter()
            return state.idle.popLast()
        }
    }

    private func putBack(_ reader: Reader, _ onClose: (ObjectIdentifier) -> Void) {
        let isKept = state.withLock { state in
            guard !state.isClosed, state.idle.count < Self.idleCountLimit else { return false }
            state.idle.append(reader)
            return true
        }
        if isKept { return }
        onClose(reader.connection.unsafeRead { ObjectIdentifier($0) })
        try? reader.connection.close()
    }

    /// Waits for the reads under way, and closes the connections.
    ///
    /// A connection that outlived the index would keep files open that the owner may replace.
    func close() {
        let idle = state.withLock { state in
            state.isClosed = true
            defer { state.idle = [] }
            return state.idle
        }
        for reader in idle { try? reader.connection.close() }
        reading.wait()
    }
}
