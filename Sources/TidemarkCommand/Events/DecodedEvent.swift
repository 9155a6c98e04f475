// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Tidemark
import TidemarkEvents
import TidemarkLog
import TidemarkModel

/// An event of the log as the engine reads it.
struct DecodedEvent {
    /// What happened.
    enum Fact {
        /// A record was saved; or touched, as the event says.
        case recordSaved(RecordEvent, RecordBody)
        case recordDeleted(RecordEvent, name: String, type: String)
        case zoneCreated
        case zoneDeleted(ZoneDeletionReason)
        /// A record came under a share or left one, and was not changed itself.
        case audienceChanged(AudienceEvent)
        /// A request that changed nothing, and is remembered all the same.
        case requestNoted
        case tombstonesForgotten(through: UInt64)
        case compactionBegun(CompactionRun)
    }

    let event: LogEvent
    let envelope: CommitEnvelope
    /// The zone it is about; `nil` for an event of the store itself, and for a zone whose creation
    /// cannot be read.
    let zone: ZoneIdentity?
    let fact: Fact

    /// The name of the record it is about, if it is about one.
    var recordName: String? {
        switch fact {
        case .recordSaved(_, let body): body.recordName
        case .recordDeleted(_, let name, _): name
        case .audienceChanged(let event): event.name.string
        case .zoneCreated, .zoneDeleted, .requestNoted, .tombstonesForgotten, .compactionBegun: nil
        }
    }

    /// The type of that record.
    var recordType: String? {
        switch fact {
        case .recordSaved(_, let body): body.recordType
        case .recordDeleted(_, _, let type): type
        case .audienceChanged(let event): event.type.string
        case .zoneCreated, .zoneDeleted, .requestNoted, .tombstonesForgotten, .compactionBegun: nil
        }
    }
}

/// Reads events with the engine's codec.
///
/// It remembers the last commit's envelope and the zones it has met.
struct EventDecoder {
    private let source: any EventSource
    private var envelope: (first: SequenceNumber, content: CommitEnvelope)?
    private var zones: [UInt64: ZoneIdentity?] = [:]

    init(source: any EventSource) {
        self.source = source
    }

    /// Reads one event; throws a `LogError` or, for what no codec knows, an `EventFormatError`.
    mutating func decode(_ event: LogEvent) throws -> DecodedEvent {
        let bytes = event.payload
        let payload = bytes.span.bytes
        guard payload.byteCount > 0 else {
            throw EventFormatError("Event \(event.sequence) has no payload.")
        }
        let kind = EventKind(of: payload)
        if kind == .zoneCreated {
            zones[event.sequence.rawValue] = try ZoneEvent.readCreation(payload).identity
        }
        return DecodedEvent(
            event: event,
            envelope: try envelope(of: event),
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
                record,
                try RecordBody(stored: bytes[(bytes.startIndex + offset)...])
            )
        case .recordDeleted:
            let (record, offset) = try RecordEvent.read(payload)
            let (name, type) = try RecordEvent.tombstone(in: payload, bodyOffset: offset)
            return .recordDeleted(record, name: name, type: type)
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
            return .audienceChanged(try AudienceEvent(payload))
        case nil:
            throw EventFormatError(
                "Event \(event.sequence) is of kind \(payload.byte(at: 0)), which this version "
                    + "does not know. Read the store with the version of Tidemark that wrote it."
            )
        }
    }

    private mutating func envelope(of event: LogEvent) throws -> CommitEnvelope {
        if let envelope, envelope.first == event.commit.first { return envelope.content }
        let content = try CommitEnvelope(event.envelope.span.bytes)
        envelope = (event.commit.first, content)
        return content
    }

    /// The zone that was created by an event; read from the log the first time.
    private mutating func zone(_ key: UInt64) throws -> ZoneIdentity? {
        if let known = zones[key] { return known }
        let found = try source.event(at: SequenceNumber(rawValue: key)).flatMap { event in
            try? ZoneEvent.readCreation(event.payload.span.bytes).identity
        }
        zones[key] = .some(found)
        return found
    }
}
