// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkLog

/// What kind of fact an event is: the first byte of its payload.
///
/// Raw values are on disk: never renumber them. Values up to 31 are about records, from 32 on
/// about zones, from 48 on about requests, from 64 on about who sees what. Values from 128 on are for
/// events that a version which does not know them may pass over.
package enum EventKind: UInt8, CaseIterable, Sendable {
    /// A record was saved: the payload holds its whole body.
    case recordSaved = 1
    /// A record was deleted: the payload is its tombstone.
    case recordDeleted = 2
    /// A record has a new tag and is otherwise what it was: the payload holds its whole body again.
    case recordTouched = 3
    /// A zone came into being. The event's sequence number is the zone's key and epoch.
    case zoneCreated = 32
    /// A zone ended, with all that it holds.
    case zoneDeleted = 33
    /// Tombstones of a zone are forgotten, up to a position.
    case tombstonesForgotten = 34
    /// What a request changed is told by no event of its commit, because nothing changed or because
    /// compaction has dropped it; the commit is there so that the request's id is remembered.
    case requestNoted = 48
    /// A compaction began: what is forgotten from here on.
    case compactionBegun = 49
    /// A record came under a share without being changed.
    case audienceEntered = 64
    /// A record is under a share no more.
    case audienceLeft = 65
}

extension EventKind {
    /// Whether a version that does not know a kind may pass over its events: they change nothing of what
    /// it folds.
    package static func isSkippable(_ rawValue: UInt8) -> Bool { rawValue & 1 << 7 != 0 }

    /// The kind of an event with a payload; `nil` if that is empty, or of a kind that this version does
    /// not know.
    @inline(__always)
    package init?(of payload: RawSpan) {
        guard payload.byteCount > 0 else { return nil }
        self.init(rawValue: payload.byte(at: 0))
    }
}

extension LogEvent {
    /// Whether it is of a kind that this version does not know, and may pass over.
    package var isSkipped: Bool {
        kind == nil && payload.first.map(EventKind.isSkippable) ?? false
    }

    /// What kind of fact it is; `nil` for one that this version does not know.
    package var kind: EventKind? { EventKind(of: payload.span.bytes) }
}

/// Why bytes of the log could not be read as events: a bug, a newer version, or damage that the
/// log's checksums did not see.
package struct EventFormatError: Error, Hashable, Sendable {
    /// What was expected, what was found.
    package let message: String

    package init(_ message: String) {
        self.message = message
    }
}
