// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkLog
import TidemarkModel

/// Decodes events into plain values.
///
/// The decoder caches the last commit's envelope and the zones of earlier events.
package struct EventDecoder: Sendable {
    private let source: any EventSource
    private var envelope: (first: SequenceNumber, content: CommitEnvelope)?
    private var zones: [ZoneKey: ZoneIdentity?] = [:]

    package init(source: any EventSource) {
        self.source = source
    }

    /// Decodes one event; throws a `LogError`, or an `EventFormatError` if the event cannot be
    /// decoded.
    package mutating func decode(_ event: LogEvent) throws -> DecodedEvent {
        let bytes = event.payload
        let payload = bytes.span.bytes
        guard payload.byteCount > 0 else {
            throw EventFormatError("Event \(event.sequence) has no payload.")
        }
        let kind = EventKind(of: payload)
        // Spares a read of the log for each zone whose creation the caller decodes anyway.
        if kind == .zoneCreated {
            zones[ZoneKey(createdAt: event.sequence)] = try ZoneEvent.readCreation(payload).identity
        }
        return DecodedEvent(
            event: event,
            envelope: try envelope(of: event),
            // Events of the store itself have the zone key 0, which no creation event has.
            zone: event.zone == 0 ? nil : try zone(event.zone),
            fact: try fact(of: event, kind)
        )
    }

    private func fact(of event: LogEvent, _ kind: EventKind?) throws -> DecodedEvent.Fact {
        let bytes = event.payload
        let payload = bytes.span.bytes
        switch kind {
        case .recordSaved, .recordTouched:
            let (record, offset) = try RecordEvent.read(payload)
            return .recordSaved(
                DecodedEvent.Saving(record),
                try RecordBody(stored: bytes[(bytes.startIndex + offset)...]),
                DecodedEvent.Link(record)
            )
        case .recordDeleted:
            let (record, offset) = try RecordEvent.read(payload)
            let (name, type) = try RecordEvent.tombstone(in: payload, bodyOffset: offset)
            return .recordDeleted(name: name, type: type, DecodedEvent.Link(record))
        case .zoneCreated:
            return .zoneCreated
        case .zoneDeleted:
            return .zoneDeleted(try ZoneEvent.readDeletion(payload))
        case .requestNoted:
            return .requestNoted
        case .tombstonesForgotten:
            return .tombstonesForgotten(through: try TombstoneHorizon.read(payload))
        case .compactionBegun:
            return .compactionBegun(try CompactionRun(payload))
        case .audienceEntered, .audienceLeft:
            return .audienceChanged(DecodedEvent.Audience(try AudienceEvent(payload)))
        // Before the error: a newer version may write kinds from 128 on, and readers must skip
        // them.
        case nil where event.isSkipped:
            return .skipped(kind: payload.byte(at: 0))
        case nil:
            throw EventFormatError(
                "Event \(event.sequence) is of kind \(payload.byte(at: 0)), which this version "
                    + "does not know. Read the store with the version of Tidemark that wrote it."
            )
        }
    }

    private mutating func envelope(of event: LogEvent) throws -> CommitEnvelope {
        // Most callers decode in log order, so the events of one commit follow each other.
        if let envelope, envelope.first == event.commit.first { return envelope.content }
        let content = try CommitEnvelope(event.envelope.span.bytes)
        envelope = (event.commit.first, content)
        return content
    }

    /// Returns the zone that an event created; reads it from the log the first time.
    private mutating func zone(_ key: ZoneKey) throws -> ZoneIdentity? {
        if let known = zones[key] { return known }
        var found: ZoneIdentity?
        try source.read([key.creation]) { event in
            // Damage, or another event at this position, leaves the zone unknown.
            found = try? ZoneEvent.readCreation(event.payload.span.bytes).identity
            return false
        }
        // `.some` also stores that the zone was not found. Assigning `nil` would remove the entry,
        // and the log would be read again for every event of the zone.
        zones[key] = .some(found)
        return found
    }
}

extension DecodedEvent.Saving {
    fileprivate init(_ event: RecordEvent) {
        self.init(
            isTouch: event.isTouch,
            isRecreation: event.isRecreation,
            policy: event.policy
        )
    }
}

extension DecodedEvent.Link {
    fileprivate init(_ event: RecordEvent) {
        let held: SequenceNumber? =
            switch event.held {
            case .none: nil
            case .previous: event.previous
            case .other(let tag): tag.sequence
            }
        self.init(previous: event.previous, held: held)
    }
}

extension DecodedEvent.Audience {
    fileprivate init(_ event: AudienceEvent) {
        self.init(
            name: event.name.string,
            type: event.type.string,
            hasEntered: event.state == .live,
            key: event.place.key,
            version: event.version
        )
    }
}
