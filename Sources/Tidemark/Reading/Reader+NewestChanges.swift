// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkViews

extension Reader {
    /// See ``Store/newestChanges(_:through:as:)``.
    func newestChanges(
        _ request: ZoneChangesRequest,
        through end: ChangeToken,
        as caller: Caller
    ) throws(SyncError) -> ZoneChanges {
        try checkAccess(of: caller, writes: false)
        let now = try picture(.visible)
        defer { withExtendedLifetime(now) {} }
        let changes: ZoneChanges
        if caller.database.scope == .shared {
            changes = try newestSharedChanges(request, through: end, as: caller, now)
        } else {
            let live = LivePicture(views: now)
            let zone = try listedZone(request, as: caller, live, now)
            let delta = ListedDelta(self, live, zone, caller)
            changes = try newestPage(of: delta, request, through: end)
        }
        // With the oldest page the client has received everything between its two tokens.
        return changes.moreComing ? changes : noted(changes, request, caller, now, token: end)
    }

    /// The last page of a delta before a token.
    func newestPage(
        of delta: some BackwardDelta,
        _ request: ZoneChangesRequest,
        through token: ChangeToken
    ) throws(SyncError) -> ZoneChanges {
        let end = try position(of: token, in: delta)
        var limit = try pageLimit(request.limit)
        let byteLimit = min(max(request.byteLimit ?? .max, 1), options.pageByteCount)
        while true {
            let first = try delta.windowStart(before: end, limit)
            let window = delta.beginning(after: first)
            // One more entry: then the list reaches past the end, unless it took too many reads.
            var list = try window.list(limit + 1)
            let isListed = !list.place.moreComing || list.place.token.sequence >= end
            list.entries.removeAll { $0.sequence > end }
            list.next = nil
            // The page must end exactly at `end`. Cutting it at the end of a commit would omit the
            // newest changes.
            list.keepsCommits = false
            var page = DeltaPage(list, line: line, byteLimit: byteLimit, shownTo: delta.access)
            try page.read(list, from: source)
            var rows = page.rows
            let isShown = try window.hide(from: &rows) == nil
            // With one entry the page is returned in any case, so the loop ends.
            // The entries that do not fit are at the page's end, where the newest changes are.
            guard isListed && isShown && page.count == list.entries.count || limit == 1 else {
                limit = max(1, min(page.count, limit / 2))
                continue
            }
            // The next, older page ends where this one begins.
            var content = delta.end
            content.sequence = first
            return ZoneChanges(
                zone: request.zone,
                changes: RecordChanges(
                    rows,
                    in: request.zone,
                    selecting: request.desiredKeys.map { FieldSelection($0) }
                ),
                token: content.token(of: id, hash: views.hash),
                moreComing: first > delta.first
            )
        }
    }

    /// The position of a token of a delta's zone.
    private func position(
        of token: ChangeToken,
        in delta: some BackwardDelta
    ) throws(SyncError) -> SequenceNumber {
        let end = delta.end
        return try SyncError.wrapping { () throws(TokenDefect) in
            var content = try TokenContent(token, store: id, hash: views.hash)
            // The default zone has no key until it is first written.
            if content.place == 0 { content.place = end.place }
            try content.check(
                level: end.level,
                place: end.place,
                line: line,
                visible: end.sequence,
                horizon: .zero,
                readability: end.readability
            )
            // An end before the start gives an empty delta, and not an error: the client has
            // nothing to fetch.
            return max(content.sequence, delta.first)
        }
    }
}

extension ListedDelta: BackwardDelta {
    var first: SequenceNumber { zone.start.sequence }

    func beginning(after position: SequenceNumber) -> Self {
        var delta = self
        delta.zone.start.sequence = position
        return delta
    }

    func count(
        after start: SequenceNumber,
        through end: SequenceNumber,
        limit: Int
    ) throws(SyncError) -> Int {
        guard let key = zone.key else { return 0 }
        return try picture.versions(in: key, after: start, limit: limit)
            .prefix { $0.sequence <= end }.count
    }
}
