// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkLog

/// Which audience one record has from an event on.
package struct AudienceChange: Hashable, Sendable {
    /// The record's zone and slot.
    package var record: ViewKey
    /// Position of the event; zero until it has one.
    package var sequence: SequenceNumber
    /// The audience's key; zero for none.
    package var audience: ZoneKey

    @inlinable @inline(__always)
    package init(record: ViewKey, sequence: SequenceNumber = 0, audience: ZoneKey) {
        self.record = record
        self.sequence = sequence
        self.audience = audience
    }
}

extension RecordEvent {
    /// What a record's event does in the audience that it names.
    package func audienceChange(
        _ change: SlotChange
    ) -> (slot: SlotChange, audience: AudienceChange)? {
        guard let audience else { return nil }
        var slot = change
        slot.zone = audience.key
        slot.previous = audience.previous
        slot.previousState = audience.previousState
        let record = ViewKey(zone: change.zone, slot: change.slot)
        return (
            slot,
            AudienceChange(
                record: record,
                sequence: change.sequence,
                audience: change.state == .live ? audience.key : 0
            )
        )
    }
}

extension AudienceEvent {
    /// What the event does in its audience, for a record with a slot in a zone.
    package func change(
        of record: ViewKey,
        at sequence: SequenceNumber
    ) -> (slot: SlotChange, audience: AudienceChange) {
        (
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
