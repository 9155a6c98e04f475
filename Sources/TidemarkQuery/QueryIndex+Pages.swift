// Tidemark
// SPDX-License-Identifier: Apache-2.0

import GRDB
package import TidemarkModel

extension QueryIndex {
    /// Returns a page of records in the query's order.
    ///
    /// `zones` are the keys of the searched zones. `scope` identifies the place that a cursor is
    /// valid for; if it is `nil`, the zones do. `after` continues after a page of the same query
    /// in the same zones. A record that does not change meanwhile is on exactly one page. A changed
    /// record is on the page of its new values, if that page has not been fetched yet.
    /// `searchedFields` are the fields of a full-text search, if not all. Records for which `shows`
    /// returns false are skipped, and no cursor reveals them.
    ///
    /// Throws ``QueryIndexError``, and `SyncError` `invalidArguments` for an invalid predicate or a
    /// cursor of another query.
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
            throw SyncError(.invalidArguments, "The predicate was rejected: \(problem)")
        }
        // The signature detects mistakes, not forgery. The zones come from the caller, and the
        // values of a cursor are only bound as parameters, so a forged cursor leads to another
        // place and to no other records.
        let signature = QueryCursor.signature(of: query, zones: scope.map { [$0] } ?? zones)
        if let cursor, cursor.signature != signature {
            throw SyncError(
                .invalidArguments,
                "The cursor belongs to another query or other zones; repeat the query unchanged."
            )
        }
        let catalog = catalog.withLock { $0 }
        // A type without a table has never had a record.
        guard let type = catalog.type(named: query.recordType), !zones.isEmpty, limit > 0 else {
            return QueryPage(records: [], next: nil)
        }
        var statement = QueryStatement(type, zones: zones, now: now, searchedFields: searchedFields)
        // One row more tells whether another page follows. Rows that `shows` leaves out do not
        // count, so then SQLite cannot apply the limit.
        let rowLimit = shows == nil ? limit + 1 : .max
        guard let selection = try statement.select(query, after: cursor, limit: rowLimit) else {
            throw SyncError(
                .invalidArguments,
                "The types of the sort fields have changed since the cursor was made; repeat the "
                    + "query from its beginning."
            )
        }
        try Self.check(statement, zoneCount: zones.count)
        let isShown = try selection.shows(query, now, searchedFields, and: shows)
        let size = PageSize(count: limit, byteCount: byteLimit)
        do {
            while true {
                try await make(statement.neededIndexes)
                do {
                    return try read(selection) { database in
                        let sql = try Self.choose(selection, statement.arguments, database)
                        return try Self.read(
                            sql,
                            statement.arguments,
                            database,
                            signature,
                            size,
                            isShown
                        )
                    }
                } catch let error as QueryIndexError {
                    // An update with many changes drops indexes first.
                    guard !has(statement.neededIndexes) else { throw error }
                }
            }
        } catch let error where error is SyncError || error is CancellationError {
            throw error
        } catch {
            throw QueryIndexError("answering \(query.description.prefix(200))", error)
        }
    }

    /// Rejects a statement that SQLite cannot run, or not in reasonable time.
    private static func check(
        _ statement: QueryStatement,
        zoneCount: Int
    ) throws(SyncError) {
        let count = statement.arguments.count + statement.searchedWordCount
        guard count > QueryStatement.valueCountLimit else { return }
        let advice =
            statement.searchedWordCount > zoneCount
            ? "Name a zone, or search for fewer words."
            : "Split its lists, and combine the results."
        throw SyncError(
            .limitExceeded,
            "The query compares with \(count) values, words counted once for each zone; at most "
                + "\(QueryStatement.valueCountLimit) are allowed. \(advice)"
        )
    }

    /// Reads on the caller's thread, as the log does: most pages take less time than a thread
    /// switch.
    ///
    /// Every statement reads one state of the database, so that no transaction is needed.
    private func read<Answer>(
        _ selection: Selection,
        _ body: (Database) throws -> Answer
    ) throws -> Answer {
        let read = { (database: Database) in
            let hasRoom = self.prepared.withLock {
                $0[ObjectIdentifier(database), default: PreparedPages()].add(selection.text)
            }
            // This also drops all statements that GRDB has prepared for the connection.
            if !hasRoom { database.clearSchemaCache() }
            return try body(database)
        }
        return try readers.map { try $0.read(read) } ?? database.unsafeRead(read)
    }

    /// Chooses the SQL of a query by the number of records in its sets.
    private static func choose(
        _ selection: Selection,
        _ arguments: [SQLValue],
        _ database: Database
    ) throws -> String {
        // Probes and page may read different states of the database. Counts only select the plan,
        // so the result does not depend on them.
        for probe in selection.probes {
            // A probe counts at most `fewCount` rows, so it costs little compared with reading a
            // page by the wrong plan.
            let statement = try PreparedStatement(probe, database)
            defer { statement.reset() }
            statement.bind(arguments)
            guard try statement.step() else { continue }
            if statement.int64(at: 0) < Selection.fewCount {
                return selection.textByFewest ?? selection.text
            }
        }
        return selection.text
    }

    /// The maximum size of a page.
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
        // A statement that is not finished would keep its snapshot of the database.
        defer { statement.reset() }
        statement.bind(arguments)
        let orderEnd = statement.columnCount - 2
        var records: [IndexedRecord] = []
        var byteCount = 0
        var next: QueryCursor?
        while try statement.step() {
            let record = try record(of: statement, orderEnd)
            if let shows, try !shows(record) { continue }
            // The page was full. Only this further row shows that the cursor leads to anything.
            guard next == nil else { return QueryPage(records: records, next: next) }
            byteCount += record.body.bytes.count
            records.append(record)
            // After the record was added: a page has at least one record, however large.
            if records.count == size.count || byteCount >= size.byteCount {
                let values = (1..<orderEnd).map { statement.value(at: $0) }
                next = QueryCursor(signature: signature, values: values)
            }
        }
        return QueryPage(records: records, next: nil)
    }

    /// Returns the record of a row: its sequence number, its sort values, its checksum and its
    /// body.
    private static func record(
        of row: PreparedStatement,
        _ orderEnd: Int
    ) throws -> IndexedRecord {
        let sequence = UInt64(bitPattern: row.int64(at: 0))
        let zone = UInt64(bitPattern: row.int64(at: orderEnd - 1))
        // `bodies` is joined by a LEFT JOIN. A row without a body has no bytes here and is damage;
        // an inner join would lose the record silently.
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

extension QueryIndex {
    /// Returns SQLite's own description of a query's plan.
    package func plan(_ query: Query, zones: [UInt64]) async throws -> String {
        guard let type = catalog.withLock({ $0.type(named: query.recordType) }) else { return "" }
        var statement = QueryStatement(type, zones: zones, now: 0, searchedFields: nil)
        guard let selection = try statement.select(query, after: nil, limit: 100) else { return "" }
        try await make(statement.neededIndexes)
        return try read(selection) { database in
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
