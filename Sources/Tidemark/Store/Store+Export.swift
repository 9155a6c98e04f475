// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkLog
public import TidemarkModel

extension Store {
    /// Visits the live records of a database until `visit` returns `false`.
    ///
    /// The order is by zone, then by record name, both as UTF-8 bytes.
    ///
    /// - Parameters:
    ///   - database: The database.
    ///   - zone: One of its zones; `nil` for all.
    ///   - position: The event after which the records are read; `nil` for now.
    ///   - visit: Takes one record.
    ///
    /// The present costs O(visited records); the past also costs the events of the visited zones before
    /// the event or after it, whichever are nearer. Both hold the names of one zone in memory.
    ///
    /// - Throws: `zoneNotFound` for a zone that did not exist, `invalidArguments` for a position
    ///   beyond the store's last event.
    public func visitRecords(
        of database: DatabaseID,
        in zone: ZoneID? = nil,
        asOf position: SequenceNumber? = nil,
        _ visit: (Record) -> Bool
    ) throws(SyncError) {
        try parts.reader.visitRecords(of: database, in: zone, asOf: position, visit)
    }

    /// The record of a name as it was after an event; `nil` for now.
    ///
    /// Throws `unknownItem` or `zoneNotFound` if it was not there.
    public func record(
        _ id: RecordID,
        of database: DatabaseID,
        asOf position: SequenceNumber? = nil
    ) throws(SyncError) -> Record {
        try parts.reader.record(id, of: database, asOf: position)
    }

    /// Visits the commits of a stretch of the log as lines of a change stream, oldest first, until
    /// `visit` returns `false`.
    ///
    /// A commit that crosses a border of the stretch is shown with only its events inside the
    /// stretch. Importing all of the lines into an empty store gives the same records.
    ///
    /// Throws `invalidArguments` if the stretch ends after the last event, or below the history
    /// horizon.
    public func visitCommits(
        from first: SequenceNumber = 1,
        through last: SequenceNumber? = nil,
        _ visit: (ChangeStreamLine) -> Bool
    ) throws(SyncError) {
        try parts.reader.visitCommits(from: first, through: last, visit)
    }

    /// Returns the last end of a commit at or before a position; the position itself, if it is
    /// after the last event.
    package func commitEnd(atOrBefore position: SequenceNumber) throws(SyncError) -> SequenceNumber
    {
        // Between the events of a commit, the store never had a state that anyone saw.
        guard let commit = try commit(at: position), position < commit.upperBound else {
            return position
        }
        return commit.lowerBound.previous
    }

    /// Returns the positions of the commit that contains a position.
    ///
    /// The result is `nil` before the first and after the last event, and if none of the commit's
    /// events is left in the log.
    package func commit(
        at position: SequenceNumber
    ) throws(SyncError) -> ClosedRange<SequenceNumber>? {
        let source = try parts.reader.source
        guard position > .zero, position <= source.durableSequence else { return nil }
        var found: ClosedRange<SequenceNumber>?
        // Where compaction has dropped the event, a later one may be of the same commit.
        try source.visit(from: position, through: source.durableSequence) { event in
            if event.commit.first <= position {
                found = event.commit.first...event.commit.last
            }
            return false
        }
        return found
    }

    /// Visits the commits of some events as lines of a change stream; each line has only the given
    /// events.
    ///
    /// The positions are ascending and unique. Costs one read of these events.
    package func visitCommits(
        ofEventsAt sequences: [SequenceNumber],
        _ visit: (ChangeStreamLine) -> Void
    ) throws(SyncError) {
        try parts.reader.visitCommits(ofEventsAt: sequences, visit)
    }

    /// Throws `invalidArguments` for a position after the last event, or below the history horizon,
    /// where the log no longer has the full state.
    package func check(_ position: SequenceNumber) throws(SyncError) {
        try parts.reader.check(position)
    }

    /// The first position as of which the store can be read: zero until a compaction has dropped
    /// replaced versions.
    ///
    /// Reading as of an earlier one throws `invalidArguments`, with ``SyncError/isHistoryPruned``.
    public func historyHorizon() throws(SyncError) -> SequenceNumber {
        try parts.reader.historyHorizon()
    }

    /// The position of the last event of the last commit at or before a time in milliseconds since
    /// 1970; zero if there is none.
    public func position(atOrBefore time: Int64) throws(SyncError) -> SequenceNumber {
        try parts.reader.position(atOrBefore: time)
    }

    /// Returns the position that a change token of this store has reached.
    ///
    /// Throws `changeTokenExpired` or `invalidArguments` for one that is not of this store's line.
    public func position(of token: ChangeToken) throws(SyncError) -> SequenceNumber {
        try parts.reader.position(of: token)
    }

    /// Returns the number of records and tombstones in all live zones, and the size of their views
    /// on disk.
    ///
    /// O(zones).
    public func figures() throws(SyncError) -> StoreFigures {
        try parts.reader.figures()
    }
}

/// The contents of a store, in numbers.
public struct StoreFigures: Hashable, Sendable {
    /// Zones that live, of all databases.
    public var zoneCount: Int64 = 0
    /// Their records.
    public var liveRecordCount: Int64 = 0
    /// Their tombstones.
    public var tombstoneCount: Int64 = 0
    /// Bytes of the zone views on disk: a cache.
    public var viewByteCount: UInt64 = 0
    /// Bytes of the pages that are free for reuse.
    public var viewSpareByteCount: UInt64 = 0
}
