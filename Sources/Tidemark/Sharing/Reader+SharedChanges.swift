// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkRules
import TidemarkViews

extension Reader {
    /// What changed in a zone of somebody else, as far as shares show it to the caller.
    ///
    /// Each share has a list of its own, which is walked from the token as a zone's is. Before that
    /// come the lists of shares that the caller came to since: what they held up to the token; and
    /// of those that the caller left: all of them hold is gone.
    func sharedZoneChanges(
        _ request: ZoneChangesRequest,
        as caller: Caller,
        limit: Int,
        _ picture: ViewPicture
    ) throws(SyncError) -> ZoneChanges {
        let parts = try participations(of: caller.participant, in: caller.database, picture)
        var zones = ConsultedZones(shared: SharedZones(parts))
        _ = try zones.index(
            of: request.zone,
            in: caller.database,
            creating: .none,
            picture.facts,
            options.limits
        )
        if let error = zones.error(of: 0) { throw error }
        guard let key = zones.key(of: 0), let access = zones.access(of: 0) else {
            throw .zoneNotFound(request.zone, in: caller.database)
        }
        var content = try start(of: request, key, access, picture)
        if request.since != nil {
            let position = max(content.sequence, content.quiet).rawValue
            try checkErasures(since: position, as: caller, picture)
        }
        let own = parts.filter { $0.participation.zone == request.zone }
        try takeIn(own, access, &content)
        try check(content, picture)
        let hasWalks = !content.walks.isEmpty
        var page = SharedPage()
        var unsaid = UntoldDeletions(
            SharedMemberships(of: own, since: content.sequence, self),
            zone: key,
            access: hasWalks || access.parts.count > 1 ? access : nil,
            picture
        )
        var budget = scanBudget
        try walk(&content, &unsaid, limit: limit, budget: &budget, &page, picture)
        let room = limit - page.entries.count
        if content.walks.isEmpty, room > 0, budget > 0 {
            try list(access, &content, &unsaid, limit: room, budget: budget, &page, picture)
        }
        let moreComing = !content.walks.isEmpty || content.sequence.rawValue < picture.bound
        // One list has each record once.
        if access.parts.count > 1 || hasWalks { page.collapse() }
        let selection = request.desiredKeys.map { FieldSelection($0) }
        let (changes, fitting) = try page.changes(
            in: request.zone,
            as: access,
            from: source,
            line,
            byteLimit: options.pageByteCount
        )
        if fitting < page.entries.count {
            return try sharedZoneChanges(request, as: caller, limit: fitting, picture)
        }
        content.incarnation = line.current
        return ZoneChanges(
            zone: request.zone,
            changes: changes.narrowed(to: selection),
            token: content.token(of: id, hash: views.hash),
            moreComing: moreComing
        )
    }

    /// Where a delta begins.
    private func start(
        of request: ZoneChangesRequest,
        _ zone: UInt64,
        _ access: ZoneAccess,
        _ picture: ViewPicture
    ) throws(SyncError) -> TokenContent {
        guard let token = request.since else {
            let bound = SequenceNumber(rawValue: picture.bound)
            var content = TokenContent(
                level: .sharedZone,
                place: zone,
                incarnation: line.current,
                sequence: .zero,
                quiet: bound
            )
            content.known = bound
            return content
        }
        let horizon = try horizon(of: access, picture)
        do throws(TokenDefect) {
            let content = try TokenContent(token, store: id, hash: views.hash)
            try content.check(
                level: .sharedZone,
                place: zone,
                line: line,
                visible: SequenceNumber(rawValue: picture.bound),
                horizon: SequenceNumber(rawValue: horizon)
            )
            return content
        } catch {
            if error == .otherPlace {
                throw .tokenExpired("it is of another zone, or of an earlier one of the same name")
            }
            throw SyncError(error)
        }
    }

    /// The highest position up to which deletions of one of the lists may have been forgotten.
    private func horizon(
        of access: ZoneAccess,
        _ picture: ViewPicture
    ) throws(SyncError) -> UInt64 {
        try SyncError.wrapping { () throws(ViewIndexError) in
            var horizon: UInt64 = 0
            for audience in access.parts.keys {
                horizon = max(horizon, try picture.zone(audience).tombstoneHorizon)
            }
            return horizon
        }
    }

    /// Refuses a token from before what a list that the caller left has forgotten: what is gone could
    /// not be told.
    private func check(_ content: TokenContent, _ picture: ViewPicture) throws(SyncError) {
        for walk in content.walks where walk.isLeaving {
            let horizon = (try? picture.zone(walk.audience).tombstoneHorizon) ?? 0
            guard content.sequence.rawValue >= horizon else { throw SyncError(.belowHorizon) }
        }
    }

    /// Notes the lists that are to be walked because the caller came to shares or left some since
    /// the token.
    private func takeIn(
        _ parts: [KnownParticipation],
        _ access: ZoneAccess,
        _ content: inout TokenContent
    ) throws(SyncError) {
        let known = content.known
        var before: Set<UInt64> = []
        var last = known
        for part in parts {
            guard let audience = part.audience else { continue }
            last = max(last, part.sequence)
            if try wasMember(part, at: known) { before.insert(audience) }
        }
        let now = Set(access.parts.keys)
        let left = before.subtracting(now)
        let joined = now.subtracting(before)
        content.walks.removeAll { left.contains($0.audience) || joined.contains($0.audience) }
        content.walks +=
            left.sorted().map { TokenContent.Walk(audience: $0, isLeaving: true) }
            + joined.sorted().map { TokenContent.Walk(audience: $0, isLeaving: false) }
        content.known = last
    }

    private func wasMember(
        _ part: KnownParticipation,
        at position: SequenceNumber
    ) throws(SyncError) -> Bool {
        if part.sequence <= position { return part.participation.showsSomething }
        var previous = part.previous
        while previous > position { previous = try previousEvent(before: previous) }
        guard previous != .zero, let record = try? views.records(at: [previous])[0],
            record.event.state == .live
        else { return false }
        return try ShareRecords.participation(in: record.readBody())?.showsSomething ?? false
    }

    private func previousEvent(
        before sequence: SequenceNumber
    ) throws(SyncError) -> SequenceNumber {
        SequenceNumber(rawValue: try views.records(at: [sequence])[0].event.previous)
    }

    /// Walks the lists that come first, as far as the page has room.
    private func walk(
        _ content: inout TokenContent,
        _ unsaid: inout UntoldDeletions,
        limit: Int,
        budget: inout Int,
        _ page: inout SharedPage,
        _ picture: ViewPicture
    ) throws(SyncError) {
        let start = content.sequence
        while let walk = content.walks.first, page.entries.count < limit, budget > 0 {
            let room = limit - page.entries.count
            let scan = try scan(
                walk.audience,
                after: walk.position,
                quiet: walk.isLeaving ? start.rawValue : .max,
                limit: room + 1,
                budget: &budget,
                picture
            )
            var (versions, end) = (scan.entries, scan.end)
            if !walk.isLeaving {
                versions = Array(versions.prefix { $0.sequence <= start })
                if versions.count < scan.entries.count || end ?? 0 > start.rawValue { end = nil }
            }
            let told = versions.prefix(room)
            let unsaid = try unsaid.positions(
                among: told,
                in: walk.audience,
                isLeaving: walk.isLeaving
            )
            page.append(told, but: unsaid, isGone: walk.isLeaving)
            if versions.count > room {
                content.walks[0].position = versions[room - 1].sequence.rawValue
            } else if let end {
                content.walks[0].position = end
            } else {
                content.walks.removeFirst()
            }
        }
    }

    /// Lists what came after the token, of all shares together, as far as the page has room.
    private func list(
        _ access: ZoneAccess,
        _ content: inout TokenContent,
        _ unsaid: inout UntoldDeletions,
        limit room: Int,
        budget: Int,
        _ page: inout SharedPage,
        _ picture: ViewPicture
    ) throws(SyncError) {
        var found: [RecordVersion] = []
        var unsaidHere: Set<SequenceNumber> = []
        // Up to here all of the lists were read.
        var bound = picture.bound
        for audience in access.parts.keys {
            var budget = max(budget / access.parts.count, 1)
            let listed = try scan(
                audience,
                after: content.sequence.rawValue,
                quiet: content.quiet.rawValue,
                limit: room + 1,
                budget: &budget,
                picture
            )
            bound = min(bound, listed.end ?? bound)
            found += listed.entries
            unsaidHere.formUnion(
                try unsaid.positions(among: listed.entries, in: audience, isLeaving: false)
            )
        }
        found.removeAll { $0.sequence.rawValue > bound }
        found.sort { $0.sequence < $1.sequence }
        page.append(found.prefix(room), but: unsaidHere, isGone: false)
        let end = found.count > room ? found[room - 1].sequence.rawValue : bound
        content.sequence = SequenceNumber(rawValue: end)
        if content.quiet.rawValue <= end { content.quiet = .zero }
    }
}

// MARK: - The zones of a shared database

extension Reader {
    /// The zones that shares show to the caller.
    func sharedZoneList(of caller: Caller, _ picture: ViewPicture) throws(SyncError) -> [Zone] {
        let parts = try participations(of: caller.participant, in: caller.database, picture)
        return SharedZones(parts).zones.keys
            .map { Zone(zoneID: $0, capabilities: .ofCustomZones) }
            .sorted { $0.zoneID < $1.zoneID }
    }

    /// The zones of a shared database whose last event is after a position, by that event, oldest
    /// first, with that position.
    ///
    /// O(the user's parts).
    func sharedZoneHeads(
        of caller: Caller,
        after start: UInt64,
        quiet: UInt64,
        _ picture: ViewPicture
    ) throws(SyncError) -> [(change: ZoneChange, head: UInt64)] {
        let parts = try participations(of: caller.participant, in: caller.database, picture)
        let shared = SharedZones(parts)
        var heads: [ZoneID: UInt64] = [:]
        var ends: [ZoneID: (sequence: UInt64, part: Participation)] = [:]
        return try SyncError.wrapping { () throws(ViewIndexError) in
            for part in parts {
                let zone = part.participation.zone
                let sequence = part.sequence.rawValue
                heads[zone] = max(heads[zone] ?? 0, sequence)
                if sequence >= ends[zone]?.sequence ?? 0 {
                    ends[zone] = (sequence, part.participation)
                }
                if part.participation.showsSomething, let audience = part.audience {
                    heads[zone] = max(heads[zone] ?? 0, try picture.zone(audience).head)
                }
            }
            var changes: [(change: ZoneChange, head: UInt64)] = []
            for (zone, head) in heads where head > start {
                if shared.zones[zone] != nil {
                    changes.append((.changed(zone), head))
                } else if head > quiet, let end = ends[zone] {
                    let identity = end.part.zoneIdentity(in: caller.database)
                    let reason = try picture.search(for: identity).standing?.end?.reason
                    changes.append((.deleted(zone, reason ?? .deleted), head))
                }
            }
            return changes.sorted { $0.head < $1.head }
        }
    }
}

extension Zone.Capabilities {
    /// What zones can do that their users make.
    static let ofCustomZones: Zone.Capabilities = [
        .fetchChanges, .atomic, .sharing, .zoneWideSharing,
    ]
}
