// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkRules
import TidemarkViews

extension Reader {
    /// See ``Store/zones(as:)``.
    func zones(as caller: Caller) throws(SyncError) -> [Zone] {
        try checkAccess(of: caller, writes: false)
        let picture = try picture(.visible)
        if caller.database.scope == .shared { return try sharedZoneList(of: caller, picture) }
        var zones: [Zone] = []
        try SyncError.wrapping { () throws(ViewIndexError) in
            for standing in try picture.zones(of: caller.database, after: 0, limit: .max)
            where standing.end == nil && !standing.identity.isImplicit
                && !standing.identity.isSystem
            {
                zones.append(Zone(standing.identity, isStrict: options.isStrict))
            }
        }
        let implicit = ZoneIdentity(
            database: caller.database,
            zoneName: Name(ZoneID.defaultZoneName)
        )
        if implicit.isImplicit { zones.append(Zone(implicit, isStrict: options.isStrict)) }
        return zones.sorted { $0.zoneID < $1.zoneID }
    }

    /// See ``Store/databaseChanges(_:as:)``.
    func databaseChanges(
        _ request: DatabaseChangesRequest,
        as caller: Caller
    ) throws(SyncError) -> DatabaseChanges {
        try checkAccess(of: caller, writes: false)
        if options.isStrict, caller.database.scope == .public {
            throw .noZoneList(caller.database)
        }
        let limit = try pageLimit(request.limit)
        let picture = try picture(.visible)
        let place = views.hash.key(of: caller.database)
        let readability = try access(of: caller, picture)?.readability(views.hash) ?? 0
        var start: UInt64 = 0
        var quiet = picture.bound
        if let token = request.since {
            do throws(TokenDefect) {
                let content = try TokenContent(token, store: id, hash: views.hash)
                try content.check(
                    level: .database,
                    place: place,
                    line: line,
                    visible: SequenceNumber(rawValue: picture.bound),
                    horizon: .zero,
                    readability: readability
                )
                start = content.sequence.rawValue
                quiet = content.quiet.rawValue
            } catch {
                throw SyncError(error)
            }
            try checkErasures(since: max(start, quiet), as: caller, picture)
        }
        if caller.database.scope == .shared {
            let found = try sharedZoneHeads(of: caller, after: start, quiet: quiet, picture)
            let moreComing = found.count > limit
            let end = moreComing ? found[limit - 1].head : picture.bound
            let changes = DatabaseChanges(
                changes: found.prefix(limit).map(\.change),
                token: token(.database, place: place, at: end, quiet: quiet > end ? quiet : 0),
                moreComing: moreComing
            )
            return noted(changes, request, caller, picture)
        }
        let found = try zones(of: caller.database, after: start, quiet: quiet, limit, picture)
        let hasMore = found.entries.count > limit
        let end = hasMore ? found.entries[limit - 1].head : found.end ?? picture.bound
        let changes = DatabaseChanges(
            changes: found.entries.prefix(limit).compactMap { standing in
                if options.isStrict, standing.identity.isImplicit { return nil }
                if standing.identity.isSystem { return nil }
                return standing.end.map { .deleted(standing.identity.zone, $0.reason) }
                    ?? .changed(standing.identity.zone)
            },
            token: token(
                .database,
                place: place,
                at: end,
                quiet: quiet > end ? quiet : 0,
                readability: readability
            ),
            moreComing: hasMore || found.end != nil
        )
        return noted(changes, request, caller, picture)
    }

    /// The zones of a database that changed after a position, one more than `limit` if there are more;
    /// without those that ended at or before `quiet`.
    private func zones(
        of database: DatabaseID,
        after start: UInt64,
        quiet: UInt64,
        _ limit: Int,
        _ picture: ViewPicture
    ) throws(SyncError) -> DeltaScan<ZoneStanding> {
        var budget = scanBudget
        return try DeltaScan(
            after: start,
            limit: limit + 1,
            budget: &budget,
            position: \.head,
            read: { (start, count) throws(SyncError) in
                do throws(ViewIndexError) {
                    return try picture.zones(of: database, after: start, quiet: 0, limit: count)
                } catch {
                    throw SyncError(error)
                }
            },
            tell: { (run, _) throws(SyncError) in
                .init(entries: run.filter { !$0.isQuiet(below: quiet) })
            }
        )
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
                shownThrough: SequenceNumber(rawValue: picture.bound),
                changeCount: changes.changes.count,
                moreComing: changes.moreComing
            )
        )
        return changes
    }
}

extension Zone {
    /// A zone, with what zones of its kind can do here.
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
    /// The answer that outcomes stand for.
    func result(of outcomes: [ItemOutcome]) -> ModifyZonesResult {
        var result = ModifyZonesResult(saves: [], deletions: [])
        for (index, outcome) in outcomes.enumerated() {
            let error = outcome.refusal
            if index < saves.count {
                let zone = Zone(zoneID: saves[index], capabilities: .ofCustomZones)
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
    /// The public database was asked by a strict store for what only Tidemark answers there.
    static func noZoneList(_ database: DatabaseID) -> SyncError {
        .badDatabase(database, "list changed zones, and this store is strict")
    }
}
