// Tidemark
// SPDX-License-Identifier: Apache-2.0

import GRDB
package import TidemarkModel

extension QueryIndex {
    /// Returns a page of records in the query's order.
    ///
    /// `zones` are the keys of the searched zones, all of one `container`. `scope` identifies the place that a cursor is
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
        container: UInt64 = 0,
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
        let signedZones = scope.map { [$0] } ?? zones
        if let cursor, cursor.signature != QueryCursor.signature(of: query, zones: signedZones) {
            throw SyncError(
                .invalidArguments,
                "The cursor belongs to another query or other zones; repeat the query unchanged."
            )
        }
        let form = PageForm(
            query: query,
            zones: zones,
            signedZones: signedZones,
            size: PageSize(count: limit, byteCount: byteLimit)
        )
        while true {
            let catalog = catalog.withLock { $0 }
            // A type without a table has never had a record.
            guard let type = catalog.type(named: Name(query.recordType), of: container),
                !zones.isEmpty, limit > 0
            else { return QueryPage(records: [], bytes: [], next: nil) }
            // One row more tells whether another page follows. Rows that `shows` leaves out do not
            // count, so then SQLite cannot apply the limit.
            let found = try write(
                query,
                type,
                zones: zones,
                after: cursor,
                limit: shows == nil ? limit + 1 : .max,
                now: now,
                searchedFields: searchedFields
            )
            guard let written = found else { throw Self.cursorIsOver }
            try Self.check(written, zoneCount: zones.count, isFirst: cursor == nil)
            let isShown = try written.selection.shows(query, now, searchedFields, and: shows)
            let page = try await withIndexes(written.neededIndexes, for: query) { database in
                try read(written.selection, written.arguments, form, isShown, database)
            }
            // The statement takes a field without a column for absent in all records. If an update
            // has added columns to the type since, the page may have records that do not match.
            let columnCount = columnCounts.withLock { $0[type.id] } ?? 0
            if columnCount <= type.columns.count { return page }
            // An update counts its columns before it commits, and publishes its catalog afterwards.
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    private static let cursorIsOver = SyncError(
        .invalidArguments,
        "The types of the sort fields have changed since the cursor was made; repeat the query from "
            + "its beginning."
    )

    /// Makes the indexes that a query needs, and reads with them.
    private func withIndexes(
        _ needed: [NeededIndex],
        for query: Query,
        _ readPage: (Database) throws -> QueryPage
    ) async throws -> QueryPage {
        do {
            var attempts = 0
            while true {
                try await make(needed)
                do {
                    return try read(readPage)
                } catch let error where error is QueryIndexError || error is DatabaseError {
                    // An update with many changes drops indexes first. A statement that was prepared before
                    // fails in another way than one that is prepared now. If another query has made
                    // the indexes again since, the next attempt finds them.
                    attempts += 1
                    guard !has(needed) || attempts < 3 else { throw error }
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
        _ query: WrittenQuery,
        zoneCount: Int,
        isFirst: Bool
    ) throws(SyncError) {
        // The pages after the first also compare with the last record of the page before.
        // The first of its values is bound twice.
        let valueCount = query.selection.order.count + (query.selection.hasZones ? 0 : 1)
        let placeCount = isFirst ? valueCount + 1 : 0
        let count = query.arguments.count + query.searchedWordCount + placeCount
        guard count > QueryStatement.valueCountLimit else { return }
        let advice =
            query.searchedWordCount > zoneCount
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
    private func read<Answer>(_ body: (Database) throws -> Answer) throws -> Answer {
        guard let readers else { return try database.unsafeRead(body) }
        let content = catalog.withLock {
            QueryReaders.Content(sequence: $0.position.sequence, byteCount: $0.byteCount)
        }
        return try readers.read(content, body) { closed in
            prepared.withLock { $0[closed] = nil }
        }
    }

    /// Returns a statement that the connection keeps prepared.
    private func prepare(_ sql: String, _ database: Database) throws -> PreparedStatement {
        let hasRoom = prepared.withLock {
            $0[ObjectIdentifier(database), default: PreparedPages()].add(sql)
        }
        if !hasRoom { database.clearSchemaCache() }
        return try PreparedStatement(sql, database)
    }

    /// The maximum number of sets whose records are counted: each count binds all arguments.
    private static let probeCount = 16

    /// Chooses the SQL of a query by the number of records in its sets, and by SQLite's plan.
    private func choose(
        _ selection: Selection,
        _ arguments: [SQLValue],
        _ database: Database
    ) throws -> String {
        // Probes and page may read different states of the database. Counts only select the plan,
        // so the result does not depend on them.
        for probe in selection.probes.prefix(Self.probeCount) {
            let statement = try prepare(probe, database)
            defer { statement.reset() }
            statement.bind(arguments)
            guard try statement.step() else { continue }
            if statement.int64(at: 0) < Selection.fewCount {
                return selection.byFewest ?? selection.sorted
            }
        }
        let inOrder = selection.inOrder
        return try sorts(inOrder, database) ? selection.sorted : inOrder
    }

    /// Returns true if SQLite sorts the rows of a statement; it reads them in order otherwise.
    private func sorts(_ sql: String, _ database: Database) throws -> Bool {
        let key = sql.hashValue
        if let known = sorting.withLock({ $0[key] }) { return known }
        let explain = try database.makeStatement(sql: "EXPLAIN QUERY PLAN " + sql)
        // The plan does not depend on the values.
        explain.setUncheckedArguments([])
        let sorts = try Row.fetchAll(explain).contains { row in
            (row["detail"] as String).contains("TEMP B-TREE")
        }
        sorting.withLock { sorting in
            if sorting.count >= PreparedPages.countLimit { sorting = [:] }
            sorting[key] = sorts
        }
        return sorts
    }

    /// The maximum size of a page.
    private struct PageSize {
        var count: Int
        var byteCount: Int
    }

    /// The constants of a page.
    private struct PageForm {
        var query: Query
        var zones: [UInt64]
        /// The zones that the signature of a cursor has.
        var signedZones: [UInt64]
        var size: PageSize
    }

    private func read(
        _ selection: Selection,
        _ arguments: [SQLValue],
        _ form: PageForm,
        _ shows: ((IndexedRecord) throws -> Bool)?,
        _ database: Database
    ) throws -> QueryPage {
        let sql = try choose(selection, arguments, database)
        let statement = try prepare(sql, database)
        // A statement that is not finished would keep its snapshot of the database.
        defer { statement.reset() }
        statement.bind(arguments)
        let bodyColumn = statement.columnCount - 1
        var rows: [QueryPage.Row] = []
        // At once, because each growth copies everything: the rows of a usual page, and the bodies by
        // which the size of all bodies is estimated.
        rows.reserveCapacity(min(form.size.count, 128))
        var bytes: [UInt8] = []
        bytes.reserveCapacity(min(form.size.count, Self.sampleCount) * 256)
        var next: QueryCursor?
        var last: UInt64?
        while try statement.step() {
            let zone =
                form.zones.count == 1
                ? form.zones[0] : UInt64(bitPattern: statement.int64(at: 0))
            if let shows {
                var body: [UInt8] = []
                let sequence = try StoredBody.append(statement.bytes(at: bodyColumn), to: &body)
                let record = IndexedRecord(
                    sequence: sequence,
                    zone: zone,
                    body: RecordBody(sound: body[...])
                )
                if try !shows(record) { continue }
            }
            // The page was full. Only this further row shows that the cursor leads to anything.
            if let last {
                next = QueryCursor(
                    signature: QueryCursor.signature(of: form.query, zones: form.signedZones),
                    values: try place(of: last, selection, arguments, database)
                )
                break
            }
            let start = bytes.count
            let sequence = try StoredBody.append(statement.bytes(at: bodyColumn), to: &bytes)
            rows.append(QueryPage.Row(sequence: sequence, zone: zone, body: start..<bytes.count))
            // After the row was added: a page has at least one record, however large.
            if rows.count == form.size.count || bytes.count >= form.size.byteCount {
                last = sequence
            } else if rows.count == Self.sampleCount {
                bytes.reserveCapacity(Self.expectedByteCount(bytes.count, form.size.count))
            }
        }
        return QueryPage(records: rows, bytes: bytes, next: next)
    }

    /// The number of records after which the size of a page is estimated.
    private static let sampleCount = 8

    /// Returns the expected size of the bodies of a page, given the size of the first ones.
    ///
    /// The room is made at once, because each growth copies all bodies. It is at most 64 KiB, because
    /// the query may have found no more records.
    private static func expectedByteCount(_ sampleByteCount: Int, _ count: Int) -> Int {
        // A seventh more than the average of eight, for records of different sizes.
        min(sampleByteCount * min(count, 1_024) / (sampleCount - 1), 64 << 10)
    }

    /// Returns the values by which a row of a page is sorted.
    ///
    /// The statement of the page is not finished, so that both read one state of the database.
    private func place(
        of sequence: UInt64,
        _ selection: Selection,
        _ arguments: [SQLValue],
        _ database: Database
    ) throws -> [SQLValue] {
        // Not by `prepare`, which may evict the statement of the page. There is at most one of these
        // for each statement that it counts.
        let statement = try PreparedStatement(selection.place, database)
        defer { statement.reset() }
        statement.bind(arguments)
        statement.bind(.int(Int64(bitPattern: sequence)), at: arguments.count)
        guard try statement.step() else {
            throw QueryIndexError(.damaged, "The query index has no row of event \(sequence).")
        }
        return (0..<statement.columnCount).map { statement.value(at: $0) }
    }
}

extension QueryIndex {
    /// Returns SQLite's own description of a query's plan.
    package func plan(_ query: Query, zones: [UInt64]) async throws -> String {
        guard let type = catalog.withLock({ $0.type(named: Name(query.recordType), of: 0) })
        else { return "" }
        var statement = QueryStatement(type, zones: zones, now: 0, searchedFields: nil)
        guard let selection = try statement.select(query, after: nil, limit: 100) else { return "" }
        try await make(statement.neededIndexes)
        return try read { database in
            let sql = try choose(selection, statement.arguments, database)
            let explain = try PreparedStatement("EXPLAIN QUERY PLAN " + sql, database)
            defer { explain.reset() }
            explain.bind(statement.arguments)
            var lines: [String] = []
            while try explain.step() { lines.append(explain.text(at: 3)) }
            return lines.joined(separator: "\n")
        }
    }
}
