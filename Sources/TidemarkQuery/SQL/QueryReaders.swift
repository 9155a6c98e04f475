// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import GRDB
import Synchronization

/// The read-only connections of an index, for reads on the callers' threads.
///
/// GRDB's pool asks SQLite for the version of the schema before each read, and waits on two queues.
/// These connections read only by statements that SQLite itself prepares again when the schema has
/// changed (`Docs/decisions/0008-query-index.md`).
final class QueryReaders: Sendable {
    private let path: String
    private let configuration: Configuration
    private let state = Mutex(State())

    private struct State {
        /// The connections that no reader uses.
        var idle: [DatabaseQueue] = []
        var isClosed = false
    }

    /// The reads under way; closing waits for them.
    private let reading = DispatchGroup()

    /// The number of idle connections to keep; each has a cache of pages and prepared statements.
    private static let idleCountLimit = 8

    init(path: String, configuration: Configuration) {
        var configuration = configuration
        configuration.readonly = true
        self.path = path
        self.configuration = configuration
    }

    /// Reads with a connection that no other reader uses meanwhile.
    ///
    /// `onClose` is called before a connection is closed, because more readers are idle than are
    /// kept. What is noted of the connection must be dropped: another one may get its identifier.
    func read<Answer>(
        _ body: (Database) throws -> Answer,
        onClose: (ObjectIdentifier) -> Void
    ) throws -> Answer {
        let idle = try begin()
        defer { reading.leave() }
        let connection = try idle ?? DatabaseQueue(path: path, configuration: configuration)
        defer { putBack(connection, onClose) }
        return try connection.unsafeRead(body)
    }

    /// Begins a read; returns an idle connection if there is one.
    private func begin() throws -> DatabaseQueue? {
        try state.withLock { state in
            guard !state.isClosed else {
                throw DatabaseError(resultCode: .SQLITE_MISUSE, message: "The index is closed.")
            }
            // Under the lock under which `close` sets `isClosed`, so that it waits for every read.
            reading.enter()
            return state.idle.popLast()
        }
    }

    private func putBack(_ connection: DatabaseQueue, _ onClose: (ObjectIdentifier) -> Void) {
        let isKept = state.withLock { state in
            guard !state.isClosed, state.idle.count < Self.idleCountLimit else { return false }
            state.idle.append(connection)
            return true
        }
        if isKept { return }
        onClose(connection.unsafeRead { ObjectIdentifier($0) })
        try? connection.close()
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
        for connection in idle { try? connection.close() }
        reading.wait()
    }
}
