// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel

extension Reader {
    /// Returns a page of a delta: lists the next entries, and reads them up to the page's limits.
    func page(
        of delta: some ZoneDelta,
        _ request: ZoneChangesRequest
    ) throws(SyncError) -> ZoneChanges {
        var limit = try pageLimit(request)
        let byteLimit = min(max(request.byteLimit ?? .max, 1), options.pageByteCount)
        while true {
            // The list has positions only. Sizes are known once the events are read.
            let list = try delta.list(limit)
            if list.entries.isEmpty {
                return ZoneChanges(
                    zone: request.zone,
                    changes: RecordChanges(),
                    token: list.place.token.token(of: id, hash: views.hash),
                    moreComing: list.place.moreComing
                )
            }
            var page = DeltaPage(list, line: line, byteLimit: byteLimit, shownTo: delta.access)
            try page.read(list, from: source)
            // If the delta has no place within the list, a shorter list is made that ends where
            // this page ended. The limit shrinks each time, so the loop ends.
            guard
                let end = page.count == list.entries.count
                    ? list.place : delta.place(behind: page.count, of: list)
            else {
                limit = page.count
                continue
            }
            var rows = page.rows
            // Last, because the body of a record decides if the caller may read it.
            let place = try delta.hide(from: &rows) ?? end
            return ZoneChanges(
                zone: request.zone,
                changes: RecordChanges(
                    rows,
                    in: request.zone,
                    selecting: request.desiredKeys.map { FieldSelection($0) }
                ),
                token: place.token.token(of: id, hash: views.hash),
                moreComing: place.moreComing
            )
        }
    }

    /// Returns the maximum number of entries on a page of a delta.
    ///
    /// A limit in bytes replaces the store's limit in records. The entries are listed before their
    /// sizes are known, so the list is no longer than a page of small records would be.
    func pageLimit(_ request: ZoneChangesRequest) throws(SyncError) -> Int {
        let limit = try pageLimit(request.limit)
        guard let byteLimit = request.byteLimit else { return limit }
        guard byteLimit > 0 else {
            throw SyncError(
                .invalidArguments,
                "The byte limit of a page must be at least 1; it is \(byteLimit)."
            )
        }
        if options.isStrict { return limit }
        let fitting = min(byteLimit, options.pageByteCount) / Self.smallRecordByteCount
        return min(request.limit ?? .max, max(fitting, options.limits.recordsPerPage, 1))
    }

    /// The size of records of which a page that is limited in bytes has as many as fit.
    private static let smallRecordByteCount = 256
}
