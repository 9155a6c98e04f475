// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkRules

/// The next changes of a zone for one caller: from the zone itself, now or as of a position, or
/// from the audiences of shares.
protocol ZoneDelta {
    /// The records that shares show to the caller; `nil` if the database is the caller's own or
    /// public.
    var access: ZoneAccess? { get }

    /// Lists the next entries, at most `limit`.
    func list(_ limit: Int) throws(SyncError) -> DeltaList

    /// Returns the place of the delta after the first entries of a list; `nil` if only a shorter
    /// list has one.
    func place(behind count: Int, of list: DeltaList) -> DeltaPlace?

    /// Removes the rows that the caller may not read; returns the end of the page if the number of
    /// reads ends it early.
    func hide(from rows: inout RecordRows) throws(SyncError) -> DeltaPlace?
}

/// An entry of a list of changes: the last event of a record.
struct DeltaEntry {
    /// The record's slot.
    var slot: Slot
    /// Position of the event: the record's own, or one of a share's.
    var sequence: SequenceNumber
    /// True if the client must drop the record whatever the event says: the caller left the share.
    var isGone = false
}

/// The next entries of a delta.
struct DeltaList {
    var entries: [DeltaEntry]
    /// The place of the delta after the entries.
    var place: DeltaPlace
    /// The first position after them that may hold an entry; `nil` if there is none.
    var next: SequenceNumber?
    /// True if pages end at commit boundaries where possible.
    var keepsCommits = false
}

/// The place that a delta has reached.
struct DeltaPlace {
    /// The content of the client's next token.
    var token: TokenContent
    /// True if more entries exist already.
    var moreComing: Bool
}
