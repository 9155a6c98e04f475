// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkRules
import TidemarkViews

extension Reader {
    /// See ``Store/fetchRecords(_:as:)``, and as of a position ``Store/fetchRecords(_:as:asOf:)``.
    func fetchRecords(
        _ request: FetchRecordsRequest,
        as caller: Caller,
        asOf position: SequenceNumber? = nil
    ) throws(SyncError) -> [Result<Record, SyncError>] {
        try checkAccess(of: caller, writes: false)
        if position != nil, caller.database.scope == .shared { throw .sharedPast }
        let now = try picture(.visible)
        defer { withExtendedLifetime(now) {} }
        // Once for the call: an invalid position is the error of the call, not of each item.
        _ = try check(position, now)
        try options.limits.check(itemCount: request.recordIDs.count)
        let access = try access(of: caller, now)
        guard let position else { return try records(request, as: caller, access, now) }
        let selection = request.desiredKeys.map { FieldSelection($0) }
        return request.recordIDs.map { id in
            Result { () throws(SyncError) in
                let record = try self.record(id, as: caller, asOf: position, now)
                if let refusal = try access?.refusal(of: .read, on: record.body) { throw refusal }
                return record.narrowed(to: selection)
            }
        }
    }

    /// The number of records that are read together if their bytes are limited.
    private static let limitedCount = 16

    /// Records as they are now.
    private func records(
        _ request: FetchRecordsRequest,
        as caller: Caller,
        _ access: PublicAccess?,
        _ picture: ViewPicture
    ) throws(SyncError) -> [Result<Record, SyncError>] {
        var refused: [SyncError.ItemError] = []
        defer { note(refused, of: .fetchRecords, by: caller) }
        guard let limit = request.byteLimit else {
            return try records(
                request.recordIDs[...],
                request,
                as: caller,
                access,
                picture,
                &refused
            )
        }
        var answers: [Result<Record, SyncError>] = []
        var byteCount = 0
        var rest = request.recordIDs[...]
        while !rest.isEmpty {
            if byteCount >= limit {
                let truncated = SyncError(.resultsTruncated, "The answer is full.")
                return answers + Array(repeating: .failure(truncated), count: rest.count)
            }
            let slice = rest.prefix(Self.limitedCount)
            rest = rest.dropFirst(Self.limitedCount)
            let found = try records(slice, request, as: caller, access, picture, &refused)
            for case .success(let record) in found { byteCount += record.body.bytes.count }
            answers += found
        }
        return answers
    }

    private func records(
        _ recordIDs: ArraySlice<RecordID>,
        _ request: FetchRecordsRequest,
        as caller: Caller,
        _ access: PublicAccess?,
        _ picture: ViewPicture,
        _ refused: inout [SyncError.ItemError]
    ) throws(SyncError) -> [Result<Record, SyncError>] {
        let selection = request.desiredKeys.map { FieldSelection($0) }
        let facts = picture.facts
        var zones = ConsultedZones(shared: try sharedZones(of: caller, picture))
        var audiences = Audiences(facts)
        var items: [ConsultedItem] = []
        for record in recordIDs {
            let zone = try zones.index(
                of: record.zone,
                in: caller.database,
                creating: .none,
                facts,
                options.limits
            )
            let slot = views.hash.slot(ofName: record.name)
            items.append(ConsultedItem(name: record.name, zone: zone, slot: slot))
        }
        let found = try ConsultedItems(items, in: zones, facts)
        var answers: [Result<Record, SyncError>] = []
        for (record, item) in zip(recordIDs, found.items) {
            // A default zone that nothing was written to has no records, which is no error of the
            // zone.
            if let error = zones.error(of: item.zone), !zones[item.zone].identity.isImplicit {
                answers.append(.failure(error))
                refused.append(SyncError.ItemError(.record(record), error))
            } else if let live = item.live, try mayRead(item, zones, &audiences) {
                if let access, let body = item.liveBody,
                    let error = try access.refusal(of: .read, on: body)
                {
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
        return answers
    }
}

extension ModifyRecordsRequest {
    /// Returns the request without the share's own data in fetched share records, which is saved
    /// separately.
    func withoutShareFields() throws(SyncError) -> ModifyRecordsRequest {
        guard saves.indices.contains(where: { saves[$0].typeName.isShareType }) else {
            return self
        }
        var request = self
        for index in saves.indices where saves[index].isShare {
            request.saves[index].fields = try saves[index].fields.withoutShare()
        }
        return request
    }
}

extension Reader {
    /// Returns true if a share shows the caller a record that is not in the caller's own database.
    func mayRead(
        _ item: ConsultedItem,
        _ zones: ConsultedZones,
        _ audiences: inout Audiences
    ) throws(SyncError) -> Bool {
        guard let access = zones.access(of: item.zone), let key = zones.key(of: item.zone) else {
            return true
        }
        return access.mayRead(try audiences.audience(of: ViewKey(zone: key, slot: item.slot)))
    }

    /// Returns a picture of the current state, with the view index's errors as errors for callers.
    func picture(_ extent: ZoneViews.Extent) throws(SyncError) -> ViewPicture {
        try SyncError.wrapping { () throws(ViewIndexError) in try views.picture(extent) }
    }

    /// A record as clients get it, from its event.
    func record(_ stored: StoredRecord, in zone: ZoneID) throws(SyncError) -> Record {
        try Record(stored, in: zone, line)
    }

    /// Rejects callers that may not use a database, and names that break a rule.
    func checkAccess(of caller: Caller, writes: Bool) throws(SyncError) {
        try admit(caller)
        guard let user = caller.user else {
            if caller.database.scope == .public, !writes { return }
            throw .notAuthenticated(caller.database)
        }
        // `__defaultOwner__` is the caller on either side: an embedded store has one user. It has
        // no account whose status could forbid something.
        if user == .current { return }
        let database = caller.database
        // A database of `__defaultOwner__` is open to all callers of an embedded store, and to none
        // whose user was authenticated.
        let isOfAnyone = database.owner == .current && !isAuthenticated(caller)
        if database.scope != .public, !isOfAnyone, user != database.owner {
            throw .permissionFailure(
                "The \(database.scope.name) database of \(database.owner.userRecordName) is not "
                    + "open to \(user.userRecordName)."
            )
        }
        if let error = try accountRefusal(of: caller, writes: writes) { throw error }
    }

    /// Returns true if a server, and not a program that has the store open, knows who asks.
    private func isAuthenticated(_ caller: Caller) -> Bool {
        guard options.requiresAuthentication else { return false }
        return switch caller.authentication {
        case .inProcess, .administrator: false
        case .session, .serverKey, .identityProvider: true
        }
    }
}
