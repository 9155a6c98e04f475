// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The log from a reader's side: up to the durable watermark, never beyond.
///
/// Two things are sources: the log that this process writes (`SegmentLog`), and the files of a
/// store that another process may be writing (`LogReader`).
package protocol EventSource: AnyObject, Sendable {
    /// The store that the log belongs to.
    var store: StoreID { get }

    /// The store's incarnations, oldest first, each with its cut.
    var line: IncarnationLine { get }

    /// The last sequence number that is durable; zero for an empty log.
    var durableSequence: SequenceNumber { get }

    /// The last position of a segment that compaction has written; zero if there is none.
    ///
    /// Up to this position, events may be missing that others refer to.
    var compactedThrough: SequenceNumber { get }

    /// Reads events by position: ascending, each at most once, all within the log.
    ///
    /// Neighboring events in one block take one decoding. `visit` returns `false` to stop.
    func read(
        _ sequences: [SequenceNumber],
        _ visit: (LogEvent) -> Bool
    ) throws(LogError)

    /// Reads events as ``read(_:_:)`` does, and passes on those of one block together.
    func readRuns(
        _ sequences: [SequenceNumber],
        _ take: (EventRun) -> Bool
    ) throws(LogError)

    /// Visits every event of a range in order until `visit` returns `false`.
    ///
    /// An empty or backward range visits nothing.
    func scan(
        from first: SequenceNumber,
        through last: SequenceNumber,
        _ visit: (LogEvent) -> Bool
    ) throws(LogError)

    /// Returns the last event of the last commit whose time is at or before a given time; zero if
    /// there is none.
    ///
    /// O(log segments), then one block table and one block.
    func lastSequence(atOrBefore time: Int64) throws(LogError) -> SequenceNumber

    /// Visits the events of one zone in a range, in order, until `visit` returns `false`.
    func scan(
        zone: ZoneKey,
        from first: SequenceNumber,
        through last: SequenceNumber,
        _ visit: (LogEvent) -> Bool
    ) throws(LogError)

    /// The manifest of a copy that ends at the watermark: no segment takes events.
    var finishedManifest: Manifest { get }

    /// The damage that has been found and skipped so far.
    var damage: [LogError] { get }

    /// The number of bytes after the last sound frame that the next writer will discard.
    var tornByteCount: UInt64 { get }

    /// The numbers of block lookups that hit and missed the cache.
    var cacheUse: CacheUse { get }
}

/// A source that does not know the blocks of a zone, and throws at damage instead of skipping it.
extension EventSource {
    package func readRuns(
        _ sequences: [SequenceNumber],
        _ take: (EventRun) -> Bool
    ) throws(LogError) {
        try read(sequences) { take(EventRun($0)) }
    }

    package func scan(
        zone: ZoneKey,
        from first: SequenceNumber,
        through last: SequenceNumber,
        _ visit: (LogEvent) -> Bool
    ) throws(LogError) {
        try scan(from: first, through: last) { event in
            event.zone == zone ? visit(event) : true
        }
    }

    package var damage: [LogError] { [] }

    package var tornByteCount: UInt64 { 0 }

    package var cacheUse: CacheUse { CacheUse() }
}
