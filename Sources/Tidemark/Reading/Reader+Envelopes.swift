// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkViews

extension Reader {
    /// The envelope of the commit whose first event is at a position, and when it was received.
    func envelope(
        ofCommitAt first: SequenceNumber
    ) throws(SyncError) -> (CommitEnvelope, received: Int64) {
        // A commit leaves `pending` only when it is durable. So if it is not found here, the log
        // can be read.
        let pending = views.overlay.withLock { overlay in
            overlay.pending.find(first)?.commit
        }
        if let pending { return (try readEnvelope(pending.envelope[...]), pending.received) }
        guard let found = try source.event(at: first) else { throw .missingEvent(first) }
        return (try readEnvelope(found.envelope), found.commit.received)
    }

    /// Reads an envelope's bytes.
    func readEnvelope(_ bytes: ArraySlice<UInt8>) throws(SyncError) -> CommitEnvelope {
        try SyncError.wrapping { () throws(EventFormatError) in
            try CommitEnvelope(bytes.span.bytes)
        }
    }
}
