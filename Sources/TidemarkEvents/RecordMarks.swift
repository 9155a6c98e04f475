// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkLog
import TidemarkModel

extension EventMarker {
    /// Marks the bodies of live records that have sound frames and are no shares.
    ///
    /// Without a mark, a reader reads the payload.
    package static let records = EventMarker { (block, rows) in
        for index in rows.indices {
            let payload = block.extracting(rows[index].payloadRange)
            guard case .live(let bodyOffset)? = try? RecordEvent.start(of: payload),
                RecordBody.isFramed(payload, from: bodyOffset),
                !RecordBody.isShare(payload, from: bodyOffset)
            else { continue }
            rows[index].mark = UInt32(truncatingIfNeeded: bodyOffset)
        }
    }
}

extension AudienceEvent {
    /// Returns true if an event of a block is of this kind.
    package static func isOne(_ row: EventRow, in block: [UInt8]) -> Bool {
        isOne(block.span.bytes.extracting(row.payloadRange))
    }
}
