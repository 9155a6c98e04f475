// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog

/// Decides which events a compaction drops, one after another in log order.
///
/// In each zone and audience, the dropped part of a record's chain is always its beginning: an
/// event is dropped only if its predecessor is dropped. So a later fold of the log never mistakes
/// an old version for the last one, whichever tombstones are dropped and wherever a run was
/// interrupted.
struct EventFates {
    /// Events that go.
    private(set) var dropped = PositionSet()
    /// Events that are replaced by a note of their commit's request.
    private(set) var noted = PositionSet()
    /// The number of events that are kept only because a request may be retried.
    private(set) var requestCount: UInt64 = 0
    private var marks: HistoryMarks
    /// The position up to which the tombstones of each zone and audience are dropped.
    private let horizons: [ZoneKey: SequenceNumber]
    /// The zones and audiences whose horizon the run raises.
    private let raised: Set<ZoneKey>
    private var commit = SequenceNumber.zero
    private var request = KeptRequest.none

    /// The data that the commit of the last event keeps for its request.
    private enum KeptRequest {
        case none
        /// That it was answered.
        case note
        /// The result of the request.
        case answer
    }

    init(_ marks: HistoryMarks, horizons: [ZoneKey: SequenceNumber], raised: Set<ZoneKey>) {
        self.marks = marks
        self.horizons = horizons
        self.raised = raised
    }

    /// Returns the fate of the next event.
    mutating func add(_ event: LogEvent) throws(EventFormatError) -> EventFate {
        let position = event.sequence
        // The pass has not seen later events, so nothing is known of what they replace.
        guard position <= marks.last, try mayGo(event) else { return .kept }
        readRequest(of: event)
        // A retry within the lifetime gets its result from these events. So they stay, and with
        // them the later events of their chains.
        if request == .answer {
            requestCount += 1
            return .kept
        }
        // Later events of the chain may go only because this one does. So events must be added in
        // log order.
        marks.present.remove(position)
        dropped.insert(position)
        guard request == .note, event.sequence == event.commit.first else { return .dropped }
        noted.insert(position)
        return .replaced(Self.note)
    }

    /// Returns the fate that was decided for an earlier event.
    func fate(of event: LogEvent) -> EventFate {
        let position = event.sequence
        guard dropped.contains(position) else { return .kept }
        return noted.contains(position) ? .replaced(Self.note) : .dropped
    }

    // The complete event "request noted": its kind and three zeros. It keeps the envelope of a
    // commit that has lost its first event, and so the id of an imported line.
    private static let note: [UInt8] = [EventKind.requestNoted.rawValue, 0, 0, 0]

    private func mayGo(_ event: LogEvent) throws(EventFormatError) -> Bool {
        let position = event.sequence
        if let chained = try ChainedEvent(event) {
            // Tokens of any age need the participations in `_shares` (compaction.md, "What is
            // forgotten").
            if marks.unforgotten.contains(event.zone) { return false }
            if let previous = chained.previous, marks.ends[event.zone] == nil {
                guard goes(position, event.zone, chained, over: previous, isOfAudience: false)
                else { return false }
            }
            // Both must allow it: a participant's delta reads the audience, the owner's reads
            // the zone.
            if let audience = chained.audience, marks.ends[audience.key] == nil {
                let previous = audience.previous
                guard goes(position, audience.key, chained, over: previous, isOfAudience: true)
                else { return false }
            }
            return true
        }
        guard position <= marks.run.history else { return false }
        switch event.kind {
        case .requestNoted:
            let envelope = event.envelope.span.bytes
            return position <= marks.run.requests
                && !(CommitEnvelope.requestKey(in: envelope) != nil
                    && CommitEnvelope.requestNeverExpires(in: envelope))
        case .compactionBegun:
            return true
        case .tombstonesForgotten:
            // Only the last event that raised a zone's horizon counts, in the log or in this run.
            return marks.raised[event.zone] ?? 0 > position || raised.contains(event.zone)
        default:
            // Creations and ends of zones stay for good, so that a name's earlier epochs are known.
            // So do kinds that this version does not know.
            return false
        }
    }

    /// Returns true if a zone or an audience does not need an event.
    private func goes(
        _ position: SequenceNumber,
        _ zone: ZoneKey,
        _ chained: ChainedEvent,
        over previous: SequenceNumber,
        isOfAudience: Bool
    ) -> Bool {
        let isReplaced = (isOfAudience ? marks.replacedInAudience : marks.replaced)
            .contains(position)
        let isExpired =
            chained.isTombstone && position <= horizons[zone] ?? 0
            && marks.isLast(position, isOfAudience: isOfAudience)
        // `previous` is zero for the first event of a chain, and no event has that position. Events
        // that this run drops leave `present`, so a whole prefix can be dropped in one pass.
        return (isReplaced || isExpired) && !marks.present.contains(previous)
    }

    private mutating func readRequest(of event: LogEvent) {
        if event.commit.first == commit { return }
        commit = event.commit.first
        let envelope = event.envelope.span.bytes
        request =
            if CommitEnvelope.requestKey(in: envelope) == nil {
                .none
            } else if CommitEnvelope.requestNeverExpires(in: envelope) {
                .note
            } else {
                commit > marks.run.requests ? .answer : .none
            }
    }
}
