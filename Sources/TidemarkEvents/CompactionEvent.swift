// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkLog

/// What a compaction run forgets: the payload of the event that begins it.
///
/// Positions and nothing else, so that the run is a function of the log. `Docs/formats/events.md`
/// has the bytes.
package struct CompactionRun: Hashable, Sendable {
    /// The history horizon: versions that a later one at or below it has replaced are dropped.
    package var history: SequenceNumber
    /// Tombstones up to here are forgotten, in zones whose horizon is raised; never above `history`.
    package var tombstones: SequenceNumber
    /// Requests whose commit begins here or before are forgotten, except those that never expire.
    package var requests: SequenceNumber

    /// Bytes of it, in the log and in the view index.
    package static let byteCount = 28

    package init(history: SequenceNumber, tombstones: SequenceNumber, requests: SequenceNumber) {
        self.history = history
        self.tombstones = tombstones
        self.requests = requests
    }

    /// Appends the event's bytes.
    package func append(to payload: inout [UInt8]) {
        payload.append(contentsOf: [EventKind.compactionBegun.rawValue, 0, 0, 0])
        for position in [history, tombstones, requests] {
            payload.append(integer: position.rawValue)
        }
    }

    /// Reads what `append` wrote.
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

/// How far tombstones of a zone are forgotten: the payload of the event that says so.
package enum TombstoneHorizon {
    private static let byteCount = 12

    /// Appends the event's bytes.
    package static func append(_ horizon: SequenceNumber, to payload: inout [UInt8]) {
        payload.append(contentsOf: [EventKind.tombstonesForgotten.rawValue, 0, 0, 0])
        payload.append(integer: horizon.rawValue)
    }

    /// Reads what `append` wrote.
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
    /// The same for a log that ends at a position, which is not below the history horizon.
    package func capped(at last: SequenceNumber) -> CompactionRun {
        CompactionRun(
            history: history,
            tombstones: tombstones,
            requests: min(requests, last)
        )
    }

    /// The horizon at or below which a zone has to have ended for all that it held to be forgotten.
    ///
    /// The list of a share that has ended still tells those who saw it what is gone.
    package func horizon(of zone: ZoneIdentity) -> SequenceNumber {
        zone.isAudience ? tombstones : history
    }
}

extension LogEvent {
    /// Whether nothing is left of what happened here but that its request was answered.
    package var isNote: Bool { payload.first == EventKind.requestNoted.rawValue }
}
