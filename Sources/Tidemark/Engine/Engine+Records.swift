// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkRules
import TidemarkViews

extension Engine {
    /// See ``Store/modifyRecords(_:as:)``.
    func modifyRecords(
        _ request: ModifyRecordsRequest,
        as caller: Caller
    ) async throws(SyncError) -> ModifyRecordsResult {
        let writing = try writer()
        try checkAccess(of: caller, writes: true)
        try request.check(options.limits)
        let key = identity(of: caller, request.contentBytes)
        let request = try request.withLocalReferences(in: caller.database).withoutShareFields()
        try await writing.committer.waitForRoom()
        while true {
            let picture = try picture(.appended)
            let access = try access(of: caller, picture)
            if let key, let answer = try firstAnswer(to: key, in: picture) {
                try await writing.committer.waitUntilDurable(answer.last)
                let sight = VersionAccess(
                    access: access,
                    shared: try sharedZones(of: caller, picture)
                )
                return try answers(to: request, as: caller, from: answer, sight, picture)
                    .withoutUnreadable(to: access, request)
            }
            var decision = try decide(request, as: caller, with: access, picture)
            let outcomes = decision.outcomes
            decision.plan.seal(as: caller, key, outcomes: outcomes.map(\.stored))
            if decision.isEmpty {
                try await writing.committer.waitUntilDurable(decision.lookedAt)
                let answer = try answers(to: request, as: caller, decision, nil)
                reportDrift(of: request, answer, as: caller, picture)
                return answer.withoutUnreadable(to: access, request)
            }
            guard let placed = try await append(&decision.plan, over: picture) else { continue }
            try await writing.committer.waitUntilDurable(placed.last)
            let answer = try answers(to: request, as: caller, decision, placed)
            reportDrift(of: request, answer, as: caller, picture)
            return answer.withoutUnreadable(to: access, request)
        }
    }

    /// Looks up and decides a request over a picture.
    func decide(
        _ request: ModifyRecordsRequest,
        as caller: Caller,
        with access: PublicAccess?,
        _ picture: ViewPicture
    ) throws(SyncError) -> RecordDecision {
        let facts = picture.facts
        let shared = try sharedZones(of: caller, picture)
        let (consulted, zones) = try consult(request, as: caller, shared, facts)
        let time = now()
        let limits = options.limits
        let schema = try options.checksSchema ? schema(of: caller.database, picture) : nil
        var decision = RecordDecision(
            consulted,
            in: zones,
            under: schema.map { GrowingSchema($0, for: caller.database, limits: limits) },
            with: access,
            naming: try consultAssets(request, consulted, in: zones, as: caller, picture),
            over: facts,
            time: time
        )
        var rules = RecordRules(
            limits: options.limits,
            line: line,
            scope: caller.database.scope,
            userName: caller.userRecordName
        )
        rules.touchesTargets = options.isStrict
        let shares = shareRules(at: time, in: caller.database, facts)
        try decision.decide(request, as: caller, by: rules, shares)
        return decision
    }

    /// Looks up the records and zones that a request names.
    private func consult(
        _ request: ModifyRecordsRequest,
        as caller: Caller,
        _ shared: SharedZones?,
        _ facts: any Facts
    ) throws(SyncError) -> (ConsultedItems, ConsultedZones) {
        var zones = ConsultedZones(shared: shared)
        var items: [ConsultedItem] = []
        items.reserveCapacity(request.itemCount)
        for index in 0..<request.itemCount {
            let record = request.record(at: index)
            let zone = try zones.index(
                of: record.zone,
                in: caller.database,
                creating: .implicit,
                facts,
                options.limits
            )
            let slot = views.hash.slot(ofName: record.name)
            items.append(ConsultedItem(name: record.name, zone: zone, slot: slot))
        }
        if let repetition = ConsultedItems.firstRepetition(in: items) {
            throw .recordNamedTwice(request.record(at: repetition))
        }
        return (try ConsultedItems(items, in: zones, facts), zones)
    }

    /// See ``Store/fetchRecords(_:as:)``.
    func fetchRecords(
        _ request: FetchRecordsRequest,
        as caller: Caller
    ) throws(SyncError) -> [Result<Record, SyncError>] {
        try checkAccess(of: caller, writes: false)
        let limit = options.limits.itemsPerRequest
        guard request.recordIDs.count <= limit else {
            throw .tooManyItems(request.recordIDs.count, limit: limit)
        }
        let selection = request.desiredKeys.map { FieldSelection($0) }
        let picture = try picture(.visible)
        var zones = ConsultedZones(shared: try sharedZones(of: caller, picture))
        var audiences = Audiences(picture.facts)
        var items: [ConsultedItem] = []
        for record in request.recordIDs {
            let zone = try zones.index(
                of: record.zone,
                in: caller.database,
                creating: .none,
                picture.facts,
                options.limits
            )
            let slot = views.hash.slot(ofName: record.name)
            items.append(ConsultedItem(name: record.name, zone: zone, slot: slot))
        }
        let found = try ConsultedItems(items, in: zones, picture.facts)
        let access = try access(of: caller, picture)
        var answers: [Result<Record, SyncError>] = []
        var refused: [SyncError.ItemError] = []
        for (record, item) in zip(request.recordIDs, found.items) {
            if let error = zones[item.zone].error, !zones[item.zone].identity.isImplicit {
                answers.append(.failure(error))
                refused.append(SyncError.ItemError(.record(record), error))
            } else if let live = item.live,
                try mayRead(item, zones, &audiences)
            {
                if let error = try access?.refusal(of: .read, on: live.readBody()) {
                    answers.append(.failure(error))
                    refused.append(SyncError.ItemError(.record(record), error))
                    continue
                }
                let found = try self.record(live, in: record.zone)
                answers.append(
                    .success(found.shown(to: zones.access(of: item.zone)).narrowed(to: selection))
                )
            } else if let blank = caller.blankUserRecord(record) {
                answers.append(.success(blank))
            } else {
                // An answer, and no refusal.
                answers.append(.failure(.recordNotFound(record)))
            }
        }
        note(refused, of: .fetchRecords, by: caller)
        return answers
    }
}

extension ModifyRecordsRequest {
    /// The request without what fetched share records say about the share: that is saved by itself.
    fileprivate func withoutShareFields() throws(SyncError) -> ModifyRecordsRequest {
        guard saves.indices.contains(where: { saves[$0].typeName == Share.typeName }) else {
            return self
        }
        var request = self
        for index in saves.indices where saves[index].isShare {
            request.saves[index].fields = try saves[index].fields.withoutShare()
        }
        return request
    }
}

extension Engine {
    /// Whether a share shows a record to the caller, where it is not in the caller's own database.
    func mayRead(
        _ item: ConsultedItem,
        _ zones: ConsultedZones,
        _ audiences: inout Audiences
    ) throws(SyncError) -> Bool {
        guard let access = zones.access(of: item.zone), let key = zones.key(of: item.zone) else {
            return true
        }
        return access.mayRead(try audiences.audience(of: ViewKey(key, item.slot)))
    }

    /// The rules of shares.
    func shareRules(
        at time: Int64,
        in database: DatabaseID,
        _ facts: any Facts
    ) -> ShareRules {
        var rules = ShareRules(
            time: time,
            limits: options.limits,
            random: random,
            find: { (lookup) throws(SyncError) in
                try facts.account(of: lookup, in: database)?.account.user
            }
        )
        rules.needsRoot = options.isStrict
        return rules
    }

    /// What the store says now; the view index's errors as a caller meets them.
    func picture(_ extent: ZoneViews.Extent) throws(SyncError) -> ViewPicture {
        try SyncError.wrapping { () throws(ViewIndexError) in
            try views.picture(extent)
        }
    }

    /// A record as clients get it, from its event.
    func record(_ stored: StoredRecord, in zone: ZoneID) throws(SyncError) -> Record {
        try Record(stored, in: zone, line)
    }

    /// Refuses callers who may not use a database, and names that break a rule.
    func checkAccess(of caller: Caller, writes: Bool) throws(SyncError) {
        try admit(caller)
        let database = caller.database
        guard let user = caller.user else {
            if database.scope == .public, !writes { return }
            throw .notAuthenticated(database)
        }
        // `__defaultOwner__` is whoever asks, on either side: an embedded store has one user.
        if database.scope != .public, database.owner != .current, user != .current,
            user != database.owner
        {
            throw .permissionFailure(
                "The \(database.scope.name) database of \(database.owner.userRecordName) is not "
                    + "open to \(user.userRecordName)."
            )
        }
        if let error = try accountRefusal(of: caller, writes: writes) { throw error }
    }
}
