// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkViews

/// A part of a list of changes, oldest first: the entries for a page, and the position up to which
/// the list was read.
///
/// A list may hold any number of entries that are not reported. A budget of entries bounds the
/// reads of one call; the page's token then continues after the last entry that was read.
struct DeltaScan<Entry> {
    /// The entries that are reported.
    private(set) var entries: [Entry] = []
    /// The position up to which the list was read, if the budget ended before the list did.
    private(set) var end: SequenceNumber?

    /// The reported entries of a run.
    struct Told {
        var entries: [Entry]
        /// The position up to which the run was decided, if the budget ended before the run did.
        var end: SequenceNumber?
    }

    /// Reads a list after a position until `limit` entries are reported, or the list or budget ends.
    ///
    /// - Parameters:
    ///   - start: The position after which the list is read.
    ///   - limit: The maximum number of entries to report.
    ///   - budget: The number of entries that may be read; at least one.
    ///   - position: The position of an entry.
    ///   - read: Reads the next entries after a position; fewer than requested only at the list's end.
    ///   - tell: Selects the entries of a run to report.
    ///
    /// - Throws: The errors of `read` and `tell`.
    init(
        after start: SequenceNumber,
        limit: Int,
        budget: inout Int,
        position: (Entry) -> SequenceNumber,
        read: (_ start: SequenceNumber, _ count: Int) throws(SyncError) -> [Entry],
        tell: ([Entry], inout Int) throws(SyncError) -> Told
    ) throws(SyncError) {
        var last = start
        var count = limit
        while entries.count < limit {
            guard budget > 0 else {
                end = last
                break
            }
            count = min(count, budget)
            let run = try read(last, count)
            guard let final = run.last else { break }
            budget -= run.count
            let told = try tell(run, &budget)
            // The usual case: one run has all entries.
            if entries.isEmpty { entries = told.entries } else { entries += told.entries }
            end = told.end
            if end != nil || run.count < count { break }
            last = position(final)
            // Long runs of unreported entries are read in fewer and longer steps.
            count *= 2
        }
        // With enough entries the page ends at an entry, so the end of the budget does not matter.
        if entries.count >= limit {
            entries.removeLast(entries.count - limit)
            end = nil
        }
    }
}
