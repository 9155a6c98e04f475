// Tidemark
// SPDX-License-Identifier: Apache-2.0

import GRDB
import Synchronization
import TidemarkModel

/// Live records in tables of SQLite, so that queries find them without reading them all.
///
/// A projection of the log: it takes changes in the order of their sequence numbers, stores in the
/// same transaction how far it came, and can be deleted at any time. One row holds one live record,
/// under the sequence number of the event that saved it; what a query answers with are those numbers.
///
/// Every value of every field that is not encrypted has a column or, for lists, a table. Indexes on
/// them are made by the first query that needs them and kept from then on, so that catching up does
/// not pay for what nobody asks.
package final class QueryIndex: Sendable {
    let database: any DatabaseWriter
    let catalog: Mutex<Catalog>
    /// What each connection keeps prepared.
    let prepared = Mutex<[ObjectIdentifier: PreparedPages]>([:])

    /// Opens the index at a path, or makes it; without a path it is in memory.
    ///
    /// An index of another format, or of another store (`identity` differs), is emptied. Whether a
    /// store still has what the index has taken in is for its owner to find out by ``position``.
    package init(path: String?, identity: String) throws(QueryIndexError) {
        do {
            var configuration = Configuration()
            // A task that was still at work when the store was closed and opened again.
            configuration.busyMode = .timeout(10)
            configuration.prepareDatabase { database in
                // Nothing is lost that the log does not hold, so no commit waits for the disk. The
                // writer touches all indexes at random; with a small cache it would read them again
                // and again.
                //
                // Readers share the system's copy of the file instead of having one each.
                let isReader = database.configuration.readonly
                try database.execute(
                    sql: """
                        PRAGMA synchronous = NORMAL;
                        PRAGMA cache_size = -\(isReader ? 8 << 10 : 64 << 10);
                        PRAGMA mmap_size = \(isReader ? Int64.max : 0);
                        PRAGMA wal_autocheckpoint = 16384;
                        PRAGMA threads = 1;
                        """
                )
                SQLFunctions.add(to: database)
            }
            if let path {
                database = try DatabasePool(path: path, configuration: configuration)
            } else {
                database = try DatabaseQueue(configuration: configuration)
            }
            let catalog = try database.write { database in
                try Catalog.open(database, identity: identity)
            }
            self.catalog = Mutex(catalog)
        } catch {
            throw QueryIndexError("opening", error)
        }
    }

    /// How far the log has been taken in.
    package var position: IndexPosition { catalog.withLock(\.position) }

    /// Lets go of the files; whoever uses the index from now on meets an error.
    package func close() {
        // What keeps a connection busy ends with it.
        try? database.close()
    }

    /// Takes in what happened up to a position, all or nothing.
    ///
    /// Changes are in ascending order; those up to ``position`` are passed over. Without a position
    /// they are a part of an index that is being made: until one is given, opening it begins anew.
    package func apply(
        _ changes: [IndexedChange],
        through position: IndexPosition?
    ) async throws(QueryIndexError) {
        do {
            try await database.write { [self] database in
                var writer = try RowWriter(database, catalog.withLock { $0 })
                let known = writer.catalog.position.sequence
                let new = changes.firstIndex { $0.sequence > known } ?? changes.endIndex
                try writer.apply(changes[new...])
                try writer.finish(through: position)
                let written = writer.catalog
                database.afterNextTransaction { [self] _ in catalog.withLock { $0 = written } }
            }
        } catch {
            let error = QueryIndexError("taking in changes", error)
            // No client can bring this about, so what cannot be written is not as it should be.
            throw error.reason == .full ? error : QueryIndexError(.damaged, error.message)
        }
    }

    /// Gets ready to take in so many changes: where they are most of what there will be, indexes
    /// cost less to make anew than to keep up to date.
    package func prepare(for changeCount: Int) async throws(QueryIndexError) {
        let catalog = catalog.withLock { $0 }
        let rowCount = catalog.types.lazy.map(\.rowCount).reduce(0, +)
        guard !catalog.made.isEmpty, changeCount > max(Self.fewChanges, rowCount / 2) else {
            return
        }
        do {
            try await database.write { [self] database in
                var maker = IndexMaker(database, self.catalog.withLock { $0 })
                for name in maker.catalog.made.keys.sorted() { try maker.drop(name) }
                let written = maker.catalog
                database.afterNextTransaction { [self] _ in self.catalog.withLock { $0 = written } }
            }
        } catch {
            throw QueryIndexError("dropping indexes", error)
        }
    }

    /// Moves what was taken in to where readers find it fastest; after many changes.
    package func settle() async throws(QueryIndexError) {
        do {
            try await database.writeWithoutTransaction { database in
                // One that a reader keeps from being complete goes on the next time.
                _ = try? database.checkpoint(.passive)
            }
        } catch {
            throw QueryIndexError("moving its log", error)
        }
    }

    /// For fewer changes no index is ever dropped.
    private static let fewChanges = 20_000

    /// Makes the indexes that a query needs and nobody needed before.
    func make(_ needed: [NeededIndex]) async throws {
        let missing = missing(needed)
        guard !missing.isEmpty else { return }
        try await database.write { [self] database in
            var maker = IndexMaker(database, catalog.withLock { $0 })
            for index in missing { try maker.make(index) }
            let written = maker.catalog
            database.afterNextTransaction { [self] _ in catalog.withLock { $0 = written } }
        }
        try await settle()
    }

    private func missing(_ needed: [NeededIndex]) -> [NeededIndex] {
        catalog.withLock { catalog in needed.filter { catalog.made[$0.name] == nil } }
    }

    /// Whether all indexes that a query needs are there.
    func has(_ needed: [NeededIndex]) -> Bool { missing(needed).isEmpty }
}

/// Which pages' statements a connection keeps prepared: GRDB forgets none, and every number of zones
/// and of values in a list makes another text.
struct PreparedPages {
    private static let countLimit = 200
    private static let byteCountLimit = 1 << 20

    private var known: Set<Int> = []
    private var byteCount = 0
    /// How many statements are kept.
    var count: Int { known.count }

    /// Takes note of a statement that is run; `false` if all others are to be forgotten first.
    mutating func add(_ sql: String) -> Bool {
        guard known.insert(sql.hashValue).inserted else { return true }
        byteCount += sql.utf8.count
        if known.count <= Self.countLimit, byteCount <= Self.byteCountLimit { return true }
        known = [sql.hashValue]
        byteCount = sql.utf8.count
        return false
    }
}
