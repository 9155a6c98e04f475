// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkModel

/// How far a log has been taken in, and by what to know whether it is still the same log.
package struct IndexPosition: Hashable, Sendable {
    /// The incarnation of the store that wrote the last event.
    package var incarnation: UInt64
    /// The sequence number of the last event; zero for nothing.
    package var sequence: UInt64
    /// When the last event's commit was received, by the store's clock.
    package var received: Int64

    /// Describes a position.
    package init(incarnation: UInt64 = 0, sequence: UInt64 = 0, received: Int64 = 0) {
        self.incarnation = incarnation
        self.sequence = sequence
        self.received = received
    }
}

/// What happened to a record or a zone, as the query index takes it in.
package struct IndexedChange: Sendable {
    /// What happened.
    package enum Content: Sendable {
        /// A record was saved.
        case saved(RecordBody)
        /// A record was deleted; its type, where the event says it.
        case deleted(recordType: String?)
        /// A zone was deleted with all that is in it.
        case zoneDeleted
    }

    /// The event's sequence number.
    package let sequence: UInt64
    /// The zone's key.
    package let zone: UInt64
    /// The sequence number of the live version that this replaces or deletes; zero for none.
    package let previous: UInt64
    /// What happened.
    package let content: Content

    /// Describes a change.
    package init(sequence: UInt64, zone: UInt64, previous: UInt64, content: Content) {
        self.sequence = sequence
        self.zone = zone
        self.previous = previous
        self.content = content
    }
}
