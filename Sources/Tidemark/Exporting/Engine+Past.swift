// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog
import TidemarkModel

extension Engine {
    /// See ``Store/fetchRecords(_:as:asOf:)``.
    func fetchRecords(
        _ request: FetchRecordsRequest,
        as caller: Caller,
        asOf position: SequenceNumber
    ) throws(SyncError) -> [Result<Record, SyncError>] {
        let picture = try pastPicture(for: caller)
        _ = try check(position, picture)
        let limit = options.limits.itemsPerRequest
        guard request.recordIDs.count <= limit else {
            throw .tooManyItems(request.recordIDs.count, limit: limit)
        }
        let access = try access(of: caller, picture)
        let selection = request.desiredKeys.map { FieldSelection($0) }
        return request.recordIDs.map { id in
            Result { () throws(SyncError) in
                let record = try record(id, of: caller.database, asOf: position)
                if let refusal = access?.refusal(of: .read, on: record.body) { throw refusal }
                return record.narrowed(to: selection)
            }
        }
    }

    /// See ``Store/zones(as:asOf:)``.
    func zones(
        as caller: Caller,
        asOf position: SequenceNumber
    ) throws(SyncError) -> [Zone] {
        let past = try past(for: caller, position)
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
        let past = try past(for: caller, position)
        try options.limits.check(zone: request.zone)
        let identity = ZoneIdentity(
            database: caller.database,
            zoneName: Name(request.zone.zoneName)
        )
        let owner = caller.database.owner.userRecordName
        guard request.zone.ownerName == ZoneID.currentOwner || request.zone.ownerName == owner
        else {
            throw .zoneNotFound(request.zone)
        }
        let key = past.zones.first { $0.value == identity }?.key
        if key == nil, !identity.isImplicit { throw .zoneNotFound(request.zone) }
        let start = try start(of: request, key, position)
        let versions = key.map { past.versions(in: $0, after: start.sequence, quiet: start.quiet) }
        let page = try page(of: versions ?? [], limit: limit, in: request.zone)
        let end = page.end ?? position
        let picture = try picture(.visible)
        return ZoneChanges(
            zone: request.zone,
            changes: page.changes.readable(by: try access(of: caller, picture))
                .narrowed(to: request.desiredKeys.map { FieldSelection($0) }),
            token: token(
                .zone,
                place: key ?? 0,
                at: end.rawValue,
                quiet: start.quiet > end.rawValue ? start.quiet : 0
            ),
            moreComing: page.end != nil
        )
    }

    /// Where the token of a request leaves off, as of a position.
    private func start(
        of request: ZoneChangesRequest,
        _ key: UInt64?,
        _ position: SequenceNumber
    ) throws(SyncError) -> Start {
        guard let token = request.since else { return Start(quiet: position.rawValue) }
        let content: TokenContent
        do throws(TokenDefect) {
            var found = try TokenContent(token, store: id, hash: views.hash)
            // A default zone that was empty had no key yet.
            if let key, found.place == 0, key > found.sequence.rawValue { found.place = key }
            try found.check(
                level: .zone,
                place: key ?? 0,
                line: line,
                visible: source.durableSequence,
                horizon: try horizon(of: key)
            )
            content = found
        } catch {
            if error == .otherPlace {
                throw .tokenExpired("the zone was deleted and created again since")
            }
            throw SyncError(error)
        }
        guard max(content.sequence, content.quiet) <= position else {
            throw SyncError(
                .invalidArguments,
                "The token was handed out at event \(max(content.sequence, content.quiet)), after "
                    + "event \(position), as of which the changes are asked for."
            )
        }
        return Start(sequence: content.sequence.rawValue, quiet: content.quiet.rawValue)
    }

    private func horizon(of key: UInt64?) throws(TokenDefect) -> SequenceNumber {
        guard let key, let standing = try? picture(.visible).zone(key) else { return .zero }
        return SequenceNumber(rawValue: standing.tombstoneHorizon)
    }

    private func pastPicture(for caller: Caller) throws(SyncError) -> ViewPicture {
        try checkAccess(of: caller, writes: false)
        if caller.database.scope == .shared { throw .sharedPast }
        return try picture(.visible)
    }

    private func past(
        for caller: Caller,
        _ position: SequenceNumber
    ) throws(SyncError) -> PastState {
        let bound = try check(position, try pastPicture(for: caller))
        return try PastState(
            of: source,
            hash: views.hash,
            through: SequenceNumber(rawValue: bound)
        )
    }
}
