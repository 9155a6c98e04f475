// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkModel

/// The position up to which a log has been applied, with the data that identifies the log.
package struct IndexPosition: Hashable, Sendable {
    /// The incarnation of the store that wrote the last event.
    package var incarnation: UInt64
    /// The sequence number of the last event; zero if there is none.
    package var sequence: UInt64
    /// The time when the last event's commit was received, by the store's clock.
    package var received: Int64

    /// Describes a position.
    package init(incarnation: UInt64 = 0, sequence: UInt64 = 0, received: Int64 = 0) {
        self.incarnation = incarnation
        self.sequence = sequence
        self.received = received
    }
}

/// A change of a record or a zone, as input of the query index.
package struct IndexedChange: Sendable {
    /// The content of the change.
    package enum Content: Sendable {
        /// A record was saved.
        case saved(RecordBody)
        /// A record was deleted; its type, if the event contains it.
        case deleted(recordType: String?)
        /// A zone was deleted with all of its records.
        case zoneDeleted
    }

    /// The event's sequence number.
    package let sequence: UInt64
    /// The zone's container and environment, as a number; each has record types of its own.
    ///
    /// It may be unknown for the deletion of a zone, of which nothing else is left.
    package let container: UInt64?
    /// The zone's key.
    package let zone: UInt64
    /// The sequence number of the live version that this replaces or deletes; zero if there is
    /// none.
    package let previous: UInt64
    /// The content of the change.
    package let content: Content

    /// Describes a change.
    package init(
        sequence: UInt64,
        container: UInt64? = 0,
        zone: UInt64,
        previous: UInt64,
        content: Content
    ) {
        self.sequence = sequence
        self.container = container
        self.zone = zone
        self.previous = previous
        self.content = content
    }
}
