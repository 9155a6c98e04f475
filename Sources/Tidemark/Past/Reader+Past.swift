// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkRules
import TidemarkViews

extension Reader {
    /// See ``Store/fetchRecords(_:as:asOf:)``.
    func fetchRecords(
        _ request: FetchRecordsRequest,
        as caller: Caller,
        asOf position: SequenceNumber
    ) throws(SyncError) -> [Result<Record, SyncError>] {
        let picture = try pastPicture(for: caller)
        defer { withExtendedLifetime(picture) {} }
        _ = try check(position, picture)
        let limit = options.limits.itemsPerRequest
        guard request.recordIDs.count <= limit else {
            throw .tooManyItems(request.recordIDs.count, limit: limit)
        }
        let access = try access(of: caller, picture)
        let selection = request.desiredKeys.map { FieldSelection($0) }
        return request.recordIDs.map { id in
            Result { () throws(SyncError) in
                let record = try self.record(id, as: caller, asOf: position, picture)
                if let refusal = access?.refusal(of: .read, on: record.body) { throw refusal }
                return record.narrowed(to: selection)
            }
        }
    }

    /// A record as a client fetches it as of a position.
    private func record(
        _ id: RecordID,
        as caller: Caller,
        asOf position: SequenceNumber,
        _ picture: ViewPicture
    ) throws(SyncError) -> Record {
        try checkName(of: id.zone, in: caller.database)
        do throws(SyncError) {
            return try record(id, of: caller.database, asOf: position)
        } catch {
            if error.code == .unknownItem, let blank = caller.blankUserRecord(id) { return blank }
            guard error.code == .zoneNotFound else { throw error }
            let zone = ZoneIdentity(database: caller.database, zoneName: id.zone.name)
            throw .zoneGone(id.zone, try past(position, picture).reason(ofEnd: zone) ?? .deleted)
        }
    }

    /// See ``Store/zones(as:asOf:)``.
    func zones(
        as caller: Caller,
        asOf position: SequenceNumber
    ) throws(SyncError) -> [Zone] {
        let picture = try pastPicture(for: caller)
        defer { withExtendedLifetime(picture) {} }
        let past = try past(position, picture)
        var identities = Set(
            past.zones.values.filter { $0.database == caller.database && !$0.isSystem }
        )
        let standard = ZoneIdentity(
            database: caller.database,
            zoneName: Name(ZoneID.defaultZoneName)
        )
        if standard.isImplicit { identities.insert(standard) }
        return identities.map { Zone($0, isStrict: options.isStrict) }
            .sorted { $0.zoneID < $1.zoneID }
    }

    /// See ``Store/zoneChanges(_:as:asOf:)``.
    func zoneChanges(
        _ request: ZoneChangesRequest,
        as caller: Caller,
        asOf position: SequenceNumber
    ) throws(SyncError) -> ZoneChanges {
        let limit = try pageLimit(request.limit)
        let picture = try pastPicture(for: caller)
        defer { withExtendedLifetime(picture) {} }
        let past = try past(position, picture)
        try checkName(of: request.zone, in: caller.database)
        let identity = ZoneIdentity(
            database: caller.database,
            zoneName: Name(request.zone.zoneName)
        )
        let key = past.zones.first { $0.value == identity }?.key
        if key == nil, !identity.isImplicit {
            throw .zoneGone(request.zone, past.reason(ofEnd: identity) ?? .deleted)
        }
        if options.isStrict, identity.isImplicit { throw .noDelta(of: request.zone) }
        let access = try access(of: caller, picture)
        let readability = access?.readability(views.hash) ?? 0
        let quiet = position.rawValue
        let start = try start(of: request, identity, key, quiet: quiet, readability, picture)
        try check(start, isWithin: position)
        let versions = key.map { past.versions(in: $0, after: start.sequence) } ?? []
        return try changes(
            ofZone: key ?? 0,
            after: start,
            through: position.rawValue,
            request,
            limit: limit,
            as: caller,
            access
        ) { (start, count) in
            Array(versions.drop { $0.sequence.rawValue <= start }.prefix(count))
        }
    }

    /// See ``Store/databaseChanges(_:as:asOf:)``.
    func databaseChanges(
        _ request: DatabaseChangesRequest,
        as caller: Caller,
        asOf position: SequenceNumber
    ) throws(SyncError) -> DatabaseChanges {
        if options.isStrict, caller.database.scope == .public { throw .noZoneList(caller.database) }
        let limit = try pageLimit(request.limit)
        let picture = try pastPicture(for: caller)
        defer { withExtendedLifetime(picture) {} }
        let past = try past(position, picture)
        let place = views.hash.key(of: caller.database)
        let readability = try access(of: caller, picture)?.readability(views.hash) ?? 0
        var start = Start(quiet: position.rawValue)
        if let token = request.since {
            do throws(TokenDefect) {
                let content = try TokenContent(token, store: id, hash: views.hash)
                try content.check(
                    level: .database,
                    place: place,
                    line: line,
                    visible: source.durableSequence,
                    horizon: .zero,
                    readability: readability
                )
                start = Start(sequence: content.sequence.rawValue, quiet: content.quiet.rawValue)
            } catch {
                throw SyncError(error)
            }
            try check(start, isWithin: position)
            try checkErasures(
                since: max(start.sequence, start.quiet),
                as: caller,
                picture
            )
        }
        let found = past.zones(of: caller.database, after: start.sequence, quiet: start.quiet)
        let moreComing = found.count > limit
        let end = moreComing ? found[limit - 1].head : position.rawValue
        return DatabaseChanges(
            changes: found.prefix(limit).compactMap { zone in
                if zone.identity.isSystem || options.isStrict && zone.identity.isImplicit {
                    return nil
                }
                return zone.end.map { .deleted(zone.identity.zone, $0) }
                    ?? .changed(zone.identity.zone)
            },
            token: token(
                .database,
                place: place,
                at: end,
                quiet: start.quiet > end ? start.quiet : 0,
                readability: readability
            ),
            moreComing: moreComing
        )
    }

    /// Rejects the name of a zone that a client cannot have in its database.
    private func checkName(of zone: ZoneID, in database: DatabaseID) throws(SyncError) {
        try options.limits.check(zone: zone)
        guard
            zone.ownerName == ZoneID.currentOwner
                || zone.ownerName == database.owner.userRecordName
        else { throw .zoneNotFound(zone) }
    }

    private func check(_ start: Start, isWithin position: SequenceNumber) throws(SyncError) {
        let handedOut = max(start.sequence, start.quiet)
        guard handedOut <= position.rawValue else {
            throw SyncError(
                .invalidArguments,
                "The token was handed out at event \(handedOut), after event \(position), as of "
                    + "which the changes are asked for."
            )
        }
    }

    private func pastPicture(for caller: Caller) throws(SyncError) -> ViewPicture {
        try checkAccess(of: caller, writes: false)
        if caller.database.scope == .shared { throw .sharedPast }
        return try picture(.visible)
    }

    /// What there was as of a position; the picture keeps it in the log for as long as it is held.
    private func past(
        _ position: SequenceNumber,
        _ picture: ViewPicture
    ) throws(SyncError) -> PastState {
        let bound = try check(position, picture)
        return try PastState(
            of: source,
            hash: views.hash,
            through: SequenceNumber(rawValue: bound)
        )
    }
}

// MARK: - What system zones held

extension Reader {
    /// See ``Store/subscriptions(as:asOf:)``.
    func subscriptions(
        as caller: Caller,
        asOf position: SequenceNumber
    ) throws(SyncError) -> [Subscription] {
        try checkAccess(of: caller, writes: false)
        let holder = try holder(of: caller)
        var found: [Subscription] = []
        var failure: SyncError?
        do throws(SyncError) {
            let zone = SystemZone.subscriptions.zone
            try visitRecords(of: .ofStore, in: zone, asOf: position) { record in
                do throws(SyncError) {
                    let held = try SubscriptionRecords.read(record.body)
                    if held.holder == holder { found.append(held.subscription) }
                } catch {
                    failure = error
                }
                return failure == nil
            }
        } catch  where error.code == .zoneNotFound {
            return []
        }
        if let failure { throw failure }
        return found.sorted { $0.name < $1.name }
    }

    /// See ``Store/fetchSubscriptions(_:as:asOf:)``.
    func fetchSubscriptions(
        _ ids: [String],
        as caller: Caller,
        asOf position: SequenceNumber
    ) throws(SyncError) -> [Result<Subscription, SyncError>] {
        try checkCount(ofSubscriptions: ids)
        let saved = try subscriptions(as: caller, asOf: position)
        return ids.map { id in
            saved.first { $0.name == Name(id) }.map { .success($0) }
                ?? .failure(.noSubscription(id))
        }
    }

    /// See ``Store/downloadAsset(_:as:asOf:)``.
    func downloadAsset(
        _ request: DownloadAssetRequest,
        as caller: Caller,
        asOf position: SequenceNumber
    ) throws(SyncError) -> AssetDownload {
        let fetch = FetchRecordsRequest([request.recordID])
        var record = try fetchRecords(fetch, as: caller, asOf: position)[0].get()
        if let tag = request.changeTag, tag != record.changeTag {
            record = try version(tag, before: record, as: caller)
        }
        return try download(try asset(request, in: record), request, as: caller)
    }

    /// See ``Store/lookUpUsers(_:as:asOf:)``.
    func lookUpUsers(
        _ lookups: [UserLookup],
        as caller: Caller,
        asOf position: SequenceNumber
    ) throws(SyncError) -> [UserIdentity?] {
        _ = try currentUser(as: caller)
        guard lookups.count <= options.limits.itemsPerRequest else {
            throw .tooManyItems(lookups.count, limit: options.limits.itemsPerRequest)
        }
        return try lookups.map { (lookup) throws(SyncError) in
            try identity(of: lookup, as: caller, asOf: position)
        }
    }

    /// See ``Store/contacts(as:asOf:)``.
    func contacts(
        as caller: Caller,
        asOf position: SequenceNumber
    ) throws(SyncError) -> [UserIdentity] {
        let user = try currentUser(as: caller)
        let account = try account(of: .user(user), in: caller.database, asOf: position)
        return try (account?.contacts ?? []).map { (lookup) throws(SyncError) in
            try identity(of: lookup, as: caller, asOf: position)
        }.compactMap(\.self)
    }

    private func identity(
        of lookup: UserLookup,
        as caller: Caller,
        asOf position: SequenceNumber
    ) throws(SyncError) -> UserIdentity? {
        guard let account = try account(of: lookup, in: caller.database, asOf: position),
            account.isDiscoverable || account.user == caller.user
        else { return nil }
        return account.identity(by: lookup)
    }

    private func account(
        of lookup: UserLookup,
        in database: DatabaseID,
        asOf position: SequenceNumber
    ) throws(SyncError) -> UserAccount? {
        let id = RecordID(
            recordName: AccountRecords.recordName(of: lookup).string,
            zone: SystemZone.users.zone
        )
        let body: RecordBody
        do throws(SyncError) {
            body = try record(id, of: database.ofSystemZones, asOf: position).body
        } catch  where error.code == .unknownItem || error.code == .zoneNotFound {
            return nil
        }
        guard case .user = lookup else {
            guard let user = AccountRecords.owner(in: body) else { return nil }
            return try account(of: .user(user), in: database, asOf: position)
        }
        return AccountRecords.account(in: body)
    }
}
