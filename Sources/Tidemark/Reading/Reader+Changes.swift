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
        let now = try picture(.visible)
        // The picture is a pin: while it exists, compaction removes no event that this page reads.
        // Without this line it could be released after its last use.
        defer { withExtendedLifetime(now) {} }
        if caller.database.scope == .shared {
            guard position == nil else { throw .sharedPast }
            let changes = try sharedZoneChanges(request, as: caller, now)
            return noted(changes, request, caller, now)
        }
        if let position {
            let past = try picture(asOf: position, now)
            return try changes(request, as: caller, past, now, through: position)
        }
        let changes = try changes(request, as: caller, LivePicture(views: now), now)
        return noted(changes, request, caller, now)
    }

    /// Returns a page of the changes of a zone in a picture.
    private func changes(
        _ request: ZoneChangesRequest,
        as caller: Caller,
        _ picture: some Picture,
        _ now: ViewPicture,
        through position: SequenceNumber? = nil
    ) throws(SyncError) -> ZoneChanges {
        let zone = try listedZone(request, as: caller, picture, now)
        if let position { try check(zone.start, isWithin: position) }
        guard zone.start.isAtHead else {
            return try page(of: ListedDelta(self, picture, zone, caller), request)
        }
        _ = try pageLimit(request)
        let token =
            if let since = request.since, zone.start.isAt(picture.bound, line.current) {
                // A new token would have the same bytes.
                since
            } else {
                zone.token(at: picture.bound, line.current).token(of: id, hash: views.hash)
            }
        // The usual answer to a client that asks again: nothing is read.
        return ZoneChanges(
            zone: request.zone,
            changes: RecordChanges(),
            token: token,
            moreComing: false
        )
    }

    /// See ``Store/currentToken(of:as:)``.
    func currentToken(of zone: ZoneID, as caller: Caller) throws(SyncError) -> ChangeToken {
        try checkAccess(of: caller, writes: false)
        let now = try picture(.visible)
        defer { withExtendedLifetime(now) {} }
        let request = ZoneChangesRequest(zone: zone)
        let end =
            if caller.database.scope == .shared {
                try endOfSharedChanges(request, as: caller, now)
            } else {
                try listedZone(request, as: caller, LivePicture(views: now), now)
                    .token(at: now.bound, line.current)
            }
        return end.token(of: id, hash: views.hash)
    }

    /// Returns what a delta lists of a zone in a picture: the changes after the request's token, for
    /// a caller with the permissions of now.
    func listedZone(
        _ request: ZoneChangesRequest,
        as caller: Caller,
        _ picture: some Picture,
        _ now: ViewPicture
    ) throws(SyncError) -> ListedZone {
        try checkOwner(of: request.zone, in: caller.database)
        let zone = ZoneIdentity(database: caller.database, zoneName: Name(request.zone.zoneName))
        let (key, end) = try picture.zone(zone)
        // Of the zones that exist, only those of the store itself have names that clients may not
        // use.
        if key == nil || zone.isSystem {
            try options.limits.check(zone: request.zone)
            if key == nil, !zone.isImplicit {
                let isPast = picture.bound < now.bound
                throw .zoneGone(request.zone, end ?? .deleted, isPast: isPast)
            }
        }
        if options.isStrict, zone.isImplicit { throw .noDelta(of: request.zone) }
        // Permissions are those of now, also for a page as of a position. The token is checked
        // against now too, because horizons only rise.
        let access = try access(of: caller, now)
        let readability = try access?.readability(views.hash) ?? 0
        let start = try start(of: request, zone, key, quiet: picture.bound, readability, now)
        return ListedZone(key: key, start: start, readable: access, readability: readability)
    }

    /// Rejects the name of a zone that a client cannot have in its database.
    func checkName(of zone: ZoneID, in database: DatabaseID) throws(SyncError) {
        try options.limits.check(zone: zone)
        try checkOwner(of: zone, in: database)
    }

    private func checkOwner(of zone: ZoneID, in database: DatabaseID) throws(SyncError) {
        guard
            zone.ownerName == ZoneID.currentOwner
                || zone.ownerName == database.owner.userRecordName
        else { throw .zoneNotFound(zone) }
    }

    func check(_ start: Start, isWithin position: SequenceNumber) throws(SyncError) {
        let handedOut = max(start.sequence, start.quiet)
        guard handedOut <= position else {
            throw SyncError(
                .invalidArguments,
                "The token was made at event \(handedOut), which is after event \(position), the "
                    + "point of this request."
            )
        }
    }

    /// A page of changes, once the journal has it; with the token that it leads to, if that is not its own.
    func noted(
        _ changes: ZoneChanges,
        _ request: ZoneChangesRequest,
        _ caller: Caller,
        _ picture: ViewPicture,
        token: ChangeToken? = nil
    ) -> ZoneChanges {
        note(
            JournalEntry.Told(
                .zoneChanges,
                caller,
                zone: request.zone,
                since: request.since,
                token: token ?? changes.token,
                shownThrough: picture.bound,
                changeCount: changes.changes.count,
                moreComing: changes.moreComing
            )
        )
        return changes
    }

    /// The start of a delta.
    struct Start {
        var sequence: SequenceNumber = 0
        /// Deletions up to here are not reported.
        var quiet: SequenceNumber
        /// The incarnation of the token; `nil` without one.
        var incarnation: Incarnation?
        /// True if the zone's last event is not after the start.
        var isAtHead = false

        /// The position at which the client's copy of the zone was complete, or at which a delta
        /// without a token began.
        var known: SequenceNumber { quiet > 0 ? quiet : sequence }

        /// Returns true if the token of a client that has received everything up to a position is
        /// the token of this start.
        ///
        /// Its zone and readability are, or the token would not have been accepted.
        func isAt(_ position: SequenceNumber, _ incarnation: Incarnation) -> Bool {
            sequence == position && quiet == 0 && self.incarnation == incarnation
        }
    }

    /// Returns the position of a request's token.
    ///
    /// Without a token, returns the beginning, and omits deletions up to `quiet`.
    func start(
        of request: ZoneChangesRequest,
        _ zone: ZoneIdentity,
        _ key: ZoneKey?,
        quiet: SequenceNumber,
        _ readability: UInt64,
        _ picture: ViewPicture
    ) throws(SyncError) -> Start {
        guard let token = request.since else { return Start(quiet: quiet) }
        // An error must not be taken for a zone without a horizon: a token that has expired would
        // be answered, and deletions would be left out.
        let reach = try SyncError.wrapping { () throws(ViewIndexError) in
            try key.flatMap { (key) throws(ViewIndexError) in try picture.reach(of: key) }
        }
        var content: TokenContent
        do throws(TokenDefect) {
            content = try TokenContent(token, store: id, hash: views.hash)
            // A default zone that was empty had no key yet; it was created after the token.
            if let key, content.place == 0, key.creation > content.sequence {
                content.place = key.rawValue
            }
            try content.check(
                level: .zone,
                place: key?.rawValue ?? 0,
                line: line,
                visible: picture.bound,
                horizon: reach?.tombstoneHorizon ?? .zero,
                readability: readability
            )
        } catch {
            throw try explain(error, of: token, for: zone, picture)
        }
        return Start(
            sequence: content.sequence,
            quiet: content.quiet,
            incarnation: content.incarnation,
            isAtHead: reach.map { $0.head <= content.sequence } ?? false
        )
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
        // The place is the position of a zone's creation. If no such event is there, the zone was
        // erased (events.md, "Erasures").
        guard let standing = try? picture.zone(ZoneKey(rawValue: content.place)) else {
            return content.place == 0
                ? SyncError(defect) : .tokenExpired("its zone was erased")
        }
        // The token of another zone is a mistake in the program and stays invalid. Only an earlier
        // epoch of the same zone is expired.
        guard standing.identity == zone else { return SyncError(defect) }
        return .tokenExpired("the zone was deleted and created again since")
    }
}

// MARK: - Pages

extension Reader {
    /// Returns the maximum number of entries on a page, given the requested number.
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

    /// Returns a token of a client that has received everything up to a position.
    func token(
        _ level: TokenContent.Level,
        place: UInt64,
        at sequence: SequenceNumber,
        quiet: SequenceNumber = 0,
        readability: UInt64 = 0
    ) -> ChangeToken {
        TokenContent(
            level: level,
            place: place,
            incarnation: line.current,
            sequence: sequence,
            quiet: quiet,
            readability: readability
        ).token(of: id, hash: views.hash)
    }
}

extension SyncError {
    /// Returns the result of a closure; rethrows its defect as the error of a request.
    @inline(__always)
    static func wrapping<Result>(
        _ body: () throws(TokenDefect) -> Result
    ) throws(SyncError) -> Result {
        do throws(TokenDefect) {
            return try body()
        } catch {
            throw SyncError(error)
        }
    }

    /// The error of a change token that cannot be answered.
    init(_ defect: TokenDefect) {
        self =
            switch defect {
            case .damaged:
                .tokenInvalid("its bytes are not those of a token that this store made")
            case .otherLevel:
                .tokenInvalid(
                    "it belongs to another kind of changes; those of a zone, of a shared zone "
                        + "and of a database have tokens of their own"
                )
            case .otherPlace:
                .tokenInvalid("it was made for another zone or database")
            case .otherStore:
                .tokenExpired("it belongs to another store")
            case .unknownIncarnation:
                .tokenExpired("the store was never in the incarnation that made it")
            case .beyondCut:
                .tokenExpired("it includes changes that were lost when the store was restored")
            case .future:
                .tokenExpired("it is ahead of the store")
            case .otherReadability:
                .tokenExpired("which records the caller may read has changed since")
            case .belowHorizon:
                .tokenExpired("deletions after it have been forgotten")
            }
    }
}
