// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkModel

/// Which audience one record has from an event on.
package struct AudienceChange: Hashable, Sendable {
    /// The record's zone and slot.
    package var record: ViewKey
    /// Position of the event; zero until it has one.
    package var sequence: UInt64
    /// The audience's key; zero for none.
    package var audience: UInt64

    package init(record: ViewKey, sequence: UInt64 = 0, audience: UInt64) {
        self.record = record
        self.sequence = sequence
        self.audience = audience
    }
}

/// The changes of audiences in one stretch of the log, found by their record.
package struct AudienceChanges: Sendable {
    /// In the order of the log.
    package private(set) var changes: [AudienceChange] = []
    private var indexes: [ViewKey: [UInt32]] = [:]

    /// Position of the last change; zero if there is none.
    package var lastSequence: UInt64 { changes.last?.sequence ?? 0 }

    /// Adds a change.
    package mutating func append(_ change: AudienceChange) {
        indexes[change.record, default: []].append(UInt32(truncatingIfNeeded: changes.count))
        changes.append(change)
    }

    /// The audience that a record has at a bound, zero for none; `nil` if nothing is known here.
    package func audience(of record: ViewKey, through bound: UInt64) -> UInt64? {
        guard let indexes = indexes[record] else { return nil }
        let last = indexes.last { changes[Int($0)].sequence <= bound }
        return last.map { changes[Int($0)].audience }
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
        let record = ViewKey(change.zone, change.slot)
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
        at sequence: UInt64
    ) -> (slot: SlotChange, audience: AudienceChange) {
        (
            SlotChange(
                zone: place.key,
                slot: record.low,
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

extension ViewPicture {
    /// The audience that sees a record by the share it is under; `nil` if it is under none.
    ///
    /// A share that has ended leaves its audience behind: see ``isLiving(audience:)``.
    package func audience(of record: ViewKey) throws(ViewIndexError) -> UInt64? {
        let bound = bound
        let overlaid =
            withCurrent { $0.audiences.audience(of: record, through: bound) }
            ?? withFrozen { $0.audiences.audience(of: record, through: bound) }
        if let overlaid { return overlaid == 0 ? nil : overlaid }
        guard case .word(let key, _) = try snapshot.value(in: .audiences, for: record) else {
            return nil
        }
        return key
    }
}
