// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkLog
package import TidemarkModel

/// An event of the log in plain values, for display.
package struct DecodedEvent: Sendable {
    /// The content of an event.
    package enum Fact: Sendable {
        /// A record was saved; the link gives the previous version.
        case recordSaved(Saving, RecordBody, Link)
        case recordDeleted(name: String, type: String, Link)
        case zoneCreated
        case zoneDeleted(ZoneDeletionReason)
        /// A record joined or left a share, without being changed itself.
        case audienceChanged(Audience)
        /// A request changed nothing, and is remembered.
        case requestNoted
        case tombstonesForgotten(through: SequenceNumber)
        case compactionBegun(CompactionRun)
        /// The event is of a newer version's kind, which this version skips.
        case skipped(kind: UInt8)
    }

    /// The form of a record's save.
    package struct Saving: Hashable, Sendable {
        /// True if the record got only a new tag.
        package var isTouch: Bool
        /// True if the record begins anew, with nothing of the previous version.
        package var isRecreation: Bool
        /// The save policy of the request.
        package var policy: SavePolicy
    }

    /// The links of a record's event to other events of the record.
    package struct Link: Hashable, Sendable {
        /// The position of the previous event; zero if there is none.
        package var previous: SequenceNumber
        /// The position of the client's version; `nil` if the client sent no tag.
        package var held: SequenceNumber?
    }

    /// A record that joined or left a share.
    package struct Audience: Hashable, Sendable {
        package var name: String
        package var type: String
        /// True if the record joined the share.
        package var hasEntered: Bool
        /// The position of the event that created the share's audience.
        package var key: ZoneKey
        /// The position of the version that the share's participants see.
        package var version: SequenceNumber
    }

    /// The event in the log.
    package let event: LogEvent
    /// The envelope of the event's commit.
    package let envelope: CommitEnvelope
    /// The zone of the event; `nil` for an event of the store itself, and for a zone whose creation
    /// cannot be read.
    package let zone: ZoneIdentity?
    /// The content of the event.
    package let fact: Fact

    /// The name of the event's record, if the event is about a record.
    package var recordName: String? {
        switch fact {
        case .recordSaved(_, let body, _): body.recordName
        case .recordDeleted(let name, _, _): name
        case .audienceChanged(let audience): audience.name
        case .zoneCreated, .zoneDeleted, .requestNoted, .tombstonesForgotten, .compactionBegun,
            .skipped:
            nil
        }
    }

    /// The type of that record.
    package var recordType: String? {
        switch fact {
        case .recordSaved(_, let body, _): body.recordType
        case .recordDeleted(_, let type, _): type
        case .audienceChanged(let audience): audience.type
        case .zoneCreated, .zoneDeleted, .requestNoted, .tombstonesForgotten, .compactionBegun,
            .skipped:
            nil
        }
    }
}
