// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Tidemark
import TidemarkEvents
public import TidemarkLog
public import TidemarkModel

/// Computes the views again from the log, in memory, and compares them with those on disk.
public struct ReplayCall: SingleAnswerCall {
    /// See `AdministrationCall`.
    public static let name = "replay"

    /// The last event; `nil` for the last that there is, or that the views on disk show.
    public var position: SequenceNumber?
    /// True if the result is compared with the views on disk.
    public var comparesViews: Bool

    /// Describes the call.
    public init(through position: SequenceNumber? = nil, comparesViews: Bool = false) {
        self.position = position
        self.comparesViews = comparesViews
    }

    /// A zone as the log implies it.
    public struct Zone: Codable, Hashable, Sendable {
        /// The position of the event that created it.
        public var key: UInt64
        /// Its database.
        public var database: DatabaseID
        /// Its name.
        public var zoneName: String
        /// The number of live records.
        public var recordCount: Int64
        /// The number of deletions that are remembered.
        public var tombstoneCount: Int64
        /// Its last event.
        public var last: SequenceNumber
        /// True if the views on disk agree; `nil` if nothing was compared.
        public var isSame: Bool?
    }

    /// The answer.
    public struct Answer: Codable, Sendable {
        /// The zones, in the order of their creation.
        public var zones: [Zone] = []
        /// The number of events that were replayed.
        public var eventCount = 0
        /// The last position that was replayed.
        public var last = SequenceNumber.zero
        /// The time that it took.
        public var elapsed = Duration.zero
        /// The differences from the views on disk.
        public var findings: [LogError] = []
        /// The outcome of the comparison; `nil` if none was requested.
        public var views: StoreVerification.ViewsOutcome?
        /// The reason why the events make no views; `nil` if they do.
        public var failure: String?
        /// The damage on disk that was skipped.
        public var damage: [LogError] = []
        /// Bytes of a write that was cut short before it was acknowledged: no damage.
        public var tornByteCount: UInt64 = 0
    }

    /// See `SingleAnswerCall`.
    public func answer(from administration: StoreAdministration) async throws -> Answer {
        if let position { try checkHistory(at: position, administration) }
        // By a reader of the files, with or without an open store.
        let path = administration.path
        let (reader, begun) =
            comparesViews
            ? try ViewsCheck.begin(at: path)
            : (try administration.openLog(), nil as ViewsCheck?)
        // As `openLog` does.
        try administration.checkNotErasing()
        // The log includes what this process acknowledged but has not yet marked so.
        if administration.openStore != nil { try reader.settle() }
        return try replay(reader, begun)
    }

    /// Throws for a position of which the log no longer has the full state.
    private func checkHistory(
        at position: SequenceNumber,
        _ administration: StoreAdministration
    ) throws {
        if let store = administration.openStore { return try store.check(position) }
        let store = try Store.open(at: administration.path, access: .reading)
        defer { try? store.close() }
        try store.check(position)
    }

    private func replay(_ reader: LogReader, _ begun: ViewsCheck?) throws -> Answer {
        var check = begun
        // If the views cannot be compared, the log is replayed all the same, and the outcome says
        // why.
        let isComparing = check?.isComparing == true
        let end = isComparing ? check?.checkpoint : position
        var answer = Answer()
        // The views are compared as of their checkpoint, which may be behind the end of the log.
        answer.last = min(end ?? reader.durableSequence, reader.durableSequence)
        var folded = FoldedViews(reader)
        let clock = ContinuousClock()
        let start = clock.now
        do {
            answer.eventCount = try scan(reader, through: answer.last) { event in
                if isComparing { try check?.add(event) } else { try folded.add(event) }
            }
            answer.findings = try check?.finish(isLogSound: reader.damage.isEmpty) ?? []
            let views = try check?.expected ?? folded.finish()
            answer.elapsed = clock.now - start
            answer.zones = try views.zones().map { Zone($0) }
        } catch FoldedViews.Failure.views(let message) {
            answer.failure = message
        } catch FoldedViews.Failure.event(let error) {
            answer.failure = error.message
        }
        answer.views = check?.outcome
        answer.damage = reader.damage
        answer.tornByteCount = reader.tornByteCount
        return answer
    }

    /// Visits the events up to a position; returns how many there were.
    private func scan(
        _ reader: LogReader,
        through last: SequenceNumber,
        _ visit: (LogEvent) throws -> Void
    ) throws -> Int {
        var count = 0
        var failure: (any Error)?
        try reader.scan(from: SequenceNumber(rawValue: 1), through: last) { event in
            do {
                try visit(event)
            } catch {
                failure = error
                return false
            }
            count += 1
            return true
        }
        if let failure { throw failure }
        return count
    }
}

extension ReplayCall.Zone {
    fileprivate init(_ zone: ReplayedZone) {
        key = zone.key.rawValue
        database = zone.identity.database
        zoneName = zone.identity.zoneName.string
        recordCount = zone.liveCount
        tombstoneCount = zone.tombstoneCount
        last = zone.head
        isSame = zone.isSame
    }
}
