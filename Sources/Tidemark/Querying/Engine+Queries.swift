// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog
import TidemarkModel
import TidemarkQuery

extension Engine {
    /// See ``Store/query(_:as:asOf:)``.
    func query(
        _ request: QueryRequest,
        as caller: Caller,
        asOf position: SequenceNumber?
    ) async throws(SyncError) -> QueryPageResult {
        try checkAccess(of: caller, writes: false)
        if options.isStrict, let refusal = request.query.cloudKitRefusal { throw refusal }
        if caller.database.scope == .shared, request.zone == nil { throw .zoneNotNamed }
        let limit = try queryLimit(request.limit)
        guard let writing, position == nil else {
            return try scan(request, as: caller, asOf: position, limit: limit)
        }
        let rules = try await rules(for: request.query, as: caller)
        let picture = try picture(.visible)
        let query = try readable(request.query, as: caller, picture)
        let place = try place(of: request.zone, as: caller, picture)
        let search = IndexSearch(
            query: query,
            place: place,
            limit: limit,
            now: now(),
            searchedFields: rules.searchedFields,
            selection: request.desiredKeys.map { FieldSelection($0) }
        )
        let cursor = try request.cursor.map { (cursor) throws(SyncError) in
            guard let found = QueryCursor(bytes: cursor.bytes) else { throw .damagedCursor }
            return found
        }
        let found = try await writing.queries.ask(through: picture.bound) { index in
            let page = try await self.page(search, after: cursor, index)
            if rules.isTypeKnown || !page.records.isEmpty || cursor != nil { return page }
            // What an import brought can be asked for without being in the schema.
            let any = Query(recordType: query.recordType)
            let place = try await index.page(
                any,
                zones: place.zones.keys.sorted(),
                limit: 1,
                now: search.now
            )
            if place.sequences.isEmpty { throw SyncError.recordTypeNotFound(Name(any.recordType)) }
            return page
        }
        return QueryPageResult(
            records: found.records,
            cursor: found.next.map { QueryPageCursor(bytes: $0.bytes) }
        )
    }

    /// How many records a page may have, by what was asked for.
    private func queryLimit(_ asked: Int?) throws(SyncError) -> Int {
        try min(pageLimit(asked), asked ?? max(options.limits.recordsPerQueryPage, 1))
    }

    /// The query as it is for a caller: `__defaultOwner__` is who asks, and where they may read no
    /// records but those that they created, that is part of the predicate.
    ///
    /// So pages are full, and a cursor says nothing of what its owner may not see.
    func readable(
        _ query: Query,
        as caller: Caller,
        _ picture: ViewPicture
    ) throws(SyncError) -> Query {
        var query = query
        query.predicate = query.predicate.resolvingCurrentUser(as: caller.user ?? .current)
        guard let access = try access(of: caller, picture),
            let own = try access.readableRecords(of: Name(query.recordType))
        else { return query }
        let isOwn = Query.Predicate.compare(
            .system(.creatorUserRecordID),
            .equal,
            .value(.reference(Reference(recordName: own.userRecordName)))
        )
        query.predicate = .and([isOwn, query.predicate])
        return query
    }
}

// MARK: - Where

/// Where a query looks.
struct QueryPlace: Sendable {
    /// The zones, by key.
    var zones: [UInt64: ZoneID]
    /// What cursors belong to: that goes on when zones of a whole database come and go between pages.
    var scope: UInt64

    /// How many zones one query can look into; each is a value in SQLite's statement.
    static let zoneLimit = 30_000
}

extension Engine {
    func place(
        of zone: ZoneID?,
        as caller: Caller,
        _ picture: ViewPicture
    ) throws(SyncError) -> QueryPlace {
        guard let zone else {
            let zones = try livingZones(of: caller.database, picture)
                .filter { !$0.value.isSystem }
                .mapValues(\.zone)
            guard zones.count <= QueryPlace.zoneLimit else { throw .tooManyZones(zones.count) }
            return QueryPlace(zones: zones, scope: views.hash.key(of: caller.database))
        }
        var consulted = ConsultedZones()
        _ = try consulted.index(
            of: zone,
            in: caller.database,
            creating: .implicit,
            picture,
            options.limits
        )
        if let error = consulted[0].error { throw error }
        // A default zone that nothing was written to has no key, and nobody has a cursor of it.
        guard let key = consulted[0].key else { return QueryPlace(zones: [:], scope: 0) }
        return QueryPlace(zones: [key: zone], scope: key)
    }
}

// MARK: - Pages

/// A query that is ready to be put to the index.
private struct IndexSearch: Sendable {
    var query: Query
    var place: QueryPlace
    var limit: Int
    var now: Int64
    var searchedFields: [String]?
    var selection: FieldSelection?
}

extension Engine {
    private func page(
        _ search: IndexSearch,
        after cursor: QueryCursor?,
        _ index: QueryIndex
    ) async throws -> (records: [Record], next: QueryCursor?) {
        var limit = search.limit
        while true {
            let page = try await index.page(
                search.query,
                zones: search.place.zones.keys.sorted(),
                scope: search.place.scope,
                after: cursor,
                limit: limit,
                now: search.now,
                searchedFields: search.searchedFields
            )
            let records = try records(page.sequences, in: search.place.zones, search.selection)
            if records.count == page.sequences.count { return (records, page.next) }
            // The page is full with fewer records; it has to end with the last of them.
            limit = records.count
        }
    }

    /// The records that some events saved, in the order of the list, as far as a page has room for
    /// their bytes; at least one.
    ///
    /// Throws ``QueryIndexError`` if an event is none that saved a record of the zones.
    func records(
        _ sequences: [UInt64],
        in zones: [UInt64: ZoneID],
        _ selection: FieldSelection?
    ) throws -> [Record] {
        var records: [Record] = []
        records.reserveCapacity(sequences.count)
        var byteCount = 0
        for start in stride(from: 0, to: sequences.count, by: Self.readCount) {
            let run = sequences[start..<min(start + Self.readCount, sequences.count)]
            let found = try bodies(run, in: zones)
            for sequence in run {
                guard let record = found[sequence] else {
                    throw QueryIndexError(
                        .damaged,
                        "The query index names event \(sequence), which saved no record there."
                    )
                }
                records.append(record.narrowed(to: selection))
                byteCount += records[records.count - 1].body.bytes.count
                if byteCount >= options.pageByteCount { return records }
            }
        }
        return records
    }

    /// How many records are read before the page's bytes are counted.
    private static let readCount = 64

    private func bodies(
        _ sequences: ArraySlice<UInt64>,
        in zones: [UInt64: ZoneID]
    ) throws -> [UInt64: Record] {
        var found: [UInt64: Record] = [:]
        found.reserveCapacity(sequences.count)
        var tags = TagWriter(line: line)
        var failure: (any Error)?
        try source.read(sequences.sorted().map { SequenceNumber(rawValue: $0) }) { event in
            do {
                guard let zone = zones[event.zone],
                    event.payload.first == EventKind.recordSaved.rawValue
                else { return true }
                let stored = try StoredRecord(event.sequence, zone: event.zone, event.payload)
                found[event.sequence.rawValue] = Record(
                    zone: zone,
                    changeTag: tags.tag(of: event.sequence),
                    body: try stored.body()
                )
                return true
            } catch {
                failure = error
                return false
            }
        }
        if let failure { throw failure }
        return found
    }
}
