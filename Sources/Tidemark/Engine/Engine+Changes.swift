// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog
import TidemarkModel

extension Engine {
    /// See ``Store/zoneChanges(_:as:)``.
    func zoneChanges(
        _ request: ZoneChangesRequest,
        as caller: Caller
    ) throws(SyncError) -> ZoneChanges {
        try checkAccess(of: caller, writes: false)
        let limit = try pageLimit(request.limit)
        let picture = try picture(.visible)
        if caller.database.scope == .shared {
            let changes = try sharedZoneChanges(request, as: caller, limit: limit, picture)
            return noted(changes, request, caller, picture)
        }
        var zones = ConsultedZones()
        _ = try zones.index(
            of: request.zone,
            in: caller.database,
            creating: .implicit,
            picture,
            options.limits
        )
        if let error = zones[0].error { throw error }
        if options.isStrict, zones[0].identity.isImplicit { throw .noDelta(of: request.zone) }
        let selection = request.desiredKeys.map { FieldSelection($0) }
        let access = try access(of: caller, picture)
        let readability = access?.readability(views.hash) ?? 0
        let start = try start(of: request, zones[0], readability, picture)
        guard let key = zones[0].key else {
            let token = token(.zone, place: 0, at: picture.bound, readability: readability)
            let none = ZoneChanges(zone: request.zone, changes: [], token: token, moreComing: false)
            return noted(none, request, caller, picture)
        }
        let versions = try versions(in: key, after: start, limit: limit + 1, to: caller, picture)
        let page = try page(of: versions, limit: limit, in: request.zone)
        let end = page.end?.rawValue ?? picture.bound
        let token = token(
            .zone,
            place: key,
            at: end,
            quiet: start.quiet > end ? start.quiet : 0,
            readability: readability
        )
        let changes = ZoneChanges(
            zone: request.zone,
            changes: page.changes.readable(by: access).narrowed(to: selection),
            token: token,
            moreComing: page.end != nil
        )
        return noted(changes, request, caller, picture)
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

    /// Where a delta begins.
    struct Start {
        var sequence: UInt64 = 0
        /// Deletions up to here are not told.
        var quiet: UInt64
    }

    /// Where the token of a request leaves off.
    func start(
        of request: ZoneChangesRequest,
        _ zone: ConsultedZone,
        _ readability: UInt64,
        _ picture: ViewPicture
    ) throws(SyncError) -> Start {
        guard let token = request.since else { return Start(quiet: picture.bound) }
        var content: TokenContent
        do throws(TokenDefect) {
            content = try TokenContent(token, store: id, hash: views.hash)
            // A default zone that was empty had no key yet; it came into being after the token.
            if let key = zone.key, content.place == 0, key > content.sequence.rawValue {
                content.place = key
            }
            try content.check(
                level: .zone,
                place: zone.key ?? 0,
                line: line,
                visible: SequenceNumber(rawValue: picture.bound),
                horizon: try horizon(of: zone, picture),
                readability: readability
            )
        } catch {
            throw try explain(error, of: token, for: zone, picture)
        }
        return Start(sequence: content.sequence.rawValue, quiet: content.quiet.rawValue)
    }

    private func horizon(
        of zone: ConsultedZone,
        _ picture: ViewPicture
    ) throws(TokenDefect) -> SequenceNumber {
        guard let key = zone.key, let standing = try? picture.zone(key) else { return .zero }
        return SequenceNumber(rawValue: standing.tombstoneHorizon)
    }

    /// The error for a token that cannot be answered.
    private func explain(
        _ defect: TokenDefect,
        of token: ChangeToken,
        for zone: ConsultedZone,
        _ picture: ViewPicture
    ) throws(SyncError) -> SyncError {
        guard defect == .otherPlace,
            let content = try? TokenContent(token, store: id, hash: views.hash)
        else { return SyncError(defect) }
        guard let standing = try? picture.zone(content.place) else {
            return content.place == 0
                ? SyncError(defect) : .tokenExpired("the zone that it is of was erased")
        }
        guard standing.identity == zone.identity else { return SyncError(defect) }
        return .tokenExpired("the zone was deleted and created again since")
    }
}

// MARK: - Pages

extension Engine {
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
        of versions: [RecordVersion],
        limit: Int,
        in zone: ZoneID
    ) throws(SyncError) -> (changes: [RecordChange], end: SequenceNumber?) {
        let wanted = versions.prefix(limit).map(\.sequence)
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
        guard let next = versions.first(where: { $0.sequence > last })?.sequence else {
            return (page.changes, nil)
        }
        if last == page.last {
            page.trim(before: next)
            return (page.changes, page.last)
        }
        return (page.changes, last)
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
