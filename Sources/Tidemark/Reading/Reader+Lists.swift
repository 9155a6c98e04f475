// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkViews

extension Reader {
    /// Returns the number of list entries and events that one call for changes may read in addition
    /// to those that it reports.
    func scanBudget(_ limit: Int = 0) -> Int {
        // 64 pages (semantics.md, "Tokens"). A page that is limited in bytes may list more records
        // than that, and must still be able to read its own entries.
        max(64 * max(options.limits.recordsPerPage, 1), 2 * limit)
    }

    /// Reads a list of a picture after a position, without the deletions up to `quiet`.
    func scan(
        _ list: ZoneKey,
        after start: SequenceNumber,
        quiet: SequenceNumber,
        limit: Int,
        budget: inout Int,
        _ picture: ViewPicture
    ) throws(SyncError) -> DeltaScan<RecordVersion> {
        try DeltaScan(
            after: start,
            limit: limit,
            budget: &budget,
            position: \.sequence,
            read: { (start, count) throws(SyncError) in
                try changes(in: list, after: start, limit: count, picture)
            },
            tell: { (run, _) throws(SyncError) in
                // Most runs have no deletions.
                let hasQuiet = run.contains { $0.isQuiet(below: quiet) }
                return .init(entries: hasQuiet ? run.filter { !$0.isQuiet(below: quiet) } : run)
            }
        )
    }

    /// Returns the entries of a list of a picture after a position, at most `limit`.
    func changes(
        in list: ZoneKey,
        after start: SequenceNumber,
        limit: Int,
        _ picture: ViewPicture
    ) throws(SyncError) -> [RecordVersion] {
        try SyncError.wrapping { () throws(ViewIndexError) in
            try picture.changes(in: list, after: start, quiet: 0, limit: limit)
        }
    }
}
