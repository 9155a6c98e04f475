// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkLog

/// The last event of one record: its position and the record's state.
@usableFromInline
package struct RecordVersion: Hashable, Sendable {
    /// The record's slot in its zone.
    @usableFromInline package var slot: Slot
    /// The position of the record's last event.
    @usableFromInline package var sequence: SequenceNumber
    /// The record's state after that event.
    @usableFromInline package var state: RecordState

    @inlinable @inline(__always)
    package init(slot: Slot, sequence: SequenceNumber, state: RecordState) {
        self.slot = slot
        self.sequence = sequence
        self.state = state
    }
}

/// The change of one record by one event: all that a zone view needs of it, in 64-bit words.
@usableFromInline
package struct SlotChange: Hashable, Sendable {
    /// The zone's key.
    @usableFromInline package var zone: ZoneKey
    /// The record's slot in the zone.
    @usableFromInline package var slot: Slot
    /// The position of the event; zero until it has one.
    @usableFromInline package var sequence: SequenceNumber
    /// The position of the record's previous event; zero if this is the slot's first.
    @usableFromInline package var previous: SequenceNumber
    /// The record's state after the event.
    @usableFromInline package var state: RecordState
    /// The record's previous state; `nil` if this is the slot's first event.
    @usableFromInline package var previousState: RecordState?
    /// True if the slot is not the hash of the record's name, because another name had that slot.
    @usableFromInline package var isProbed = false

    @inlinable @inline(__always)
    package init(
        zone: ZoneKey,
        slot: Slot,
        sequence: SequenceNumber = 0,
        previous: SequenceNumber,
        state: RecordState,
        previousState: RecordState?,
        isProbed: Bool = false
    ) {
        self.zone = zone
        self.slot = slot
        self.sequence = sequence
        self.previous = previous
        self.state = state
        self.previousState = previousState
        self.isProbed = isProbed
    }
}
