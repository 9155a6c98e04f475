// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkQuery
import TidemarkRules
import TidemarkViews

extension Queries {
    /// Answers a query by reading every record: as of a position, in a store that is open for
    /// reading, which must not be written, or if the index has no space.
    ///
    /// All pages are of the point of the first one.
    func scan(
        _ request: QueryRequest,
        as caller: Caller,
        asOf position: SequenceNumber?,
        limit: Int
    ) throws(SyncError) -> QueryPageResult {
        let picture = try reader.picture(.visible)
        let sent = try request.cursor.map { (sent) throws(SyncError) in
            guard let cursor = ScanCursor(bytes: sent.bytes) else { throw .foreignCursor }
            return cursor
        }
        let bound =
            if let position {
                try reader.check(position, picture)
            } else {
                try self.bound(of: sent, as: caller, picture)
            }
        // Permissions are checked as of now.
        let query = try readable(request.query, as: caller, picture)
        let zone = request.zone.map { zone in
            let slot = reader.views.hash.slot(ofZone: zone.zoneName)
            return [slot.rawValue, reader.views.hash.target(zone.owner)]
        }
        let signature = QueryCursor.signature(
            of: query,
            zones: [reader.views.hash.key(of: caller.database), bound.rawValue] + (zone ?? [])
                + [reader.views.hash.target((caller.user ?? .current).name)]
                // A cursor of the past is not one of the present.
                + [position == nil ? 0 : 1]
        )
        let cursor = try sent.map { (cursor) throws(SyncError) in
            guard cursor.signature == signature else { throw .foreignCursor }
            return cursor
        }
        // All pages of a query have the time of the first one.
        let now =
            if let cursor {
                cursor.now
            } else {
                bound == picture.bound ? reader.now() : try time(of: bound)
            }
        // A result that depends on shares is of the present, and is therefore not used again after a
        // later commit.
        let key = ScannedQuery.Key(
            query: query,
            database: caller.database,
            zone: request.zone,
            user: caller.user,
            bound: bound,
            now: now
        )
        let found: ScannedQuery
        if let kept = scanned.withLock({ $0 }), kept.key == key {
            found = kept
        } else {
            found = try scan(key, request, as: caller, picture)
            if found.sequences.count <= ScannedQuery.keptCount { scanned.withLock { $0 = found } }
        }
        let selection = request.desiredKeys.map { FieldSelection($0) }
        let wanted = found.sequences.dropFirst(cursor?.offset ?? 0).prefix(limit)
        let (records, end) = try records(wanted, in: found.zones, found.access, selection)
        let next = ScanCursor(signature: signature, bound: bound, offset: end, now: key.now)
        return QueryPageResult(
            records: records,
            cursor: end < found.sequences.count ? QueryPageCursor(bytes: next.bytes) : nil
        )
    }

    /// Returns the last event that a page of a query of the present may see: that of the first page.
    private func bound(
        of cursor: ScanCursor?,
        as caller: Caller,
        _ picture: ViewPicture
    ) throws(SyncError) -> SequenceNumber {
        // What shares show is always of now. After a commit, a cursor of such a query is of another one.
        guard let cursor, caller.database.scope != .shared else {
            return try reader.check(nil, picture)
        }
        do throws(SyncError) {
            return try reader.check(cursor.bound, picture)
        } catch {
            // A compaction has dropped that point, or a restore. The client has named none.
            throw .foreignCursor
        }
    }

    /// The number of records to read rather than wait while an index is built.
    private static let smallCount = 10_000

    /// Answers a query by reading every record, if there are few records and the result fits into
    /// one page; `nil` otherwise.
    ///
    /// A page from the index cannot continue such a page.
    func smallPage(
        _ query: Query,
        _ rules: QueryRules,
        _ place: QueryPlace,
        _ limit: Int,
        _ request: QueryRequest,
        _ picture: ViewPicture
    ) throws(SyncError) -> QueryPageResult? {
        var scan = try QueryScan(
            query,
            now: reader.now(),
            searchedFields: rules.searchedFields,
            shows: visibility(in: place)
        )
        var room = Self.smallCount
        let live = LivePicture(views: picture)
        for zone in place.zones.keys.sorted() {
            let sequences = try live.liveSequences(in: zone, limit: room + 1)
            guard sequences.count <= room else { return nil }
            room -= sequences.count
            try scan.look(at: sequences, of: reader.source)
        }
        guard rules.isTypeKnown || scan.hasMetType else {
            throw .recordTypeNotFound(Name(query.recordType))
        }
        let found = scan.sequences()
        guard found.count <= limit else { return nil }
        let selection = request.desiredKeys.map { FieldSelection($0) }
        let (records, end) = try records(
            found[...],
            in: place.zones,
            place.shown?.access,
            selection
        )
        return end == found.count ? QueryPageResult(records: records, cursor: nil) : nil
    }

    private func scan(
        _ key: ScannedQuery.Key,
        _ request: QueryRequest,
        as caller: Caller,
        _ now: ViewPicture
    ) throws(SyncError) -> ScannedQuery {
        let picture = try reader.picture(throughChecked: key.bound, now)
        let rules = try rules(for: request.query, as: caller, picture, now)
        let place = try place(for: request.zone, as: caller, picture, now)
        var scan = try QueryScan(
            key.query,
            now: key.now,
            searchedFields: rules.searchedFields,
            shows: visibility(in: place)
        )
        for zone in place.zones.keys.sorted() {
            try scan.look(at: picture.liveSequences(in: zone), of: reader.source)
        }
        guard rules.isTypeKnown || scan.hasMetType else {
            throw .recordTypeNotFound(Name(key.query.recordType))
        }
        return ScannedQuery(
            key: key,
            sequences: scan.sequences(),
            zones: place.zones,
            access: place.shown?.access
        )
    }

    /// Returns the rules for a query by the schema as of the point.
    ///
    /// Only queries of the present need an index. A store that is open for reading requires one
    /// too, although it does not use it, so that a query has the same result however the store is
    /// open.
    private func rules(
        for query: Query,
        as caller: Caller,
        _ picture: any Picture,
        _ now: ViewPicture
    ) throws(SyncError) -> QueryRules {
        guard reader.options.checksSchema else { return try .unchecked(query) }
        let isPast = picture.bound != now.bound
        let schema =
            isPast
            ? try schema(of: caller.database, picture)
            : try reader.schema(of: caller.database, now).excerpt(Name(query.recordType)).schema
        let rules = try QueryRules(query, under: schema)
        let environment = isPast ? .development : caller.database.environment
        _ = try QueryRules.growth(of: schema, for: query, in: environment)
        return rules
    }

    private func schema(
        of database: DatabaseID,
        _ picture: any Picture
    ) throws(SyncError) -> Schema {
        let identity = ZoneIdentity(
            database: database.ofSystemZones,
            zoneName: SystemZone.schema.zone.name
        )
        guard let key = try picture.zone(identity).key else { return Schema() }
        let records = try reader.views.records(at: picture.liveSequences(in: key))
        return try SchemaRecords.schema(
            of: try records.map { (record) throws(SyncError) in try record.readBody() }
        )
    }

    private func place(
        for zone: ZoneID?,
        as caller: Caller,
        _ picture: any Picture,
        _ now: ViewPicture
    ) throws(SyncError) -> QueryPlace {
        if picture.bound == now.bound { return try place(of: zone, as: caller, now) }
        if caller.database.scope == .shared { throw .sharedPast }
        let all = try picture.livingZones(of: caller.database).filter { !$0.value.isSystem }
        guard let zone else { return QueryPlace(zones: all.mapValues(\.zone), scope: 0) }
        let owner = caller.database.owner.userRecordName
        let identity = ZoneIdentity(database: caller.database, zoneName: Name(zone.zoneName))
        try reader.options.limits.check(zone: zone)
        guard zone.ownerName == ZoneID.currentOwner || zone.ownerName == owner else {
            throw .zoneNotFound(zone)
        }
        let found = all.filter { $0.value == identity }
        if found.isEmpty, !identity.isImplicit { throw .zoneNotFoundThen(zone) }
        return QueryPlace(zones: found.mapValues { _ in zone }, scope: 0)
    }

    /// Returns the time of the commit of an event; `now()` equals it in a query of the past.
    private func time(of sequence: SequenceNumber) throws(SyncError) -> Int64 {
        guard sequence != .zero else { return 0 }
        return try reader.source.event(at: sequence)?.commit.time ?? 0
    }
}

// MARK: - Pages

extension Queries {
    /// The number of records to read before the page's bytes are counted.
    private static let readCount = 64

    /// The records that some events saved, in the order of the list, as far as a page has room for
    /// their bytes, and where in the list that ends; at least one record.
    private func records(
        _ sequences: ArraySlice<SequenceNumber>,
        in zones: [ZoneKey: ZoneID],
        _ access: ZoneAccess?,
        _ selection: FieldSelection?
    ) throws(SyncError) -> (records: [Record], end: Int) {
        var records: [Record] = []
        records.reserveCapacity(sequences.count)
        var byteCount = 0
        for start in stride(from: sequences.startIndex, to: sequences.endIndex, by: Self.readCount)
        {
            let end = min(start + Self.readCount, sequences.endIndex)
            let found = try read(sequences[start..<end], in: zones)
            for index in start..<end {
                guard let record = found[sequences[index]] else { continue }
                byteCount += record.body.bytes.count
                records.append(record.shown(to: access).narrowed(to: selection))
                if byteCount >= reader.options.pageByteCount { return (records, index + 1) }
            }
        }
        return (records, sequences.endIndex)
    }

    private func read(
        _ sequences: ArraySlice<SequenceNumber>,
        in zones: [ZoneKey: ZoneID]
    ) throws(SyncError) -> [SequenceNumber: Record] {
        var found: [SequenceNumber: Record] = [:]
        found.reserveCapacity(sequences.count)
        try reader.source.visit(sequences.sorted()) { (event) throws(SyncError) in
            guard let zone = zones[event.zone] else { return true }
            found[event.sequence] = try reader.record(try event.readRecord(), in: zone)
            return true
        }
        return found
    }
}
