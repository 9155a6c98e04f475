// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
package import TidemarkLog

/// The commit that answered a request, by which a retry is recognized.
package struct AnsweredRequest: Hashable, Sendable {
    /// The position of the commit's first event.
    package var first: SequenceNumber
    /// True if the request is remembered permanently.
    package var neverExpires: Bool

    package init(first: SequenceNumber, neverExpires: Bool) {
        self.first = first
        self.neverExpires = neverExpires
    }

    /// Creates the entry from the first event of a commit whose envelope contains a request.
    @inline(__always)
    package init(_ event: LogEvent) {
        first = event.sequence
        neverExpires = CommitEnvelope.requestNeverExpires(in: event.envelope.span.bytes)
    }

    /// The value in the view index.
    package var stored: ViewValue { .word(first.rawValue, tag: neverExpires ? 1 : 0) }

    /// Returns true if a value in the view index is of an expiring request that was answered at or
    /// before a position.
    package static func expires(_ value: ViewValue, through position: SequenceNumber) -> Bool {
        guard case .word(let first, let tag) = value else { return false }
        return tag == 0 && SequenceNumber(rawValue: first) <= position
    }
}
