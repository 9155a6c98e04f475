// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog
import TidemarkModel
import TidemarkQuery
import TidemarkRules
import TidemarkViews

extension Queries {
    /// See ``Store/query(_:as:asOf:)``.
    func query(
        _ request: QueryRequest,
        as caller: Caller,
        asOf position: SequenceNumber?
    ) async throws(SyncError) -> QueryPageResult {
        try reader.checkAccess(of: caller, writes: false)
        try request.query.checkLevels()
        if reader.options.isStrict, let refusal = request.query.cloudKitRefusal { throw refusal }
        if caller.database.scope == .shared, request.zone == nil { throw .zoneNotNamed }
        let limit = try queryLimit(request.limit)
        // The pages of a scan are continued by scans, also once there is room for the index again.
        let isScanned = request.cursor.map { ScanCursor(bytes: $0.bytes) != nil } ?? false
        guard let indexes, position == nil, !isScanned else {
            return try await scanned(request, as: caller, asOf: position, limit: limit)
        }
        do throws(SyncError) {
            return try await indexed(request, as: caller, limit: limit, by: indexes)
        } catch {
            guard error.isDiskFull else { throw error }
            // The index has no space for the latest events. A scan needs none, but cannot continue a
            // page of the index. So the index continues it, as it is, unless it is being built.
            if request.cursor == nil {
                return try await scanned(request, as: caller, asOf: nil, limit: limit)
            }
            guard let reached = indexes.position, reached > .zero else { throw error }
            return try await indexed(
                request,
                as: caller,
                limit: limit,
                by: indexes,
                through: reached
            )
        }
    }

    private func scanned(
        _ request: QueryRequest,
        as caller: Caller,
        asOf position: SequenceNumber?,
        limit: Int
    ) async throws(SyncError) -> QueryPageResult {
        reader.observer?.notes(.queried(byIndex: false))
        // It may read a zone's events and records.
        return try await reader.blockingWork.run { () throws(SyncError) in
            try self.scan(request, as: caller, asOf: position, limit: limit)
        }
    }

    /// Answers a query of the present by the index, once that has reached a position; if none is
    /// given, all events that are durable now.
    private func indexed(
        _ request: QueryRequest,
        as caller: Caller,
        limit: Int,
        by indexes: StoreQueries,
        through position: SequenceNumber? = nil
    ) async throws(SyncError) -> QueryPageResult {
        // A caller without read permission adds no indexes.
        _ = try readable(request.query, as: caller, try reader.picture(.visible))
        let rules = try await rules(for: request.query, as: caller)
        while true {
            let page = try await answer(
                request,
                rules,
                as: caller,
                limit: limit,
                by: indexes,
                through: position
            )
            if let page { return page }
        }
    }

    /// Answers a query of the present, by the index unless that lacks many events; `nil` if the index
    /// was updated past the picture that the caller's permissions were read from.
    private func answer(
        _ request: QueryRequest,
        _ rules: QueryRules,
        as caller: Caller,
        limit: Int,
        by indexes: StoreQueries,
        through position: SequenceNumber?
    ) async throws(SyncError) -> QueryPageResult? {
        let picture = try reader.picture(.visible)
        let query = try readable(request.query, as: caller, picture)
        let place = try place(of: request.zone, as: caller, picture)
        let isNear = request.cursor == nil ? indexes.isNear(picture.bound) : nil
        if isNear == false,
            let page = try smallPage(query, rules, place, limit, request, picture)
        {
            reader.observer?.notes(.queried(byIndex: false))
            return page
        }
        let search = IndexSearch(
            query: query,
            container: reader.views.hash.key(ofContainerOf: caller.database),
            place: place,
            limit: limit,
            now: reader.now(),
            searchedFields: rules.searchedFields,
            selection: request.desiredKeys.map { FieldSelection($0) }
        )
        let found = try await indexes.ask(
            through: position ?? picture.bound,
            isPlaceKnown: isNear != nil
        ) { index in
            let cursor = try request.cursor.map { (cursor) throws(SyncError) in
                guard let found = QueryCursor(bytes: cursor.bytes) else { throw .damagedCursor }
                return found
            }
            let page = try await self.page(search, after: cursor, index)
            if rules.isTypeKnown || !page.records.isEmpty || cursor != nil { return page }
            // Imported records can be queried without being in the schema.
            let any = Query(recordType: query.recordType)
            let all = try await index.page(
                any,
                container: search.container,
                zones: place.keys,
                limit: 1,
                now: search.now,
                shows: self.shows(in: place)
            )
            if all.records.isEmpty { throw SyncError.recordTypeNotFound(Name(any.recordType)) }
            return page
        }
        // Another query may have updated the index past the picture. The caller may have lost the
        // permission to read before such a record was saved.
        let isRestricted = place.shown != nil || caller.database.scope == .public
        if isRestricted, found.last > picture.bound { return nil }
        reader.observer?.notes(.queried(byIndex: true))
        return QueryPageResult(
            records: found.records,
            cursor: found.next.map { QueryPageCursor(bytes: $0.bytes) }
        )
    }

    /// Returns the maximum number of records on a page, given the requested number.
    private func queryLimit(_ asked: Int?) throws(SyncError) -> Int {
        try min(reader.pageLimit(asked), asked ?? max(reader.options.limits.recordsPerQueryPage, 1))
    }

    /// Returns the query for a caller.
    ///
    /// `__defaultOwner__` becomes the caller. If the caller may only read records that the caller
    /// created, that becomes part of the predicate. So pages are full, and a cursor reveals nothing
    /// that its owner may not read.
    func readable(
        _ query: Query,
        as caller: Caller,
        _ picture: ViewPicture
    ) throws(SyncError) -> Query {
        var query = query
        query.predicate = query.predicate.resolvingCurrentUser(as: caller.user ?? .current)
        guard let access = try reader.access(of: caller, picture),
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

/// The zones that a query covers.
struct QueryPlace: Sendable {
    /// The zones, by key.
    var zones: [ZoneKey: ZoneID]
    /// A hash of the scope that cursors belong to.
    ///
    /// The scope stays valid if zones of a whole database are created or deleted between pages.
    var scope: UInt64
    /// The records that shares show of the zone, if the zone belongs to another user.
    var shown: SharedPlace?

    /// The keys of the zones as the query index has them, ascending.
    var keys: [UInt64] { zones.keys.map(\.rawValue).sorted() }

    /// The maximum number of zones in one query; each is a value in SQLite's statement.
    static let zoneLimit = 30_000
}

/// A zone of another user that is partly visible through shares.
struct SharedPlace: Sendable {
    var zones: ConsultedZones
    var access: ZoneAccess
    var picture: ViewPicture
}

extension Queries {
    func place(
        of zone: ZoneID?,
        as caller: Caller,
        _ picture: ViewPicture
    ) throws(SyncError) -> QueryPlace {
        guard let zone else {
            let zones = try LivePicture(views: picture).livingZones(of: caller.database)
                .filter { !$0.value.isSystem }
                .mapValues(\.zone)
            guard zones.count <= QueryPlace.zoneLimit else { throw .tooManyZones(zones.count) }
            return QueryPlace(zones: zones, scope: reader.views.hash.key(of: caller.database))
        }
        var consulted = ConsultedZones(shared: try reader.sharedZones(of: caller, picture))
        _ = try consulted.index(
            of: zone,
            in: caller.database,
            creating: .implicit,
            picture.facts,
            reader.options.limits
        )
        if let error = consulted.error(of: 0) { throw error }
        // A default zone that was never written has no key, and no cursor can refer to it.
        guard let key = consulted.key(of: 0) else { return QueryPlace(zones: [:], scope: 0) }
        let shown = consulted.access(of: 0).map {
            SharedPlace(zones: consulted, access: $0, picture: picture)
        }
        return QueryPlace(zones: [key: zone], scope: key.rawValue, shown: shown)
    }

    /// Returns a function that tells if a record is shown where a query looks; `nil` if every
    /// record is.
    func visibility(in place: QueryPlace) -> ((RecordBody) throws(SyncError) -> Bool)? {
        guard let shown = place.shown, !shown.access.showsAll else { return nil }
        return { [self] (body) throws(SyncError) in
            let facts = shown.picture.facts
            let item = try facts.item(named: Name(body.recordName), in: shown.zones)
            var audiences = Audiences(facts)
            return try reader.mayRead(item, shown.zones, &audiences)
        }
    }
}

// MARK: - Pages

/// A query that is ready to be put to the index.
private struct IndexSearch: Sendable {
    var query: Query
    var container: UInt64
    var place: QueryPlace
    var limit: Int
    var now: Int64
    var searchedFields: [String]?
    var selection: FieldSelection?
}

extension Queries {
    private func shows(in place: QueryPlace) -> ((IndexedRecord) throws -> Bool)? {
        visibility(in: place).map { shows in { record in try shows(record.body) } }
    }

    private func page(
        _ search: IndexSearch,
        after cursor: QueryCursor?,
        _ index: QueryIndex
    ) async throws -> (records: [Record], next: QueryCursor?, last: SequenceNumber) {
        let page = try await index.page(
            search.query,
            container: search.container,
            zones: search.place.keys,
            scope: search.place.scope,
            after: cursor,
            limit: search.limit,
            byteLimit: reader.options.pageByteCount,
            now: search.now,
            searchedFields: search.searchedFields,
            shows: shows(in: search.place)
        )
        let (records, last) = self.records(of: page, search)
        return (records, page.next, last)
    }

    /// Returns the records of a page, and the last of the events that saved them.
    private func records(
        of page: QueryPage,
        _ search: IndexSearch
    ) -> (records: [Record], last: SequenceNumber) {
        var incarnations = IncarnationReader(line: reader.line)
        let access = search.place.shown?.access
        var records: [Record] = []
        records.reserveCapacity(page.records.count)
        var newest: UInt64 = 0
        var start = 0
        // Most pages are of one zone: it is looked up once for all neighbours.
        while start < page.records.count {
            let key = page.records[start].zone
            let end = page.records[start...].firstIndex { $0.zone != key } ?? page.records.count
            let found = page.records[start..<end]
            start = end
            guard let zone = search.place.zones[ZoneKey(rawValue: key)] else { continue }
            for row in found {
                newest = max(newest, row.sequence)
                let tag = incarnations.tag(of: SequenceNumber(rawValue: row.sequence))
                var record = Record(zone: zone, changeTag: tag, body: page.body(of: row))
                if let access { record = record.shown(to: access) }
                if let selection = search.selection { record = record.narrowed(to: selection) }
                records.append(record)
            }
        }
        return (records, SequenceNumber(rawValue: newest))
    }
}
