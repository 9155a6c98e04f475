// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkLog

/// The limits up to which a compaction run drops events: the payload of the event that begins the
/// run.
///
/// The limits are positions only, so that the run is a function of the log.
/// `Docs/formats/events.md` has the bytes.
package struct CompactionRun: Hashable, Sendable {
    /// The history horizon: versions that a later one at or below it has replaced are dropped.
    package var history: SequenceNumber
    /// The tombstone limit: tombstones up to this position are dropped in zones whose horizon is
    /// raised; never above `history`.
    package var tombstones: SequenceNumber
    /// The request limit: requests whose commit begins at or before this position are forgotten,
    /// except those that never expire.
    package var requests: SequenceNumber

    /// The size in bytes, in the log and in the view index.
    package static let byteCount = 28

    package init(history: SequenceNumber, tombstones: SequenceNumber, requests: SequenceNumber) {
        self.history = history
        self.tombstones = tombstones
        self.requests = requests
    }

    /// Appends the event's bytes.
    package func append(to payload: inout [UInt8]) {
        payload.append(contentsOf: [EventKind.compactionBegun.rawValue, 0, 0, 0])
        // In the order of `Docs/formats/events.md`. The view index stores the same three positions.
        for position in [history, tombstones, requests] {
            payload.append(integer: position.rawValue)
        }
    }

    /// Reads the bytes that `append` wrote.
    package init(_ payload: RawSpan) throws(EventFormatError) {
        guard payload.byteCount == Self.byteCount,
            payload.byte(at: 0) == EventKind.compactionBegun.rawValue
        else {
            throw EventFormatError(
                "The beginning of a compaction has \(Self.byteCount) bytes; found "
                    + "\(payload.byteCount)."
            )
        }
        self.init(
            history: payload.sequence(at: 4),
            tombstones: payload.sequence(at: 12),
            requests: payload.sequence(at: 20)
        )
    }
}

/// The payload of the event that records the position up to which a zone's tombstones are dropped.
package enum TombstoneHorizon {
    private static let byteCount = 12

    /// Appends the event's bytes.
    package static func append(_ horizon: SequenceNumber, to payload: inout [UInt8]) {
        payload.append(contentsOf: [EventKind.tombstonesForgotten.rawValue, 0, 0, 0])
        payload.append(integer: horizon.rawValue)
    }

    /// Reads the bytes that `append` wrote.
    package static func read(_ payload: RawSpan) throws(EventFormatError) -> SequenceNumber {
        guard payload.byteCount == byteCount,
            payload.byte(at: 0) == EventKind.tombstonesForgotten.rawValue
        else {
            throw EventFormatError(
                "A zone's tombstone horizon has \(byteCount) bytes; found \(payload.byteCount)."
            )
        }
        return payload.sequence(at: 4)
    }
}

extension CompactionRun {
    /// Returns the run limited to a log that ends at a position, which is not below the history
    /// horizon.
    package func capped(at last: SequenceNumber) -> CompactionRun {
        CompactionRun(
            history: history,
            tombstones: tombstones,
            // `tombstones` is not above `history`, which is not above `last`.
            requests: min(requests, last)
        )
    }

    /// Returns the horizon for ended zones: a zone that ended at or below it is forgotten with all
    /// of its content.
    ///
    /// The audience of an ended share still reports its removed records to former participants.
    package func horizon(of zone: ZoneIdentity) -> SequenceNumber {
        zone.isAudience ? tombstones : history
    }
}

extension LogEvent {
    /// True if the event only records that a request was processed.
    package var isNote: Bool { payload.first == EventKind.requestNoted.rawValue }
}
