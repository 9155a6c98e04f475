// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
package import TidemarkLog
package import TidemarkModel

/// One version of a record in the past: the kind of change, the replaced version, and the body.
package struct PastVersion: Sendable {
    /// The kind of change to the record.
    package enum Happening: Sendable {
        /// The record was created.
        case created
        /// The record's fields changed.
        case changed
        /// The record got a new tag; its fields did not change.
        case touched
        /// One commit deleted the record and saved it again, without any part of the version
        /// before.
        case recreated
        /// The record was deleted.
        case deleted
    }

    /// The place of a version in the audience of a share.
    package struct Share: Sendable {
        /// The position of the event that began the audience.
        package let key: ZoneKey
        /// Position of the record's event in the audience before; zero if there is none.
        package let previous: SequenceNumber
        /// True if the record was not in the audience before.
        package let isNew: Bool
    }

    private let stored: StoredRecord

    /// Reads an event that saved, touched or deleted a record.
    package init(_ event: LogEvent) throws(EventFormatError) {
        stored = try StoredRecord(event.sequence, zone: event.zone, event.payload)
    }

    /// Position of the event.
    package var sequence: SequenceNumber { stored.sequence }

    /// The key of the epoch of the record's zone.
    package var zone: ZoneKey { stored.zone }

    /// Position of the record's event before this one, a deletion too; zero if there is none.
    package var previous: SequenceNumber { stored.event.previous }

    /// Position of the version that this one replaces; `nil` if the record was not there.
    package var replaced: SequenceNumber? {
        stored.event.previousState == .live ? stored.event.previous : nil
    }

    /// True if the record exists from the event on.
    package var isThere: Bool { stored.event.state == .live }

    /// The policy of the save.
    package var policy: SavePolicy { stored.event.policy }

    /// The kind of change to the record.
    package var happening: Happening {
        let event = stored.event
        if event.state == .tombstone { return .deleted }
        if event.isTouch { return .touched }
        if event.isRecreation { return .recreated }
        return event.previousState == .live ? .changed : .created
    }

    /// The place of the version in an audience; `nil` for most records.
    package var share: Share? {
        stored.event.audience.map {
            Share(key: $0.key, previous: $0.previous, isNew: $0.previousState != .live)
        }
    }

    /// The record's body; only if it is there from the event on.
    package func body() throws(EventFormatError) -> RecordBody { try stored.body() }

    /// Returns true if the event is about a record with a name.
    package func hasName(_ name: Name) throws(EventFormatError) -> Bool {
        try stored.hasName(name)
    }
}

/// A change to the contents of a share that did not change the record itself.
package struct PastShowing: Sendable {
    /// The record's name.
    package let name: Name
    /// True if the share shows the record from this event on.
    package let isShown: Bool
    /// The position of the event that began the audience.
    package let key: ZoneKey
    /// Position of the record's event in the audience before; zero if there is none.
    package let previous: SequenceNumber

    /// Reads an event by which a record entered or left a share.
    package init(_ event: LogEvent) throws(EventFormatError) {
        let audience = try AudienceEvent(event.payload.span.bytes)
        name = audience.name
        isShown = audience.state == .live
        key = audience.place.key
        previous = audience.place.previous
    }
}
