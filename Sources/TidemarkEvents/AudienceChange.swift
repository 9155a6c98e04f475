// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkLog

/// A change of one record's audience by an event.
@usableFromInline
package struct AudienceChange: Hashable, Sendable {
    /// The record's zone and slot.
    @usableFromInline package var record: ViewKey
    /// The position of the event; zero until it has one.
    @usableFromInline package var sequence: SequenceNumber
    /// The audience's key; zero for none.
    @usableFromInline package var audience: ZoneKey

    @inlinable @inline(__always)
    package init(record: ViewKey, sequence: SequenceNumber = 0, audience: ZoneKey) {
        self.record = record
        self.sequence = sequence
        self.audience = audience
    }
}

extension RecordEvent {
    /// Returns the change that a record's event makes in the event's audience.
    package func audienceChange(
        _ change: SlotChange
    ) -> (slot: SlotChange, audience: AudienceChange)? {
        guard let audience else { return nil }
        var slot = change
        // The slot stays: an audience has the slots of its records' zone (`Docs/formats/views.md`,
        // "Tables").
        slot.zone = audience.key
        // In an audience, the record has a chain of its own: it may have entered later
        // than it was created.
        slot.previous = audience.previous
        slot.previousState = audience.previousState
        let record = ViewKey(zone: change.zone, slot: change.slot)
        return (
            slot,
            AudienceChange(
                record: record,
                sequence: change.sequence,
                // A deleted record is in no audience, although its tombstone stays there.
                audience: change.state == .live ? audience.key : 0
            )
        )
    }
}

extension AudienceEvent {
    /// Returns the change that the event makes in its audience, for a record with a slot in a zone.
    package func change(
        of record: ViewKey,
        at sequence: SequenceNumber
    ) -> (slot: SlotChange, audience: AudienceChange) {
        (
            // An audience lists records by the slots of their zone, so `record.slot` is valid in it
            // too.
            SlotChange(
                zone: place.key,
                slot: record.slot,
                sequence: sequence,
                previous: place.previous,
                state: state,
                previousState: place.previousState
            ),
            AudienceChange(
                record: record,
                sequence: sequence,
                audience: state == .live ? place.key : 0
            )
        )
    }
}
