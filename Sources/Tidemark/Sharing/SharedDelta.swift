// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkRules
import TidemarkViews

extension Reader {
    /// Returns a page of changes in another user's zone, as far as shares show it to the caller.
    func sharedZoneChanges(
        _ request: ZoneChangesRequest,
        as caller: Caller,
        _ picture: ViewPicture
    ) throws(SyncError) -> ZoneChanges {
        try page(of: SharedDelta(request, as: caller, self, picture), request)
    }
}

extension Reader {
    /// The same from the end: the newest changes up to a token.
    func newestSharedChanges(
        _ request: ZoneChangesRequest,
        through end: ChangeToken,
        as caller: Caller,
        _ picture: ViewPicture
    ) throws(SyncError) -> ZoneChanges {
        let delta = try SharedDelta(request, as: caller, self, picture)
        guard !delta.hasWalks else {
            throw .tokenExpired("the caller has joined or left shares of the zone since")
        }
        return try newestPage(of: delta, request, through: end)
    }

    /// Returns the content of a token after everything that another user's zone shows to the
    /// caller.
    func endOfSharedChanges(
        _ request: ZoneChangesRequest,
        as caller: Caller,
        _ picture: ViewPicture
    ) throws(SyncError) -> TokenContent {
        try SharedDelta(request, as: caller, self, picture).end
    }
}

/// The delta of another user's zone, as far as shares show it to the caller.
///
/// Each share has an audience, which is read from the token as a zone is. Before these come two
/// kinds of walks. The audience of a share that the caller has joined since is reported up to the
/// token. The audience of a share that the caller has left is reported as removed.
struct SharedDelta: ZoneDelta {
    private let reader: Reader
    private let picture: ViewPicture
    private let zone: ZoneKey
    private let zoneAccess: ZoneAccess
    /// The caller's present and former participations in shares of the zone.
    private let parts: [KnownParticipation]
    /// The start of the delta.
    private var start: TokenContent

    var access: ZoneAccess? { zoneAccess }

    init(
        _ request: ZoneChangesRequest,
        as caller: Caller,
        _ reader: Reader,
        _ picture: ViewPicture
    ) throws(SyncError) {
        let shared = try reader.sharedZones(of: caller.participant, in: caller.database, picture)
        var zones = ConsultedZones(shared: shared)
        _ = try zones.index(
            of: request.zone,
            in: caller.database,
            creating: .none,
            picture.facts,
            reader.options.limits
        )
        if let error = zones.error(of: 0) { throw error }
        guard let key = zones.key(of: 0), let access = zones.access(of: 0) else {
            throw .zoneNotFound(request.zone, in: caller.database)
        }
        self.reader = reader
        self.picture = picture
        parts = shared.participations.filter { $0.participation.zone == request.zone }
        zone = key
        zoneAccess = access
        start = try Self.start(of: request, key, access, reader, picture)
        if request.since != nil {
            let position = max(start.sequence, start.quiet)
            try reader.checkErasures(since: position, as: caller, picture)
        }
        try noteWalks()
        try checkWalks()
        try checkHorizonOfWalks()
    }

    func list(_ limit: Int) throws(SyncError) -> DeltaList {
        var content = start
        let hasWalks = !content.walks.isEmpty
        var entries: [DeltaEntry] = []
        var untold = UntoldDeletions(
            SharedMemberships(of: parts, since: content.sequence, reader),
            zone: zone,
            access: hasWalks || zoneAccess.participations.count > 1 ? zoneAccess : nil,
            picture
        )
        var budget = reader.scanBudget(limit)
        try walk(&content, &untold, limit: limit, budget: &budget, &entries)
        let room = limit - entries.count
        if content.walks.isEmpty, room > 0, budget > 0 {
            try list(&content, &untold, limit: room, budget: budget, &entries)
        }
        let moreComing = !content.walks.isEmpty || content.sequence < picture.bound
        // One audience has each record once.
        if zoneAccess.participations.count > 1 || hasWalks { entries.keepLastOfEachRecord() }
        content.incarnation = reader.line.current
        return DeltaList(
            entries: entries,
            place: DeltaPlace(token: content, moreComing: moreComing)
        )
    }

    /// Several audiences are reported in turn, so the place in each one is only known by listing
    /// again.
    func place(behind count: Int, of list: DeltaList) -> DeltaPlace? { nil }

    func hide(from rows: inout RecordRows) -> DeltaPlace? { nil }
}

extension SharedDelta: BackwardDelta {
    /// True if there are audiences to walk before the changes after the start.
    var hasWalks: Bool { !start.walks.isEmpty }

    var first: SequenceNumber { start.sequence }

    var end: TokenContent {
        var content = start
        content.incarnation = reader.line.current
        content.sequence = picture.bound
        content.quiet = .zero
        content.walks = []
        return content
    }

    func beginning(after position: SequenceNumber) -> SharedDelta {
        var later = self
        later.start.sequence = position
        return later
    }

    func count(
        after start: SequenceNumber,
        through end: SequenceNumber,
        limit: Int
    ) throws(SyncError) -> Int {
        var count = 0
        for audience in zoneAccess.participations.keys where count < limit {
            count += try reader.changes(in: audience, after: start, limit: limit, picture)
                .prefix { $0.sequence <= end }.count
        }
        return min(count, limit)
    }
}

extension [DeltaEntry] {
    /// Adds entries of an audience, but for those at some positions.
    fileprivate mutating func append(
        _ versions: ArraySlice<RecordVersion>,
        but untold: Set<SequenceNumber>,
        isGone: Bool
    ) {
        let told =
            untold.isEmpty ? versions : versions.filter { !untold.contains($0.sequence) }[...]
        let entries = told.map { version in
            DeltaEntry(slot: version.slot, sequence: version.sequence, isGone: isGone)
        }
        // Mostly all entries are of one audience.
        if isEmpty { self = entries } else { self += entries }
    }

    fileprivate mutating func keepLastOfEachRecord() {
        var seen: Set<Slot> = []
        self = reversed().filter { seen.insert($0.slot).inserted }.reversed()
    }
}

// MARK: - Where the delta begins

extension SharedDelta {
    /// Returns the start of a delta.
    private static func start(
        of request: ZoneChangesRequest,
        _ zone: ZoneKey,
        _ access: ZoneAccess,
        _ reader: Reader,
        _ picture: ViewPicture
    ) throws(SyncError) -> TokenContent {
        guard let token = request.since else {
            var content = TokenContent(
                level: .sharedZone,
                place: zone.rawValue,
                incarnation: reader.line.current,
                sequence: .zero,
                quiet: picture.bound
            )
            content.known = picture.bound
            return content
        }
        let horizon = try horizon(of: access, picture)
        do throws(TokenDefect) {
            let content = try TokenContent(token, store: reader.id, hash: reader.views.hash)
            try content.check(
                level: .sharedZone,
                place: zone.rawValue,
                line: reader.line,
                visible: picture.bound,
                horizon: horizon
            )
            return content
        } catch {
            if error == .otherPlace {
                throw .tokenExpired(
                    "it belongs to another zone, or to an earlier zone of the same name"
                )
            }
            throw SyncError(error)
        }
    }

    /// The highest position up to which deletions of one of the audiences may have been forgotten.
    private static func horizon(
        of access: ZoneAccess,
        _ picture: ViewPicture
    ) throws(SyncError) -> SequenceNumber {
        try SyncError.wrapping { () throws(ViewIndexError) in
            var horizon: SequenceNumber = 0
            for audience in access.participations.keys {
                horizon = max(horizon, try picture.zone(audience).tombstoneHorizon)
            }
            return horizon
        }
    }

    /// Rejects a token of another participant, whose walks would show records that the caller must not
    /// see.
    ///
    /// A token names no user. Beyond its walks it shows only what the caller's own shares show.
    private func checkWalks() throws(SyncError) {
        let own = Set(parts.compactMap(\.audience))
        let areOwn = start.walks.allSatisfy { walk in
            walk.isLeaving
                ? own.contains(walk.audience)
                : zoneAccess.participations[walk.audience] != nil
        }
        guard areOwn else { throw .tokenExpired("it belongs to another participant of the zone") }
    }

    /// Rejects a token from before the horizon of an audience that the caller left, because
    /// removals could not be reported.
    private func checkHorizonOfWalks() throws(SyncError) {
        for walk in start.walks where walk.isLeaving {
            let horizon: SequenceNumber
            do throws(ViewIndexError) {
                horizon = try picture.zone(walk.audience).tombstoneHorizon
            } catch {
                // A log with damage may lack the audience. Its removals could not be reported
                // either.
                guard error.reason == .damaged else { throw SyncError(error) }
                horizon = .max
            }
            guard start.sequence >= horizon else { throw SyncError(.belowHorizon) }
        }
    }

    /// Adds the walks for the shares that the caller joined or left since the token.
    private mutating func noteWalks() throws(SyncError) {
        let known = start.known
        // Then the caller saw the same audiences before.
        if parts.allSatisfy({ $0.audience == nil || $0.sequence <= known }) { return }
        var before: Set<ZoneKey> = []
        var last = known
        for part in parts {
            guard let audience = part.audience else { continue }
            last = max(last, part.sequence)
            let then = try reader.participation(part, asOf: known)
            if then?.showsSomething ?? false { before.insert(audience) }
        }
        let now = Set(zoneAccess.participations.keys)
        let left = before.subtracting(now)
        let joined = now.subtracting(before)
        // Walks that an earlier page began continue. One whose membership changed again starts
        // anew.
        start.walks.removeAll { left.contains($0.audience) || joined.contains($0.audience) }
        start.walks +=
            left.sorted().map { TokenContent.Walk(audience: $0, isLeaving: true) }
            + joined.sorted().map { TokenContent.Walk(audience: $0, isLeaving: false) }
        start.known = last
    }
}

// MARK: - The audiences

extension SharedDelta {
    /// Walks the audiences that come first, as far as the page has room.
    private func walk(
        _ content: inout TokenContent,
        _ untold: inout UntoldDeletions,
        limit: Int,
        budget: inout Int,
        _ entries: inout [DeltaEntry]
    ) throws(SyncError) {
        let start = content.sequence
        while let walk = content.walks.first, entries.count < limit, budget > 0 {
            let room = limit - entries.count
            let scan = try reader.scan(
                walk.audience,
                after: walk.position,
                // Of an audience that the caller leaves, tombstones up to the token were
                // reported. Of one that the caller joins, the device has no record, so no
                // tombstone is reported.
                quiet: walk.isLeaving ? start : .max,
                limit: room + 1,
                budget: &budget,
                picture
            )
            var (versions, end) = (scan.entries, scan.end)
            if !walk.isLeaving {
                // Later entries are listed after all walks, together with those of the others.
                if let last = versions.last, last.sequence > start {
                    versions = Array(versions.prefix { $0.sequence <= start })
                    end = nil
                }
                if end ?? 0 > start { end = nil }
            }
            let told = versions.prefix(room)
            let untoldHere = try untold.positions(
                among: told,
                in: walk.audience,
                isLeaving: walk.isLeaving
            )
            entries.append(told, but: untoldHere, isGone: walk.isLeaving)
            if versions.count > room {
                content.walks[0].position = versions[room - 1].sequence
            } else if let end {
                content.walks[0].position = end
            } else {
                content.walks.removeFirst()
            }
        }
    }

    /// Lists the entries of all shares after the token, up to the page's limits.
    private func list(
        _ content: inout TokenContent,
        _ untold: inout UntoldDeletions,
        limit room: Int,
        budget: Int,
        _ entries: inout [DeltaEntry]
    ) throws(SyncError) {
        var found: [RecordVersion] = []
        var untoldHere: Set<SequenceNumber> = []
        // Up to here all of the audiences were read.
        var bound = picture.bound
        for audience in zoneAccess.participations.keys {
            var budget = max(budget / zoneAccess.participations.count, 1)
            let listed = try reader.scan(
                audience,
                after: content.sequence,
                quiet: content.quiet,
                limit: room + 1,
                budget: &budget,
                picture
            )
            bound = min(bound, listed.end ?? bound)
            if found.isEmpty { found = listed.entries } else { found += listed.entries }
            untoldHere.formUnion(
                try untold.positions(among: listed.entries, in: audience, isLeaving: false)
            )
        }
        // The token has one position for all audiences. Entries after the shortest of them are
        // listed again for the next page. A single audience is in order, and ends at the bound.
        if zoneAccess.participations.count > 1 {
            found.removeAll { $0.sequence > bound }
            found.sort { $0.sequence < $1.sequence }
        }
        entries.append(found.prefix(room), but: untoldHere, isGone: false)
        let end = found.count > room ? found[room - 1].sequence : bound
        content.sequence = end
        if content.quiet <= end { content.quiet = .zero }
    }
}
