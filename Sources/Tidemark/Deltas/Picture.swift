// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel

/// A store at one point, as deltas, lists of zones, exports and scans read it: as it is now, or as of a
/// position.
protocol Picture {
    /// Position of the last event that the picture includes.
    var bound: SequenceNumber { get }

    /// The key of a zone that is there; else the reason why its last epoch ended, if it had one.
    func zone(_ zone: ZoneIdentity) throws(SyncError) -> (key: ZoneKey?, end: ZoneDeletionReason?)

    /// The last events of a zone's records that come after a position, oldest first, at most `limit`.
    func versions(
        in zone: ZoneKey,
        after start: SequenceNumber,
        limit: Int
    ) throws(SyncError) -> [RecordVersion]

    /// Returns the zones of a database whose last event is after a position, by that event, at most
    /// `limit`.
    ///
    /// Epochs that ended at or before `quiet` may be omitted.
    func zones(
        of database: DatabaseID,
        after start: SequenceNumber,
        quiet: SequenceNumber,
        limit: Int
    ) throws(SyncError) -> [ZoneHead]

    /// The zones of a database that are there.
    func livingZones(of database: DatabaseID) throws(SyncError) -> [ZoneKey: ZoneIdentity]

    /// The positions of a zone's records that are there, ascending, at most `limit`.
    func liveSequences(in zone: ZoneKey, limit: Int) throws(SyncError) -> [SequenceNumber]
}

extension Picture {
    /// The positions of a zone's records that are there, ascending.
    func liveSequences(in zone: ZoneKey) throws(SyncError) -> [SequenceNumber] {
        try liveSequences(in: zone, limit: .max)
    }
}

/// A zone's epoch in a list of changes.
struct ZoneHead {
    var identity: ZoneIdentity
    /// Position of its last event.
    var head: SequenceNumber
    /// The reason why it ended; `nil` while it lives.
    var end: ZoneDeletionReason?

    /// True if it ended where a client that began at a position never has to know.
    func isQuiet(below quiet: SequenceNumber) -> Bool { end != nil && head <= quiet }
}
