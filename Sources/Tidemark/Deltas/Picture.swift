// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkModel

/// A store at one point, as deltas and lists of zones read it: as it is now, or as of a position.
protocol Picture {
    /// Position of the last event that the picture includes.
    var bound: UInt64 { get }

    /// The key of a zone that is there; else the reason why its last epoch ended, if it had one.
    func zone(
        _ zone: ZoneIdentity
    ) throws(SyncError) -> (key: UInt64?, end: ZoneDeletionReason?)

    /// The last events of a zone's records that come after a position, oldest first, at most `limit`.
    func versions(
        in zone: UInt64,
        after start: UInt64,
        limit: Int
    ) throws(SyncError) -> [RecordVersion]

    /// The zones of a database whose last event comes after a position, by that event, at most `limit`.
    ///
    /// Epochs that ended at or before `quiet` may be left out.
    func zones(
        of database: DatabaseID,
        after start: UInt64,
        quiet: UInt64,
        limit: Int
    ) throws(SyncError) -> [ZoneHead]
}

/// A zone's epoch in a list of changes.
struct ZoneHead {
    var identity: ZoneIdentity
    /// Position of its last event.
    var head: UInt64
    /// Why it ended; `nil` while it lives.
    var end: ZoneDeletionReason?

    /// True if it ended where a client that began at a position never has to know.
    func isQuiet(below quiet: UInt64) -> Bool { end != nil && head <= quiet }
}
