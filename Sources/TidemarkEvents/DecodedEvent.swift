// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkLog
package import TidemarkModel

/// An event of the log in plain values, for those who show it.
package struct DecodedEvent: Sendable {
    /// What happened.
    package enum Fact: Sendable {
        /// A record was saved, over what the link says.
        case recordSaved(Saving, RecordBody, Link)
        case recordDeleted(name: String, type: String, Link)
        case zoneCreated
        case zoneDeleted(ZoneDeletionReason)
        /// A record came under a share or left one, and was not changed itself.
        case audienceChanged(Audience)
        /// A request that changed nothing, and is remembered all the same.
        case requestNoted
        case tombstonesForgotten(through: SequenceNumber)
        case compactionBegun(CompactionRun)
        /// A newer version wrote it, for those who know it.
        case skipped(kind: UInt8)
    }

    /// How a record was saved.
    package struct Saving: Hashable, Sendable {
        /// Whether it got a new tag and nothing else.
        package var isTouch: Bool
        /// Whether it begins anew, with nothing of the version before.
        package var isRecreation: Bool
        /// How the save was meant.
        package var policy: SavePolicy
    }

    /// Where a record's event stands among the others of the record.
    package struct Link: Hashable, Sendable {
        /// Position of the event before; zero if there is none.
        package var previous: SequenceNumber
        /// Position of the version that the client held; `nil` if it sent no tag.
        package var held: SequenceNumber?
    }

    /// A record that came under a share or left one.
    package struct Audience: Hashable, Sendable {
        package var name: String
        package var type: String
        /// Whether it came.
        package var hasEntered: Bool
        /// The position of the event that made the list of what the share shows.
        package var key: ZoneKey
        /// Position of the version that the share's participants get to see.
        package var version: SequenceNumber
    }

    /// The event as it lies in the log.
    package let event: LogEvent
    /// Who made the commit that holds it.
    package let envelope: CommitEnvelope
    /// The zone it is about; `nil` for an event of the store itself, and for a zone whose creation
    /// cannot be read.
    package let zone: ZoneIdentity?
    /// What happened.
    package let fact: Fact

    /// The name of the record it is about, if it is about one.
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
