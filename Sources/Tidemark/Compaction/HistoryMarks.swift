// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog

/// The findings of one pass over the log for a compaction: events that later ones replaced, the
/// horizons, and the zones that have ended.
///
/// A function of the log, the policy and the clock; it needs a few bits of memory per position.
struct HistoryMarks {
    /// The parameters of the pass.
    struct Question {
        var policy: CompactionPolicy
        /// The horizons of the compaction before.
        var before: CompactionRun
        /// Milliseconds since 1970.
        var now: Int64
        /// The time for which request ids are remembered.
        var requestLifetime: Duration
    }

    /// The last position that the pass has read.
    private(set) var last: SequenceNumber = 0
    /// The horizons.
    private(set) var run: CompactionRun
    /// The time of the commit at the history horizon.
    private(set) var historyTime: Int64?
    /// Events that are there.
    var present = PositionSet()
    /// Events that one at or below the history horizon has replaced in their zone.
    private(set) var replaced = PositionSet()
    /// The same in their audience.
    private(set) var replacedInAudience = PositionSet()
    /// Events that one above the history horizon has replaced in their zone or their audience.
    private(set) var replacedLater = PositionSet()
    /// The zones whose end is old enough to drop all of their events, each with its end.
    ///
    /// The end is at or below the history horizon. For an audience it may also be at or below the
    /// tombstone horizon, because the audience tells former participants about removals.
    private(set) var ends: [ZoneKey: SequenceNumber] = [:]
    private var audiences: Set<ZoneKey> = []
    /// The zones that are kept whole: tokens of any age need to know which users took part in which
    /// share, and when.
    private(set) var unforgotten: Set<ZoneKey> = []
    /// The last event that raised the tombstone horizon of each zone.
    private(set) var raised: [ZoneKey: SequenceNumber] = [:]
    /// Tombstones that are old enough to drop, each with its zone or audience.
    private var expired: [(position: SequenceNumber, zone: ZoneKey, isOfAudience: Bool)] = []
    private var history: Prefix
    private var tombstones: Prefix
    private var requests: Prefix

    /// The positions up to the first commit that is younger than a limit.
    private struct Prefix {
        /// Positions up to here belong to it in any case.
        let least: SequenceNumber
        /// Commits received after this end it, in milliseconds since 1970.
        let limit: Int64
        var isOpen = true
        var end: SequenceNumber

        init(_ retention: CompactionPolicy.Retention, since least: SequenceNumber, now: Int64) {
            self.least = least
            end = least
            switch retention {
            case .all: limit = .min
            case .none: limit = .max
            case .atLeast(let lifetime): limit = now.subtractingSaturated(lifetime.inMilliseconds)
            }
        }

        /// Takes the next event, and returns true if the event is part of the stretch.
        mutating func take(_ event: LogEvent) -> Bool {
            let position = event.sequence
            // It never opens again. Receipt times can go back if the clock was set, and a horizon
            // must be a prefix of the log.
            if isOpen, event.commit.received > limit { isOpen = false }
            if isOpen { end = max(end, position) }
            return isOpen || position <= least
        }
    }

    init(_ question: Question) {
        history = Prefix(question.policy.history, since: question.before.history, now: question.now)
        tombstones = Prefix(
            question.policy.tombstones,
            since: question.before.tombstones,
            now: question.now
        )
        requests = Prefix(
            .atLeast(question.requestLifetime),
            since: question.before.requests,
            now: question.now
        )
        run = question.before
    }

    /// Takes in the next event.
    mutating func add(_ event: LogEvent) throws(EventFormatError) {
        let position = event.sequence
        last = position
        present.insert(position)
        let isHistory = history.take(event)
        // `take` must be called for every event, so it is the operand that is always evaluated.
        let mayExpire = tombstones.take(event) && isHistory
        _ = requests.take(event)
        if isHistory { historyTime = event.commit.time }
        if let chained = try ChainedEvent(event) {
            if let previous = chained.previous {
                // The successor decides: a version may be dropped once the event that replaced it
                // is at or below the horizon.
                note(previous, isHistory ? \.replaced : \.replacedLater)
                if chained.isTombstone, mayExpire { expired.append((position, event.zone, false)) }
            }
            if let audience = chained.audience {
                note(audience.previous, isHistory ? \.replacedInAudience : \.replacedLater)
                if chained.isTombstone, mayExpire { expired.append((position, audience.key, true)) }
            }
            return
        }
        switch event.kind {
        case .zoneCreated:
            let identity = try ZoneEvent.readCreation(event.payload.span.bytes).identity
            if identity.isAudience { audiences.insert(ZoneKey(createdAt: position)) }
            if identity.systemZone == .shares { unforgotten.insert(ZoneKey(createdAt: position)) }
        case .zoneDeleted:
            if audiences.contains(event.zone) ? mayExpire : isHistory {
                // An ended zone needs no event, whatever the chains say.
                ends[event.zone] = position
            }
        case .tombstonesForgotten: raised[event.zone] = position
        default: break
        }
    }

    private mutating func note(
        _ previous: SequenceNumber,
        _ marks: WritableKeyPath<HistoryMarks, PositionSet>
    ) {
        if previous > 0 { self[keyPath: marks].insert(previous) }
    }

    /// Ends the walk.
    mutating func finish() {
        // Horizons never go below those of the run before: its events may be gone already. The
        // tombstone horizon is at most the history horizon.
        run.history = max(history.least, min(history.end, last))
        run.tombstones = min(max(tombstones.least, tombstones.end), run.history)
        run.requests = max(requests.least, requests.end)
        if run.history == 0 { historyTime = nil }
    }

    /// The last tombstone to go in each zone and audience that has some, and the ends of audiences
    /// that go.
    func horizons() -> [ZoneKey: SequenceNumber] {
        var horizons = ends.filter { audiences.contains($0.key) }
        for (position, zone, isOfAudience) in expired
        where ends[zone] == nil && !unforgotten.contains(zone)
            && isLast(position, isOfAudience: isOfAudience)
        {
            horizons[zone] = max(horizons[zone] ?? 0, position)
        }
        return horizons
    }

    /// Returns true if no event has replaced this event in its zone or audience.
    func isLast(_ position: SequenceNumber, isOfAudience: Bool) -> Bool {
        !(isOfAudience ? replacedInAudience : replaced).contains(position)
            && !replacedLater.contains(position)
    }
}
