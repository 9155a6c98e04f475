// Tidemark
// SPDX-License-Identifier: Apache-2.0

import GRDB
import Synchronization
package import TidemarkModel

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
    private let database: any DatabaseWriter
    private let catalog: Mutex<Catalog>

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
    /// Changes are in ascending order; those up to ``position`` are passed over.
    package func apply(
        _ changes: [IndexedChange],
        through position: IndexPosition
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

    /// Finds a page of records, in the query's order.
    ///
    /// `zones` are the keys of the zones to look into; `scope` is what a cursor belongs to beside its
    /// query, the zones themselves if `nil`. `after` continues where a page of the same
    /// query in the same zones ended: a record that does not change while pages are fetched is on
    /// exactly one of them; one that changes is on the page where its new values put it, if that has
    /// not been fetched yet. `searchedFields` are those that a search in all words looks at, if not
    /// all. Records that `shows` says are not to be shown are passed over, and no cursor tells of them.
    ///
    /// Throws ``QueryIndexError``, and `SyncError` `invalidArguments` for a predicate that makes no
    /// sense or a cursor of another query.
    package func page(
        _ query: Query,
        zones: [UInt64],
        scope: UInt64? = nil,
        after cursor: QueryCursor? = nil,
        limit: Int,
        byteLimit: Int = .max,
        now: Int64,
        searchedFields: [String]? = nil,
        shows: ((IndexedRecord) throws -> Bool)? = nil
    ) async throws -> QueryPage {
        if let problem = query.predicate.problem {
            throw SyncError(.invalidArguments, "The predicate was refused: \(problem)")
        }
        let signature = QueryCursor.signature(of: query, zones: scope.map { [$0] } ?? zones)
        if let cursor, cursor.signature != signature {
            throw SyncError(
                .invalidArguments,
                "The cursor belongs to another query or other zones; repeat the query unchanged."
            )
        }
        let catalog = catalog.withLock { $0 }
        guard let type = catalog.type(named: query.recordType), !zones.isEmpty, limit > 0 else {
            return QueryPage(records: [], next: nil)
        }
        var statement = QueryStatement(type, zones: zones, now: now, searchedFields: searchedFields)
        let rowLimit = shows == nil ? limit + 1 : .max
        guard let selection = statement.select(query, after: cursor, limit: rowLimit) else {
            throw SyncError(
                .invalidArguments,
                "The fields to sort by have got other types since the cursor was made; repeat the "
                    + "query from its beginning."
            )
        }
        guard statement.arguments.count <= Self.valueCountLimit else {
            throw SyncError(
                .limitExceeded,
                "The query compares with \(statement.arguments.count) values; at most "
                    + "\(Self.valueCountLimit) are allowed. Split its lists, and put the results "
                    + "together."
            )
        }
        do {
            try await make(statement.neededIndexes)
            let size = PageSize(count: limit, byteCount: byteLimit)
            return try read { database in
                let sql = try Self.choose(selection, statement.arguments, database)
                return try Self.read(sql, statement.arguments, database, signature, size, shows)
            }
        } catch {
            throw QueryIndexError("answering \(query.description.prefix(200))", error)
        }
    }

    /// Reads on the caller's thread, as the log is read: most pages take less than going to another one.
    ///
    /// Every statement sees one state of the database, so none begins and ends a transaction.
    private func read<Answer>(_ body: (Database) throws -> Answer) throws -> Answer {
        try database.unsafeRead(body)
    }

    /// How many values a query can bind: what SQLite allows unless it was built otherwise.
    private static let valueCountLimit = 32_766

    /// Makes the indexes that a query needs and nobody needed before.
    private func make(_ needed: [NeededIndex]) async throws {
        let missing = catalog.withLock { catalog in
            needed.filter { catalog.made[$0.name] == nil }
        }
        guard !missing.isEmpty else { return }
        try await database.write { [self] database in
            var maker = IndexMaker(database, catalog.withLock { $0 })
            for index in missing { try maker.make(index) }
            let written = maker.catalog
            database.afterNextTransaction { [self] _ in catalog.withLock { $0 = written } }
        }
        try await settle()
    }

    /// How to run a query, by how many records its sets hold.
    private static func choose(
        _ selection: QueryStatement.Selection,
        _ arguments: [SQLValue],
        _ database: Database
    ) throws -> String {
        for probe in selection.probes {
            let statement = try PreparedStatement(probe, database)
            defer { statement.reset() }
            statement.bind(arguments)
            guard try statement.step() else { continue }
            if statement.int64(at: 0) < QueryStatement.Selection.fewCount {
                return selection.textByFewest ?? selection.text
            }
        }
        return selection.text
    }

    /// How much a page may hold.
    private struct PageSize {
        var count: Int
        var byteCount: Int
    }

    private static func read(
        _ sql: String,
        _ arguments: [SQLValue],
        _ database: Database,
        _ signature: UInt64,
        _ size: PageSize,
        _ shows: ((IndexedRecord) throws -> Bool)?
    ) throws -> QueryPage {
        let statement = try PreparedStatement(sql, database)
        // A statement left in the midst of its rows would hold on to what it sees of the database.
        defer { statement.reset() }
        statement.bind(arguments)
        let orderEnd = statement.columnCount - 2
        var records: [IndexedRecord] = []
        records.reserveCapacity(size.count)
        var byteCount = 0
        var next: QueryCursor?
        while try statement.step() {
            let record = try record(of: statement, orderEnd)
            if let shows, try !shows(record) { continue }
            guard next == nil else { return QueryPage(records: records, next: next) }
            records.append(record)
            byteCount += record.body.bytes.count
            if records.count == size.count || byteCount >= size.byteCount {
                let values = (1..<orderEnd).map { statement.value(at: $0) }
                next = QueryCursor(signature: signature, values: values)
            }
        }
        return QueryPage(records: records, next: nil)
    }

    /// The record of a row: its sequence number, what it is ordered by, its checksum and its body.
    private static func record(
        of row: PreparedStatement,
        _ orderEnd: Int
    ) throws -> IndexedRecord {
        let sequence = UInt64(bitPattern: row.int64(at: 0))
        let zone = UInt64(bitPattern: row.int64(at: orderEnd - 1))
        guard let body = try? RecordBody(stored: row.bytes(at: orderEnd + 1)[...]),
            body.checksum(at: sequence) == row.int64(at: orderEnd)
        else {
            throw QueryIndexError(
                .damaged,
                "The query index has no sound body of event \(sequence)."
            )
        }
        return IndexedRecord(sequence: sequence, zone: zone, body: body)
    }
}

/// How far a log has been taken in, and by what to know whether it is still the same log.
package struct IndexPosition: Hashable, Sendable {
    /// The incarnation of the store that wrote the last event.
    package var incarnation: UInt64
    /// The sequence number of the last event; zero for nothing.
    package var sequence: UInt64
    /// When the last event's commit was received, by the store's clock.
    package var received: Int64

    /// Describes a position.
    package init(incarnation: UInt64 = 0, sequence: UInt64 = 0, received: Int64 = 0) {
        self.incarnation = incarnation
        self.sequence = sequence
        self.received = received
    }
}

/// What happened to a record or a zone, as the query index takes it in.
package struct IndexedChange: Sendable {
    /// What happened.
    package enum Content: Sendable {
        /// A record was saved.
        case saved(RecordBody)
        /// A record was deleted; its type, where the event says it.
        case deleted(recordType: String?)
        /// A zone was deleted with all that is in it.
        case zoneDeleted
    }

    /// The event's sequence number.
    package let sequence: UInt64
    /// The zone's key.
    package let zone: UInt64
    /// The sequence number of the live version that this replaces or deletes; zero for none.
    package let previous: UInt64
    /// What happened.
    package let content: Content

    /// Describes a change.
    package init(sequence: UInt64, zone: UInt64, previous: UInt64, content: Content) {
        self.sequence = sequence
        self.zone = zone
        self.previous = previous
        self.content = content
    }
}

/// A record that a query found.
package struct IndexedRecord: Sendable {
    /// The sequence number of the event that saved it.
    package let sequence: UInt64
    /// Its zone's key.
    package let zone: UInt64
    /// The record.
    package let body: RecordBody
}

extension RecordBody {
    /// What a body must have that SQLite, which checks nothing that it reads, gives back.
    func checksum(at sequence: UInt64) -> Int64 {
        var hash = sequence &+ 0x9E37_79B9_7F4A_7C15
        func mix(_ word: UInt64) {
            hash = (hash ^ word) &* 0xD6E8_FEB8_6659_FD93
            hash ^= hash >> 32
        }
        bytes.withUnsafeBytes { bytes in
            let wordCount = bytes.count / 8
            for index in 0..<wordCount {
                mix(bytes.loadUnaligned(fromByteOffset: index * 8, as: UInt64.self))
            }
            for byte in bytes[(wordCount * 8)...] { mix(UInt64(byte)) }
        }
        return Int64(bitPattern: hash)
    }
}

/// Records that a query found.
package struct QueryPage: Sendable {
    /// The records, in the query's order.
    package let records: [IndexedRecord]
    /// Where to go on; `nil` if there is no more.
    package let next: QueryCursor?
}

extension QueryIndex {
    /// How SQLite answers a query, in its own words.
    package func plan(_ query: Query, zones: [UInt64]) async throws -> String {
        guard let type = catalog.withLock({ $0.type(named: query.recordType) }) else { return "" }
        var statement = QueryStatement(type, zones: zones, now: 0, searchedFields: nil)
        guard let selection = statement.select(query, after: nil, limit: 100) else { return "" }
        try await make(statement.neededIndexes)
        return try read { database in
            let sql = try Self.choose(selection, statement.arguments, database)
            let explain = try PreparedStatement("EXPLAIN QUERY PLAN " + sql, database)
            defer { explain.reset() }
            explain.bind(statement.arguments)
            var lines: [String] = []
            while try explain.step() { lines.append(explain.text(at: 3)) }
            return lines.joined(separator: "\n")
        }
    }
}
