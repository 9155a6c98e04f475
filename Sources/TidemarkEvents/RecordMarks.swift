// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkLog
import TidemarkModel

extension EventMarker {
    /// Marks the bodies of live records that have sound frames and are no shares, and the versions of records
    /// that entered an audience.
    ///
    /// Without a mark, a reader reads the payload.
    package static let records = EventMarker { (block, first, rows) in
        for index in rows.indices {
            let payload = block.extracting(rows[index].payloadRange)
            if AudienceEvent.isOne(payload) {
                let sequence = first.rawValue &+ UInt64(rows[index].position)
                guard case (.live, let version)? = try? AudienceEvent.version(in: payload),
                    version.rawValue < sequence
                else { continue }
                rows[index].mark(distance: sequence - version.rawValue)
                continue
            }
            guard case .live(let bodyOffset)? = try? RecordEvent.start(of: payload),
                RecordBody.isFramed(payload, from: bodyOffset),
                !RecordBody.isShare(payload, from: bodyOffset)
            else { continue }
            rows[index].mark(offset: bodyOffset)
        }
    }
}

extension AudienceEvent {
    /// Returns true if an event of a block is of this kind.
    package static func isOne(_ row: EventRow, in block: [UInt8]) -> Bool {
        isOne(block.span.bytes.extracting(row.payloadRange))
    }
}
