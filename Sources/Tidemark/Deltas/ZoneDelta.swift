// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkRules

/// What a zone's delta tells next, to one caller: the zone's own list, now or as of a position, or the
/// lists of shares.
protocol ZoneDelta {
    /// What shares show to the caller; `nil` where the database is the caller's own or public.
    var access: ZoneAccess? { get }

    /// Lists what comes next, at most `limit` entries.
    func list(_ limit: Int) throws(SyncError) -> DeltaList

    /// Where the delta stands behind the first entries of a list; `nil` if only a shorter list tells.
    func place(behind count: Int, of list: DeltaList) -> DeltaPlace?

    /// Takes the rows out that the caller may not read; returns where the page ends if that took so
    /// many reads that it ends early.
    func hide(from rows: inout RecordRows) throws(SyncError) -> DeltaPlace?
}

/// An entry of a list of changes: the last event of a record.
struct DeltaEntry {
    /// The record's slot.
    var slot: Slot
    /// Position of the event: the record's own, or one of a share's.
    var sequence: SequenceNumber
    /// Whether the record is to go whatever the event says, because the caller left the share.
    var isGone = false
}

/// The entries that a delta tells next.
struct DeltaList {
    var entries: [DeltaEntry]
    /// Where the delta stands behind them.
    var place: DeltaPlace
    /// The first position that may hold an entry behind them; `nil` if there is none.
    var next: SequenceNumber?
    /// Whether pages end with commits where they can.
    var keepsCommits = false
}

/// How far a delta has come.
struct DeltaPlace {
    /// What the client's next token says.
    var token: TokenContent
    /// Whether there is more already.
    var moreComing: Bool
}
