// Tidemark
// SPDX-License-Identifier: Apache-2.0

import GRDB
import TidemarkLock
import TidemarkModel

/// Live records in SQLite tables, so that queries find them without reading all records.
///
/// The index is a projection of the log: it applies changes in the order of their sequence numbers,
/// stores its position in the same transaction, and can be deleted at any time. One row holds one
/// live record, under the sequence number of the event that saved it; queries return those numbers.
///
/// Every value of every unencrypted field has a column or, for lists, a table. Their indexes are
/// created by the first query that needs them and kept afterwards, so that updates do not pay for
/// unused indexes.
package final class QueryIndex: Sendable {
    let database: any DatabaseWriter
    /// The connections that pages are read with; `nil` in memory, where there is only one connection.
    let readers: QueryReaders?
    let catalog: Lock<Catalog>
    /// The numbers of columns of the types to which updates have added some, also of an update that is
    /// about to commit.
    let columnCounts = Lock<[Int64: Int]>([:])
    /// The prepared statements of each connection.
    let prepared = Lock<[ObjectIdentifier: PreparedPages]>([:])
    /// The SQL of earlier simple queries.
    let forms = Lock(KnownForms())
    /// By the hash of a statement's text, whether SQLite sorts its rows.
    ///
    /// Only speed depends on it. It is forgotten when a query makes an index, and when many changes drop
    /// them.
    let sorting = Lock<[Int: Bool]>([:])

    /// Opens the index at a path, or creates it; without a path, the index is in memory.
    ///
    /// An index of another format, or of another store (`identity` differs), is emptied. The owner
    /// must check by ``position`` that the store still has the events of the index.
    /// `readerCacheByteCount` is the size of the cache of each connection for reading.
    package init(
        path: String?,
        identity: String,
        readerCacheByteCount: Int = 8 << 20
    ) throws(QueryIndexError) {
        do {
            if let path {
                database = try DatabasePool(path: path, configuration: Self.configuration)
                readers = QueryReaders(
                    path: path,
                    configuration: Self.configuration,
                    cacheByteCount: readerCacheByteCount
                )
            } else {
                database = try DatabaseQueue(configuration: Self.configuration)
                readers = nil
            }
            let catalog = try database.write { database in
                var catalog = try Catalog.open(database, identity: identity)
                try catalog.measure(database)
                return catalog
            }
            self.catalog = Lock(catalog)
        } catch {
            throw QueryIndexError("opening", error)
        }
    }

    /// The settings of every connection.
    private static var configuration: Configuration {
        var configuration = Configuration()
        // A task may still have been running when the store was closed and opened again.
        configuration.busyMode = .timeout(10)
        configuration.prepareDatabase { database in
            // Only data that is also in the log can be lost, so no commit waits for the disk.
            // The writer accesses all indexes at random, and would read them repeatedly with a
            // small cache. `QueryReaders` says when a reader uses its own.
            //
            // An update of many changes makes SQLite's log long. After the log was moved, the next
            // write cuts it to 64 MiB. `SQLLog` says when it is moved.
            try database.execute(
                sql: """
                    PRAGMA page_size = 8192;
                    PRAGMA synchronous = NORMAL;
                    PRAGMA cache_size = -65536;
                    PRAGMA mmap_size = 0;
                    PRAGMA journal_size_limit = 67108864;
                    PRAGMA threads = 1;
                    """
            )
            SQLLog.bound(in: database)
            SQLFunctions.add(to: database)
        }
        return configuration
    }

    /// The position of the log up to which changes have been applied.
    package var position: IndexPosition { catalog.withLock(\.position) }

    /// Closes the files; any later use of the index throws an error.
    package func close() {
        readers?.close()
        // This interrupts running statements.
        try? database.close()
    }

    /// Applies changes up to a position, all or nothing.
    ///
    /// Changes must be in ascending order; those up to ``position`` are skipped. Without a
    /// position, the changes are a part of an index that is being built: until a position is given,
    /// the next open starts over. If the task is cancelled before the commit, this applies nothing
    /// and throws an error with the reason `failed`.
    package func apply(
        _ changes: [IndexedChange],
        through position: IndexPosition?
    ) async throws(QueryIndexError) {
        let cancellation = Cancellation()
        do {
            try await withTaskCancellationHandler {
                try await write { database, catalog in
                    var writer = try RowWriter(database, catalog, cancellation)
                    let known = writer.catalog.position.sequence
                    let new = changes.firstIndex { $0.sequence > known } ?? changes.endIndex
                    try writer.apply(changes[new...])
                    try writer.finish(through: position)
                    return writer.catalog
                }
            } onCancel: {
                cancellation.request()
            }
        } catch {
            let error = QueryIndexError("applying changes", error)
            // No client can cause this, so a value that cannot be written is damaged.
            throw [.full, .unavailable].contains(error.reason) || Task.isCancelled
                ? error : QueryIndexError(.damaged, error.message)
        }
    }

    /// Changes the database in a transaction, and publishes the catalog that a closure returns.
    private func write(
        _ change: @Sendable (Database, Catalog) throws -> Catalog
    ) async throws {
        try await database.writeWithoutTransaction { [self] database in
            // SQLite runs one write at a time, and the catalog changes only in writes. This copy is
            // therefore still right when it is published.
            let known = catalog.withLock { $0 }
            var written = known
            var added: [Int64: Int] = [:]
            do {
                try database.inTransaction {
                    written = try change(database, known)
                    added = written.columnCounts(since: known)
                    // Before the commit, so that a page that reads what it writes finds them.
                    columnCounts.withLock { $0.merge(added) { $1 } }
                    return .commit
                }
            } catch {
                columnCounts.withLock { counts in
                    for id in added.keys {
                        counts[id] = known.types.first { $0.id == id }?.columns.count
                    }
                }
                throw error
            }
            // Only after the commit, and not by an observer of the transaction: none is called if the
            // commit itself fails.
            catalog.withLock { $0 = written }
        }
    }

    /// Prepares for a number of changes: if they are most of the future content, creating indexes
    /// again costs less than updating them.
    package func prepare(for changeCount: Int) async throws(QueryIndexError) {
        let catalog = catalog.withLock { $0 }
        let rowCount = catalog.types.lazy.map(\.rowCount).reduce(0, +)
        guard !catalog.made.isEmpty, changeCount > max(Self.fewChanges, rowCount / 2) else {
            return
        }
        do {
            try await write { database, catalog in
                var maker = IndexMaker(database, catalog)
                // A query that needs one of them meanwhile creates it again, as `page` does.
                for name in maker.catalog.made.keys.sorted() { try maker.drop(name) }
                return maker.catalog
            }
            sorting.withLock { $0 = [:] }
        } catch {
            throw QueryIndexError("dropping indexes", error)
        }
    }

    /// Moves applied changes to the place where readers find them fastest; called after many
    /// changes.
    package func settle() async throws(QueryIndexError) {
        do {
            try await database.writeWithoutTransaction { database in
                // If a reader keeps this from completing, it continues at the next call.
                _ = try? database.checkpoint(.passive)
            }
        } catch {
            throw QueryIndexError("moving its log", error)
        }
    }

    /// The number of changes below which no index is dropped.
    private static let fewChanges = 20_000

    /// Creates the indexes that a query needs and that do not exist yet.
    func make(_ needed: [NeededIndex]) async throws {
        let missing = missing(needed)
        guard !missing.isEmpty else { return }
        try await write { database, catalog in
            var maker = IndexMaker(database, catalog)
            // Another query may have created some of them since `missing` was read. `make` skips
            // those.
            for index in missing { try maker.make(index) }
            var written = maker.catalog
            try written.measure(database)
            return written
        }
        sorting.withLock { $0 = [:] }
        // A new index is as large as its column, and the query is about to read it.
        try await settle()
    }

    private func missing(_ needed: [NeededIndex]) -> [NeededIndex] {
        catalog.withLock { catalog in needed.filter { catalog.made[$0.name] == nil } }
    }

    /// Returns true if all indexes that a query needs exist.
    func has(_ needed: [NeededIndex]) -> Bool { missing(needed).isEmpty }
}

/// The statements that a connection keeps prepared.
///
/// GRDB evicts none, and every number of zones and of values in a list results in another text.
struct PreparedPages {
    static let countLimit = 200
    private static let byteCountLimit = 1 << 20

    private var known: Set<Int> = []
    private var byteCount = 0
    /// The number of prepared statements.
    var count: Int { known.count }

    /// Adds a statement that is run; `false` if all others are to be evicted first.
    mutating func add(_ sql: String) -> Bool {
        // Two texts with one hash count once, which only makes the limits less exact.
        guard known.insert(sql.hashValue).inserted else { return true }
        byteCount += sql.utf8.count
        if known.count <= Self.countLimit, byteCount <= Self.byteCountLimit { return true }
        // The caller evicts all statements, and then runs this one.
        known = [sql.hashValue]
        byteCount = sql.utf8.count
        return false
    }
}
