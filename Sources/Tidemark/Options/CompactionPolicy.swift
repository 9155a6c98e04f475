// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkLog
public import TidemarkModel

/// The history that a compaction may drop.
///
/// Lifetimes are measured by our own clock, from when an event was received, to the millisecond.
public struct CompactionPolicy: Hashable, Codable, Sendable {
    /// The time for which something is kept.
    public enum Retention: Hashable, Codable, Sendable {
        /// For good.
        case all
        /// Not longer than it has to be.
        case none
        /// At least for so long.
        case atLeast(Duration)
    }

    /// The time for which a version is kept after another one has replaced it.
    ///
    /// Reads as of a past position are exact back to this age, and are rejected as pruned before
    /// it. Raising the value later does not bring back dropped history.
    public var history = Retention.all
    /// The time for which deletions are reported to devices that return, if the history reaches
    /// back no further.
    ///
    /// A device with an older change token gets an error that the token is expired.
    public var tombstones = Retention.atLeast(.seconds(180 * 24 * 60 * 60))

    /// Creates a policy that keeps all history.
    public init() {}
}

/// The result of a compaction, or the expected result of a dry run.
public struct CompactionReport: Hashable, Codable, Sendable {
    /// Reads as of this position and later ones are exact.
    public internal(set) var historyHorizon = SequenceNumber.zero
    /// The time of the commit at the history horizon, in milliseconds since 1970; `nil` if all
    /// history is kept.
    public internal(set) var historyTime: Int64?
    /// Segments of the log that are rewritten.
    public internal(set) var segmentCount = 0
    /// Events that were in them.
    public internal(set) var eventCount: UInt64 = 0
    /// Events of those that are dropped.
    public internal(set) var droppedCount: UInt64 = 0
    /// Replaced events that are kept because a request may be retried.
    public internal(set) var requestCount: UInt64 = 0
    /// Bytes of finished segments before.
    public internal(set) var oldByteCount: UInt64 = 0
    /// Bytes of the segments that replaced them; in a dry run an estimate, which may be too low.
    public internal(set) var newByteCount: UInt64 = 0
    /// The zones in which deletions are forgotten now that were not before.
    public internal(set) var expiries: [TokenExpiry] = []
    /// Bytes of assets that no version names any more, and that are removed.
    public internal(set) var assetByteCount: UInt64 = 0
    /// True if another process still reads the old segments.
    ///
    /// They use disk space until the first compaction or open after that process has ended.
    public internal(set) var isRead = false

    /// Change tokens of a zone that expire.
    public struct TokenExpiry: Hashable, Codable, Sendable {
        /// The zone's name.
        public internal(set) var zoneName: String
        /// True if only the tokens of a share's participants for the zone expire.
        public internal(set) var isOfShare: Bool
        /// The database of the zone; for the contents of a share, the shared database of the zone's
        /// owner.
        public internal(set) var database: DatabaseID
        /// The user record name of the zone's owner.
        public var owner: String { database.owner.userRecordName }
        /// Tokens from before this position expire.
        public internal(set) var position: SequenceNumber
    }
}
