// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel

/// A delta that can also be read from its end.
protocol BackwardDelta: ZoneDelta {
    /// The position after which the delta begins.
    var first: SequenceNumber { get }
    /// The content of the token of a client that has received everything.
    var end: TokenContent { get }

    /// Returns the same delta for a client that has received everything up to a later position.
    func beginning(after position: SequenceNumber) -> Self

    /// The number of entries between two positions, at most `limit`.
    func count(
        after start: SequenceNumber,
        through end: SequenceNumber,
        limit: Int
    ) throws(SyncError) -> Int
}

extension BackwardDelta {
    /// Returns a position after which at most `limit` entries lie up to another position, as near
    /// to `limit` as is cheap to find.
    ///
    /// Lists can only be read forwards. So this tries windows that end there: it doubles their
    /// length, then halves the excess. O(limit · log(log's length)).
    func windowStart(before end: SequenceNumber, _ limit: Int) throws(SyncError) -> SequenceNumber {
        var fitting = end
        // In positions: at best, each event in the window is an entry.
        var length = UInt64(limit)
        while fitting > first {
            let start =
                end - first > length ? SequenceNumber(rawValue: end.rawValue - length) : first
            let count = try count(after: start, through: end, limit: limit + 1)
            guard count <= limit else {
                return try windowStart(between: start, fitting, before: end, limit)
            }
            fitting = start
            // A window that is exactly full need not be extended.
            if count == limit { break }
            length = length > .max / 2 ? .max : 2 * length
        }
        return fitting
    }

    /// Returns the same between a position followed by too many entries and one followed by few
    /// enough.
    private func windowStart(
        between tooEarly: SequenceNumber,
        _ fitting: SequenceNumber,
        before end: SequenceNumber,
        _ limit: Int
    ) throws(SyncError) -> SequenceNumber {
        var (tooEarly, fitting) = (tooEarly, fitting)
        while fitting - tooEarly > 1 {
            let middle = tooEarly + Int((fitting - tooEarly) / 2)
            let count = try count(after: middle, through: end, limit: limit + 1)
            if count > limit { tooEarly = middle } else { fitting = middle }
            if count == limit { break }
        }
        return fitting
    }
}
