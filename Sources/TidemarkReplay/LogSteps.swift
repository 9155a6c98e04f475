// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Tidemark
import TidemarkEvents
public import TidemarkLog
public import TidemarkModel

/// One event of the log, and the state of its record before and after.
public struct LogStep: Sendable {
    /// The event as it lies in the log.
    package let event: LogEvent
    /// The event's position and origin.
    public let origin: ChangeOrigin
    /// The record as it was before; `nil` if it did not exist, if the event is not about a record,
    /// or if the earlier version is no longer in the log.
    public var before: Record?
    /// The change to the record; `nil` for an event that is not about a record.
    public var change: PastChange?
}

/// A walk along the log, event by event, forward and back.
///
/// ```swift
/// var steps = try await store.steps(from: 1_000)
/// while let step = try await steps.next() {
///     print(step.origin.sequence, step.change.map { "\($0.happening)" } ?? "")
/// }
/// ```
public struct LogSteps: Sendable {
    /// The first position of the walk.
    public let first: SequenceNumber
    /// The last position of the walk.
    public let last: SequenceNumber
    private let log: PastLog
    /// The event that was shown last; the position before the first or after the last event, if
    /// none was.
    private var place: SequenceNumber
    private var zones: [ZoneKey: ZoneID] = [:]

    init(_ log: PastLog, from first: SequenceNumber, through last: SequenceNumber) {
        self.log = log
        self.first = first
        self.last = last
        place = first.previous
    }

    /// Returns the next event; `nil` after the last one.
    public mutating func next() async throws(SyncError) -> LogStep? {
        try step(to: min(place, last).next)
    }

    /// The event before; `nil` before the first one.
    public mutating func previous() async throws(SyncError) -> LogStep? {
        var end = place
        var reach = 1
        // Compaction leaves holes, and some are large.
        while end > first {
            let start = max(first, first + max(0, Int(end - first) - reach))
            // A scan reads forward, so its last event is the nearest one before `end`.
            var found: SequenceNumber?
            try log.scan(from: start, through: end.previous) { event throws(EventFormatError) in
                found = event.sequence
                return true
            }
            if let found { return try step(to: found) }
            end = start
            // Longer each time, so that a large hole takes few scans.
            reach *= 8
        }
        place = first.previous
        return nil
    }

    /// The event at a position, or the first one after it that there is; `nil` if that is not in the walk.
    public mutating func go(to position: SequenceNumber) async throws(SyncError) -> LogStep? {
        try step(to: max(position, first))
    }

    private mutating func step(to position: SequenceNumber) throws(SyncError) -> LogStep? {
        var found: LogEvent?
        try log.scan(from: position, through: last) { event throws(EventFormatError) in
            found = event
            return false
        }
        guard let found else {
            // After the end, so that `previous` returns the last event.
            place = max(last.next, first)
            return nil
        }
        place = found.sequence
        do throws(EventFormatError) {
            return try read(found)
        } catch {
            throw SyncError(.internalError, error.message)
        }
    }

    private mutating func read(_ event: LogEvent) throws(EventFormatError) -> LogStep {
        let origin = try ChangeOrigin(event)
        var step = LogStep(event: event, origin: origin)
        switch event.kind {
        case .recordSaved, .recordDeleted, .recordTouched:
            let zone = zone(event.zone)
            let version = try PastVersion(event)
            let old = try log.version(replacedBy: version)
            step.before = old.map { old in
                let sequence = version.previous
                let tag = TagContent(of: sequence, in: log.line).tag
                return Record(zone: zone, changeTag: tag, body: old)
            }
            step.change = try PastChange(version, over: old, in: zone, log.line, origin)
        case .audienceEntered, .audienceLeft:
            step.change = PastChange(try PastShowing(event), event, origin)
        default:
            break
        }
        return step
    }

    /// Returns the zone that an event created; the default zone if that event is no longer in the
    /// log.
    private mutating func zone(_ key: ZoneKey) -> ZoneID {
        if let known = zones[key] { return known }
        // If the creation is lost, the step is shown in the default zone rather than left out.
        var zone = ZoneID.default
        try? log.read([key.creation]) { event throws(EventFormatError) in
            zone = try ZoneEvent.readCreation(event.payload.span.bytes).identity.zone
            return false
        }
        zones[key] = zone
        return zone
    }
}

extension Store {
    /// A walk along the log between two positions, both included; it begins before the first.
    ///
    /// Each step costs the reading of one event, and of the version that it replaced.
    public func steps(
        from first: SequenceNumber = 1,
        through last: SequenceNumber? = nil
    ) async throws(SyncError) -> LogSteps {
        let past = try pastPicture()
        return LogSteps(past.log, from: max(first, 1), through: min(last ?? past.last, past.last))
    }
}
