// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
package import TidemarkLog
import TidemarkModel

/// A fold of log events into a generation of the overlay, used by opening, rebuilding and checking.
///
/// The fold needs only the event itself, which contains the slot and previous state of its record.
package struct Fold: Sendable {
    package let hash: StoreHash

    /// Creates a fold of one store's log.
    package init(hash: StoreHash) {
        self.hash = hash
    }

    /// Adds one event to a generation.
    ///
    /// O(1), about 100 ns for a record.
    @inline(__always)
    package func apply(
        _ event: LogEvent,
        to generation: OverlayGeneration
    ) throws(EventFormatError) {
        let payload = event.block.span.bytes.extracting(event.payloadRange)
        guard payload.byteCount > 0 else { throw Self.unknown(event, kind: nil) }
        generation.countPayloads(byteCount: payload.byteCount)
        switch EventKind(of: payload) {
        case .recordSaved, .recordDeleted, .recordTouched:
            let change = try recordChange(event.sequence, zone: event.zone, payload)
            generation.apply(change)
            // `recordChange` has checked the length of the header, which holds the flags that are
            // read here.
            if RecordEvent.touchesBindings(payload) {
                try applyBindings(of: event, change, to: generation)
            }
            if RecordEvent.touchesAudience(payload),
                let (slot, audience) = try RecordEvent.read(payload).event.audienceChange(change)
            {
                generation.apply(slot, audience)
            }
        case .audienceEntered, .audienceLeft:
            let (slot, audience) = try audienceChange(event.sequence, zone: event.zone, payload)
            generation.apply(slot, audience)
        case .zoneCreated:
            let creation = try ZoneEvent.readCreation(payload)
            generation.apply(
                zoneCreation(creation.identity, creation.probeCount, time: event.commit.time),
                key: ZoneKey(createdAt: event.sequence)
            )
        case .zoneDeleted:
            generation.applyDeletion(
                of: event.zone,
                at: event.sequence,
                reason: try ZoneEvent.readDeletion(payload)
            )
        case .requestNoted:
            generation.applyNothing(at: event.sequence)
        case .compactionBegun:
            generation.apply(try CompactionRun(payload), at: event.sequence)
        case .tombstonesForgotten:
            generation.applyHorizon(
                try TombstoneHorizon.read(payload),
                of: event.zone,
                at: event.sequence
            )
        case nil where EventKind.isSkippable(payload.byte(at: 0)):
            generation.applyNothing(at: event.sequence)
        case nil:
            throw Self.unknown(event, kind: payload.byte(at: 0))
        }
        // All events of a commit share one envelope, so its request is added once, at the position
        // by which the index finds the commit.
        if event.sequence == event.commit.first,
            let request = CommitEnvelope.requestKey(in: event.envelope.span.bytes)
        {
            generation.apply(request, AnsweredRequest(event))
        }
    }

    private func applyBindings(
        of event: LogEvent,
        _ change: SlotChange,
        to generation: OverlayGeneration
    ) throws(EventFormatError) {
        let stored = try StoredRecord(event.sequence, zone: event.zone, event.payload)
        let body = stored.event.binds ? try stored.body() : nil
        for change in referenceChanges(change, stored.event, body) { generation.apply(change) }
    }

    /// Returns the record change in an event's payload.
    @inline(__always)
    package func recordChange(
        _ sequence: SequenceNumber,
        zone: ZoneKey,
        _ payload: RawSpan
    ) throws(EventFormatError) -> SlotChange {
        let link = try RecordEvent.readLink(payload)
        let name = try RecordEvent.nameRange(
            in: payload,
            state: link.state,
            bodyOffset: link.bodyOffset
        )
        return SlotChange(
            zone: zone,
            slot: hash.slot(ofName: payload.extracting(name)).probed(link.probeCount),
            sequence: sequence,
            previous: link.previous,
            state: link.state,
            previousState: link.previousState,
            isProbed: link.probeCount > 0
        )
    }

    /// Returns the audience change in an event's payload.
    package func audienceChange(
        _ sequence: SequenceNumber,
        zone: ZoneKey,
        _ payload: RawSpan
    ) throws(EventFormatError) -> (slot: SlotChange, audience: AudienceChange) {
        let event = try AudienceEvent(payload)
        let slot = hash.slot(ofName: event.name).probed(event.probeCount)
        return event.change(of: ViewKey(zone: zone, slot: slot), at: sequence)
    }

    /// Returns the zone creation in a payload, with the place of the zone's name in the view index.
    package func zoneCreation(
        _ identity: ZoneIdentity,
        _ probeCount: UInt8,
        time: Int64
    ) -> ZoneCreation {
        let slot = hash.slot(ofZone: identity.zoneName.string).probed(probeCount)
        return ZoneCreation(
            identity: identity,
            place: ViewKey(hash.key(of: identity.database), slot.rawValue),
            time: time
        )
    }

    private static func unknown(_ event: LogEvent, kind: UInt8?) -> EventFormatError {
        let found = kind.map { "kind \($0)" } ?? "no payload"
        return EventFormatError(
            "Event \(event.sequence) is of no kind that this version knows (\(found)). It was "
                + "written by a newer version of Tidemark, or is damaged."
        )
    }
}
