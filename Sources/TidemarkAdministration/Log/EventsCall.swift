// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
public import TidemarkLog
public import TidemarkModel

/// Requests events of the log, oldest first, and for new ones as they become durable.
public struct EventsCall: StoreCall {
    /// See `AdministrationCall`.
    public static let name = "log-dump"
    /// See `AdministrationCall`.
    public typealias Piece = LoggedEvent

    /// The first event; `nil` for the first that there is.
    public var first: SequenceNumber?
    /// The last event; `nil` for the last that there is.
    public var last: SequenceNumber?
    /// Only commits at or after this time, in milliseconds since 1970.
    public var since: Int64?
    /// Only commits at or before this time, in milliseconds since 1970.
    public var until: Int64?
    /// The number of newest events with which to begin.
    public var newest: UInt64?
    /// The most events that are answered; `nil` for all.
    public var limit: Int?
    /// True if the call continues with each new event as it becomes durable, until it is cancelled,
    /// reaches its limit or its last event, or finds a commit after `until`.
    public var follows: Bool?
    /// The filter of the events.
    public var filter: Filter

    /// A filter of events, which must match every member.
    ///
    /// Names are compared as UTF-8 bytes.
    public struct Filter: Codable, Hashable, Sendable {
        /// The name of the zone.
        public var zone: String?
        /// The owner of the zone's database.
        public var owner: String?
        /// The container; `nil` for all but the server's own.
        public var container: ContainerID?
        /// The name of the record.
        public var record: String?
        /// The type of the record.
        public var type: String?
        /// The user that made the request.
        public var user: String?
        /// From which device.
        public var device: String?

        /// Every event.
        public init() {}
    }

    /// Creates a request for all events that match a filter.
    public init(_ filter: Filter = Filter()) {
        self.filter = filter
    }

    /// The damage and incomplete writes that were met.
    public struct Answer: Codable, Sendable {
        /// The damage on disk that was skipped, including events that cannot be read.
        public var damage: [LogError]
        /// Bytes of a write that was cut short before it was acknowledged: no damage.
        public var tornByteCount: UInt64
    }

    /// The interval between checks of the log for new events.
    private static let pause = Duration.milliseconds(100)

    /// See `StoreCall`.
    public func answer(
        from administration: StoreAdministration,
        receive: (LoggedEvent) async throws -> Void
    ) async throws -> Answer {
        let reader = try administration.openLog()
        // The newest events include those that this process acknowledged but has not yet marked so
        // in the log.
        if administration.openStore != nil { try reader.settle() }
        var next = try firstPosition(in: reader)
        var (last, isFinal) = try lastPosition(in: reader)
        // Counts the events that were received. `scan` has a count of its own, because it reads
        // ahead of the receiver.
        var left = limit ?? .max
        var unknown: [LogError] = []
        var decoder = EventDecoder(source: reader)
        while left > 0 {
            func take(_ event: LoggedEvent) async throws {
                try administration.checkNotErasing()
                try await receive(event)
                left -= 1
            }
            // The closure may run on another thread. So it gets copies, and returns the decoder
            // with what that has learned.
            let (start, end, most, known) = (next, last, left, decoder)
            let found = try await passing(to: take) { take in
                try scan(reader, start, end, most, known, take)
            }
            decoder = found.decoder
            unknown += found.unknown
            guard follows == true, !isFinal, left > 0, !administration.isEnding() else { break }
            // Everything through `last` was read, even if the last positions hold no events.
            next = max(next, last.next)
            do {
                // Polled: the writer may be another process, which does not notify readers.
                try await Task.sleep(for: Self.pause)
                try administration.checkNotErasing()
                _ = try reader.refresh()
            } catch is CancellationError {
                // Cancellation is the usual end of a call that follows the log. The damage found so
                // far is still answered.
                break
            }
            (last, isFinal) = try lastPosition(in: reader)
        }
        return Answer(damage: reader.damage + unknown, tornByteCount: reader.tornByteCount)
    }

    /// The first position that the call allows.
    private func firstPosition(in source: LogReader) throws(LogError) -> SequenceNumber {
        var first = max(self.first ?? .zero, SequenceNumber(rawValue: 1))
        // A given first event counts more than a number of newest ones.
        if let newest, self.first == nil { first = try start(of: newest, in: source) }
        if let since, since > .min {
            // The condition keeps `since - 1` from overflowing.
            first = max(first, try source.lastSequence(atOrBefore: since - 1).next)
        }
        return first
    }

    /// The last position that the call allows so far, and whether no later event can be wanted.
    private func lastPosition(
        in source: LogReader
    ) throws(LogError) -> (last: SequenceNumber, isFinal: Bool) {
        let newest = source.durableSequence
        var end = min(newest, last ?? newest)
        if let until { end = min(end, try source.lastSequence(atOrBefore: until)) }
        // Positions and times of commits never decrease: the first event that is too late is
        // followed only by others that are.
        return (end, end < newest || end == last)
    }

    /// The events among which the newest that the filter lets through are looked for.
    private static let newestLimit: UInt64 = 1 << 17

    /// Returns the position of the first of a number of newest events that match the filter.
    ///
    /// Each attempt reads four times as many events, up to a limit: O(events read).
    private func start(of newest: UInt64, in source: LogReader) throws(LogError) -> SequenceNumber {
        let last = source.durableSequence
        // Compaction leaves holes, so a stretch may have fewer events than positions.
        var width = min(last.rawValue, max(newest, 1))
        while newest > 0 {
            let first = SequenceNumber(rawValue: last.rawValue - width + 1)
            var found: [SequenceNumber] = []
            _ = try scan(source, first, last, .max, EventDecoder(source: source)) { event in
                found.append(event.sequence)
                return true
            }
            // The conversion cannot fail: `newest` is at most the length of an array.
            if found.count >= newest { return found[found.count - Int(newest)] }
            // A filter may match no event at all. Without the limit, the first answer would wait
            // for a read of the whole log.
            guard width < last.rawValue, width < Self.newestLimit else { return first }
            width = min(last.rawValue, width * 4)
        }
        return last.next
    }

    private func scan(
        _ reader: LogReader,
        _ first: SequenceNumber,
        _ last: SequenceNumber,
        _ limit: Int,
        _ decoder: EventDecoder,
        _ take: (LoggedEvent) -> Bool
    ) throws(LogError) -> (decoder: EventDecoder, unknown: [LogError]) {
        let line = reader.line
        var decoder = decoder
        var unknown: [LogError] = []
        var failure: LogError?
        var left = limit
        try reader.scan(from: first, through: last) { event in
            do {
                let decoded = try decoder.decode(event)
                guard filter.matches(decoded) else { return true }
                left -= 1
                return take(LoggedEvent(decoded, in: line)) && left > 0
            } catch let error as EventFormatError {
                // Reported and skipped, so that the events around it can be read.
                unknown.append(LogError(.corrupted, error.message))
            } catch let error as BodyError {
                unknown.append(LogError(.corrupted, "Event \(event.sequence): \(error.message)"))
            } catch {
                // The scan's closure cannot throw, so the error is thrown after the scan has ended.
                failure = error as? LogError ?? LogError(.corrupted, "\(error)")
                return false
            }
            return true
        }
        if let failure { throw failure }
        return (decoder, unknown)
    }
}

extension EventsCall.Filter {
    fileprivate func matches(_ event: DecodedEvent) -> Bool {
        isOpen(event.zone?.database.container) && Self.accepts(zone, event.zone?.zoneName.string)
            && Self.accepts(owner, event.zone?.database.owner.userRecordName)
            && Self.accepts(record, event.recordName) && Self.accepts(type, event.recordType)
            && Self.accepts(user, event.envelope.user)
            && Self.accepts(device, event.envelope.device)
    }

    /// Returns true if events of a container are shown.
    ///
    /// The server's own container, with its accounts and secrets, must be named.
    private func isOpen(_ found: ContainerID?) -> Bool {
        // Events of the store itself are in no container. They are shown unless a container is
        // named.
        container.map { $0 == found } ?? (found != .server)
    }

    private static func accepts(_ wanted: String?, _ found: String?) -> Bool {
        guard let wanted else { return true }
        // Names are compared as bytes, as in the log (events.md).
        return found.map { $0.utf8.elementsEqual(wanted.utf8) } ?? false
    }
}
