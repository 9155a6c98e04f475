// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkLog

/// The kind of an event: the first byte of its payload.
///
/// Raw values are on disk: never renumber them. Values up to 31 are for records, from 32 on for
/// zones, from 48 on for requests, from 64 on for audiences. Values from 128 on are for events that
/// a version which does not know them may skip.
package enum EventKind: UInt8, CaseIterable, Sendable {
    /// A record was saved: the payload holds its whole body.
    case recordSaved = 1
    /// A record was deleted: the payload is its tombstone.
    case recordDeleted = 2
    /// A record has a new tag and is otherwise unchanged: the payload holds its whole body again.
    case recordTouched = 3
    /// A zone was created; the event's sequence number is the zone's key and epoch.
    case zoneCreated = 32
    /// A zone ended, with all of its records.
    case zoneDeleted = 33
    /// Tombstones of a zone up to a position are dropped.
    case tombstonesForgotten = 34
    /// A request has no other event in its commit, because it changed nothing or compaction dropped
    /// the events; the commit keeps the request's id.
    case requestNoted = 48
    /// A compaction began; the payload has its limits.
    case compactionBegun = 49
    /// A record joined a share without being changed.
    case audienceEntered = 64
    /// A record left a share.
    case audienceLeft = 65
}

extension EventKind {
    /// Returns true if a version that does not know a kind may skip its events, which do not change
    /// its views.
    package static func isSkippable(_ rawValue: UInt8) -> Bool { rawValue & 1 << 7 != 0 }

    /// The kind of an event with a payload; `nil` if the payload is empty or the kind is unknown.
    @inline(__always)
    package init?(of payload: RawSpan) {
        guard payload.byteCount > 0 else { return nil }
        self.init(rawValue: payload.byte(at: 0))
    }
}

extension LogEvent {
    /// True if the kind is unknown and may be skipped.
    package var isSkipped: Bool {
        kind == nil && payload.first.map(EventKind.isSkippable) ?? false
    }

    /// The kind of the event; `nil` if it is unknown.
    package var kind: EventKind? { EventKind(of: payload.span.bytes) }
}

/// The error for bytes of the log that cannot be read as events: a bug, a newer version, or damage
/// that the log's checksums did not detect.
package struct EventFormatError: Error, Hashable, Sendable {
    /// The expected and found values.
    package let message: String

    package init(_ message: String) {
        self.message = message
    }
}
