// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkRules
import TidemarkViews

extension Reader {
    /// See ``Store/zoneChanges(_:as:)``, and as of a position ``Store/zoneChanges(_:as:asOf:)``.
    func zoneChanges(
        _ request: ZoneChangesRequest,
        as caller: Caller,
        asOf position: SequenceNumber? = nil
    ) throws(SyncError) -> ZoneChanges {
        try checkAccess(of: caller, writes: false)
        let limit = try pageLimit(request.limit)
        let now = try picture(.visible)
        defer { withExtendedLifetime(now) {} }
        if caller.database.scope == .shared {
            guard position == nil else { throw .sharedPast }
            let changes = try sharedZoneChanges(request, as: caller, limit: limit, now)
            return noted(changes, request, caller, now)
        }
        let picture = try picture(asOf: position, now)
        try checkName(of: request.zone, in: caller.database)
        let zone = ZoneIdentity(
            database: caller.database,
            zoneName: Name(request.zone.zoneName)
        )
        let (key, end) = try picture.zone(zone)
        if key == nil, !zone.isImplicit { throw .zoneGone(request.zone, end ?? .deleted) }
        if options.isStrict, zone.isImplicit { throw .noDelta(of: request.zone) }
        let access = try access(of: caller, now)
        let readability = access?.readability(views.hash) ?? 0
        let start = try start(of: request, zone, key, quiet: picture.bound, readability, now)
        if let position { try check(start, isWithin: position) }
        let changes = try changes(
            ofZone: key ?? 0,
            after: start,
            through: picture.bound,
            request,
            limit: limit,
            as: caller,
            access
        ) { (start, count) throws(SyncError) in
            guard let key else { return [] }
            return try picture.versions(in: key, after: start, limit: count)
        }
        return position == nil ? noted(changes, request, caller, now) : changes
    }

    /// Rejects the name of a zone that a client cannot have in its database.
    func checkName(of zone: ZoneID, in database: DatabaseID) throws(SyncError) {
        try options.limits.check(zone: zone)
        guard
            zone.ownerName == ZoneID.currentOwner
                || zone.ownerName == database.owner.userRecordName
        else { throw .zoneNotFound(zone) }
    }

    func check(_ start: Start, isWithin position: SequenceNumber) throws(SyncError) {
        let handedOut = max(start.sequence, start.quiet)
        guard handedOut <= position.rawValue else {
            throw SyncError(
                .invalidArguments,
                "The token was handed out at event \(handedOut), after event \(position), as of "
                    + "which the changes are asked for."
            )
        }
    }

    /// A page of changes, once the journal has it.
    private func noted(
        _ changes: ZoneChanges,
        _ request: ZoneChangesRequest,
        _ caller: Caller,
        _ picture: ViewPicture
    ) -> ZoneChanges {
        note(
            JournalEntry.Told(
                .zoneChanges,
                caller,
                zone: request.zone,
                since: request.since,
                token: changes.token,
                shownThrough: SequenceNumber(rawValue: picture.bound),
                changeCount: changes.changes.count,
                moreComing: changes.moreComing
            )
        )
        return changes
    }

    /// A page of a zone's changes.
    ///
    /// - Parameters:
    ///   - key: The zone's key; zero if it has none yet.
    ///   - start: Where the delta begins.
    ///   - bound: The position up to which the list shows the store.
    ///   - request: The request, for the zone's name and the fields.
    ///   - limit: The number of changes in the page.
    ///   - caller: The client.
    ///   - access: What the client may read; `nil` for everything.
    ///   - read: Reads the zone's list, as for ``versions(after:limit:to:_:)``.
    ///
    /// - Returns: The page.
    ///
    /// - Throws: `changeTokenExpired` as ``FormerVersions`` does, and what keeps the log from being read.
    func changes(
        ofZone key: UInt64,
        after start: Start,
        through bound: UInt64,
        _ request: ZoneChangesRequest,
        limit: Int,
        as caller: Caller,
        _ access: PublicAccess?,
        _ read: (_ start: UInt64, _ count: Int) throws(SyncError) -> [RecordVersion]
    ) throws(SyncError) -> ZoneChanges {
        let versions = try versions(after: start, limit: limit + 1, to: caller, read)
        let all = try page(of: versions, limit: limit, in: request.zone)
        let page = try readable(all, after: start, by: access, caller)
        let readability = access?.readability(views.hash) ?? 0
        let end = page.end?.rawValue ?? bound
        // Between two pages a client may hold a record that was deleted before the second one begins.
        let keepsQuiet = start.quiet > end || page.end != nil && readability != 0
        return ZoneChanges(
            zone: request.zone,
            changes: page.changes.narrowed(to: request.desiredKeys.map { FieldSelection($0) }),
            token: token(
                .zone,
                place: key,
                at: end,
                quiet: keepsQuiet ? start.known : 0,
                readability: readability
            ),
            moreComing: page.end != nil
        )
    }

    /// Where a delta begins.
    struct Start {
        var sequence: UInt64 = 0
        /// Deletions up to here are not told.
        var quiet: UInt64

        /// Where the client's copy of the zone was complete, or where it began without a token.
        var known: UInt64 { quiet > 0 ? quiet : sequence }
    }

    /// Where the token of a request leaves off; without a token, at the beginning, and with the deletions
    /// up to `quiet` left out.
    func start(
        of request: ZoneChangesRequest,
        _ zone: ZoneIdentity,
        _ key: UInt64?,
        quiet: UInt64,
        _ readability: UInt64,
        _ picture: ViewPicture
    ) throws(SyncError) -> Start {
        guard let token = request.since else { return Start(quiet: quiet) }
        var content: TokenContent
        do throws(TokenDefect) {
            content = try TokenContent(token, store: id, hash: views.hash)
            // A default zone that was empty had no key yet; it came into being after the token.
            if let key, content.place == 0, key > content.sequence.rawValue {
                content.place = key
            }
            try content.check(
                level: .zone,
                place: key ?? 0,
                line: line,
                visible: SequenceNumber(rawValue: picture.bound),
                horizon: try horizon(of: key, picture),
                readability: readability
            )
        } catch {
            throw try explain(error, of: token, for: zone, picture)
        }
        return Start(sequence: content.sequence.rawValue, quiet: content.quiet.rawValue)
    }

    private func horizon(
        of key: UInt64?,
        _ picture: ViewPicture
    ) throws(TokenDefect) -> SequenceNumber {
        guard let key, let standing = try? picture.zone(key) else { return .zero }
        return SequenceNumber(rawValue: standing.tombstoneHorizon)
    }

    /// The error for a token that cannot be answered.
    private func explain(
        _ defect: TokenDefect,
        of token: ChangeToken,
        for zone: ZoneIdentity,
        _ picture: ViewPicture
    ) throws(SyncError) -> SyncError {
        guard defect == .otherPlace,
            let content = try? TokenContent(token, store: id, hash: views.hash)
        else { return SyncError(defect) }
        guard let standing = try? picture.zone(content.place) else {
            return content.place == 0
                ? SyncError(defect) : .tokenExpired("the zone that it is of was erased")
        }
        guard standing.identity == zone else { return SyncError(defect) }
        return .tokenExpired("the zone was deleted and created again since")
    }
}

// MARK: - Pages

extension Reader {
    /// How many entries a page may have, by what was asked for.
    func pageLimit(_ asked: Int?) throws(SyncError) -> Int {
        let limit = max(options.limits.recordsPerPage, 1)
        guard let asked else { return limit }
        guard asked > 0 else {
            throw SyncError(
                .invalidArguments,
                "The limit of a page must be at least 1; it is \(asked)."
            )
        }
        return min(asked, limit)
    }

    /// Reads the records of some versions, up to the page's limits, and says where the page ends if
    /// there is more.
    ///
    /// `versions` has one more than `limit` if there is more.
    func page(
        of versions: DeltaScan<RecordVersion>,
        limit: Int,
        in zone: ZoneID
    ) throws(SyncError) -> ChangePage {
        let wanted = versions.entries.prefix(limit).map(\.sequence)
        var page = DeltaPage(
            of: zone,
            line: line,
            count: wanted.count,
            byteLimit: options.pageByteCount
        )
        var isFull = false
        do throws(LogError) {
            try source.read(wanted) { event in
                isFull = !page.add(event)
                return !isFull
            }
        } catch {
            throw SyncError(error)
        }
        if let failure = page.failure { throw SyncError(failure) }
        // Where nothing could be read, because it is damaged, the page goes on behind it.
        let last = isFull ? page.last : wanted.last ?? .zero
        let unread = versions.entries.first { $0.sequence > last }?.sequence
        guard let end = unread == nil ? versions.end.map({ SequenceNumber(rawValue: $0) }) : last
        else { return ChangePage(changes: page.changes) }
        let next = unread ?? SequenceNumber(rawValue: end.rawValue + 1)
        let isCut = last == page.last && page.trim(before: next)
        return ChangePage(changes: page.changes, end: isCut ? page.last : end)
    }

    /// A token that says that everything up to a position has been told.
    func token(
        _ level: TokenContent.Level,
        place: UInt64,
        at sequence: UInt64,
        quiet: UInt64 = 0,
        readability: UInt64 = 0
    ) -> ChangeToken {
        TokenContent(
            level: level,
            place: place,
            incarnation: line.current,
            sequence: SequenceNumber(rawValue: sequence),
            quiet: SequenceNumber(rawValue: quiet),
            readability: readability
        ).token(of: id, hash: views.hash)
    }
}

extension SyncError {
    /// The error of a change token that cannot be answered.
    init(_ defect: TokenDefect) {
        self =
            switch defect {
            case .damaged:
                .tokenInvalid("its bytes are not those of a token that this store made")
            case .otherLevel:
                .tokenInvalid("it counts zones where records are asked for, or the reverse")
            case .otherPlace:
                .tokenInvalid("it was handed out for another zone or database")
            case .otherStore:
                .tokenExpired("it is of another store")
            case .unknownIncarnation:
                .tokenExpired("the store was never in the incarnation that made it")
            case .beyondCut:
                .tokenExpired("it tells of changes that were lost when the store was restored")
            case .future:
                .tokenExpired("it is ahead of the store")
            case .otherReadability:
                .tokenExpired("which records the caller may read has changed since")
            case .belowHorizon:
                .tokenExpired("deletions after it have been forgotten")
            }
    }
}

extension [RecordChange] {
    /// The same changes, of each record the selected fields alone.
    func narrowed(to selection: FieldSelection?) -> [RecordChange] {
        guard let selection else { return self }
        return map { change in
            guard case .changed(let record) = change else { return change }
            return .changed(record.narrowed(to: selection))
        }
    }
}
