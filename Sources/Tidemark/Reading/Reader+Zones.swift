// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkRules
import TidemarkViews

extension Reader {
    /// See ``Store/zones(as:)``, and as of a position ``Store/zones(as:asOf:)``.
    func zones(
        as caller: Caller,
        asOf position: SequenceNumber? = nil
    ) throws(SyncError) -> [Zone] {
        try checkAccess(of: caller, writes: false)
        let now = try picture(.visible)
        defer { withExtendedLifetime(now) {} }
        if caller.database.scope == .shared {
            guard position == nil else { throw .sharedPast }
            return try sharedZoneList(of: caller, now)
        }
        let picture = try picture(asOf: position, now)
        var zones: [Zone] = []
        for identity in try picture.livingZones(of: caller.database).values
        where !identity.isImplicit && !identity.isSystem {
            zones.append(Zone(identity, isStrict: options.isStrict))
        }
        let implicit = ZoneIdentity(
            database: caller.database,
            zoneName: Name(ZoneID.defaultZoneName)
        )
        if implicit.isImplicit { zones.append(Zone(implicit, isStrict: options.isStrict)) }
        return zones.sorted { $0.zoneID < $1.zoneID }
    }

    /// See ``Store/databaseChanges(_:as:)``, and as of a position ``Store/databaseChanges(_:as:asOf:)``.
    func databaseChanges(
        _ request: DatabaseChangesRequest,
        as caller: Caller,
        asOf position: SequenceNumber? = nil
    ) throws(SyncError) -> DatabaseChanges {
        try checkAccess(of: caller, writes: false)
        let isShared = caller.database.scope == .shared
        if isShared, position != nil { throw .sharedPast }
        if options.isStrict, caller.database.scope == .public { throw .noZoneList(caller.database) }
        let limit = try pageLimit(request.limit)
        let now = try picture(.visible)
        defer { withExtendedLifetime(now) {} }
        let picture = try picture(asOf: position, now)
        let readability = try access(of: caller, now)?.readability(views.hash) ?? 0
        let start = try start(of: request, caller, quiet: picture.bound, readability, now)
        if let position { try check(start, isWithin: position) }
        let page =
            isShared
            ? try sharedZonePage(of: caller, after: start, limit, now)
            : try zonePage(of: caller.database, after: start, limit, picture)
        // The token of the last page is at the end of the store, so that the token of a quiet
        // database does not fall behind (semantics.md, "Tokens").
        let end = page.end ?? picture.bound
        let changes = DatabaseChanges(
            changes: page.changes,
            token: token(
                .database,
                place: views.hash.key(of: caller.database),
                at: end,
                quiet: start.quiet > end ? start.quiet : 0,
                readability: readability
            ),
            moreComing: page.end != nil
        )
        return position == nil ? noted(changes, request, caller, now) : changes
    }

    /// Returns the position of a request's token.
    ///
    /// Without a token, returns the beginning, and omits the ends of zones up to `quiet`.
    private func start(
        of request: DatabaseChangesRequest,
        _ caller: Caller,
        quiet: SequenceNumber,
        _ readability: UInt64,
        _ now: ViewPicture
    ) throws(SyncError) -> Start {
        guard let token = request.since else { return Start(quiet: quiet) }
        let start = try SyncError.wrapping { () throws(TokenDefect) in
            let content = try TokenContent(token, store: id, hash: views.hash)
            try content.check(
                level: .database,
                place: views.hash.key(of: caller.database),
                line: line,
                visible: now.bound,
                horizon: .zero,
                readability: readability
            )
            return Start(sequence: content.sequence, quiet: content.quiet)
        }
        try checkErasures(since: max(start.sequence, start.quiet), as: caller, now)
        return start
    }

    /// A page of a database's zones, and the position at which it ends if there is more.
    private typealias ZonePage = (changes: [ZoneChange], end: SequenceNumber?)

    private func zonePage(
        of database: DatabaseID,
        after start: Start,
        _ limit: Int,
        _ picture: any Picture
    ) throws(SyncError) -> ZonePage {
        var budget = scanBudget()
        let found = try DeltaScan(
            after: start.sequence,
            limit: limit + 1,
            budget: &budget,
            position: \.head,
            read: { (start, count) throws(SyncError) in
                try picture.zones(of: database, after: start, quiet: 0, limit: count)
            },
            tell: { (run, _) throws(SyncError) in
                .init(entries: run.filter { !$0.isQuiet(below: start.quiet) })
            }
        )
        // Hidden zones are left out after the page was cut. A page may thus have fewer zones than
        // its limit, and its end is still right.
        let changes = found.entries.prefix(limit).compactMap { zone -> ZoneChange? in
            if options.isStrict, zone.identity.isImplicit { return nil }
            if zone.identity.isSystem { return nil }
            return zone.end.map { .deleted(zone.identity.zone, $0) }
                ?? .changed(zone.identity.zone)
        }
        let hasMore = found.entries.count > limit
        return (changes, hasMore ? found.entries[limit - 1].head : found.end)
    }

    private func sharedZonePage(
        of caller: Caller,
        after start: Start,
        _ limit: Int,
        _ now: ViewPicture
    ) throws(SyncError) -> ZonePage {
        let found = try sharedZoneHeads(of: caller, after: start.sequence, quiet: start.quiet, now)
        let end = found.count > limit ? found[limit - 1].head : nil
        return (found.prefix(limit).map(\.change), end)
    }

    /// A page of changes, once the journal has it.
    private func noted(
        _ changes: DatabaseChanges,
        _ request: DatabaseChangesRequest,
        _ caller: Caller,
        _ picture: ViewPicture
    ) -> DatabaseChanges {
        note(
            JournalEntry.Told(
                .databaseChanges,
                caller,
                since: request.since,
                token: changes.token,
                shownThrough: picture.bound,
                changeCount: changes.changes.count,
                moreComing: changes.moreComing
            )
        )
        return changes
    }
}

extension Zone {
    /// Creates a zone with the capabilities of its kind in this store.
    init(_ identity: ZoneIdentity, isStrict: Bool) {
        let implicit: Capabilities = isStrict ? [] : [.fetchChanges]
        self.init(
            zoneID: identity.zone,
            capabilities: identity.isImplicit ? implicit : .ofCustomZones
        )
    }
}

// MARK: - Creating and deleting

extension ModifyZonesRequest {
    /// Returns the result for some outcomes in a database.
    func result(
        of outcomes: [ItemOutcome],
        in database: DatabaseID,
        isStrict: Bool
    ) -> ModifyZonesResult {
        var result = ModifyZonesResult(saves: [], deletions: [])
        for (index, outcome) in outcomes.enumerated() {
            let error = outcome.refusal
            if index < saves.count {
                let identity = ZoneIdentity(database: database, zoneName: saves[index].name)
                // The id stays as the caller wrote it.
                let zone = Zone(
                    zoneID: saves[index],
                    capabilities: Zone(identity, isStrict: isStrict).capabilities
                )
                result.saves.append(error.map { .failure($0) } ?? .success(zone))
            } else {
                let zone = deletions[index - saves.count]
                result.deletions.append(error.map { .failure($0) } ?? .success(zone))
            }
        }
        return result
    }
}

extension SyncError {
    /// Returns the error for a request to the public database of a strict store that only Tidemark
    /// supports.
    static func noZoneList(_ database: DatabaseID) -> SyncError {
        .badDatabase(database, "list changed zones, and this store is strict")
    }
}
