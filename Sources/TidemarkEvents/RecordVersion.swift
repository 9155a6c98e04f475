// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkLog

/// The last event of one record: where its body or tombstone is, and which of the two it is.
package struct RecordVersion: Hashable, Sendable {
    /// The record's slot in its zone.
    package var slot: Slot
    /// Position of the record's last event.
    package var sequence: SequenceNumber
    /// Whether that event saved or deleted it.
    package var state: RecordState

    @inlinable @inline(__always)
    package init(slot: Slot, sequence: SequenceNumber, state: RecordState) {
        self.slot = slot
        self.sequence = sequence
        self.state = state
    }
}

/// What one event did to one record: all that a zone view needs of it, in words of 64 bits.
package struct SlotChange: Hashable, Sendable {
    /// The zone's key.
    package var zone: ZoneKey
    /// The record's slot in the zone.
    package var slot: Slot
    /// Position of the event; zero until it has one.
    package var sequence: SequenceNumber
    /// Position of the record's event before this one; zero if this is the slot's first.
    package var previous: SequenceNumber
    /// What the record is from here on.
    package var state: RecordState
    /// What the record was before; no state if this is the slot's first event.
    package var previousState: RecordState?
    /// Whether the slot is not the hash of the record's name, because another name had that.
    package var isProbed = false

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
