// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
package import TidemarkLog

/// The commit that answered a request.
package struct AnsweredRequest: Hashable, Sendable {
    /// Position of its first event.
    package var first: SequenceNumber
    /// Whether the request is remembered for good.
    package var neverExpires: Bool

    package init(first: SequenceNumber, neverExpires: Bool) {
        self.first = first
        self.neverExpires = neverExpires
    }

    /// The answer of which an event, whose commit's envelope names a request, is the first.
    @inline(__always)
    package init(_ event: LogEvent) {
        first = event.sequence
        neverExpires = CommitEnvelope.requestNeverExpires(in: event.envelope.span.bytes)
    }

    /// The value in the view index.
    package var stored: ViewValue { .word(first.rawValue, tag: neverExpires ? 1 : 0) }

    /// Whether a value in the view index is of a request that expires and was answered at a position
    /// or before.
    package static func expires(_ value: ViewValue, through position: SequenceNumber) -> Bool {
        guard case .word(let first, let tag) = value else { return false }
        return tag == 0 && SequenceNumber(rawValue: first) <= position
    }
}
