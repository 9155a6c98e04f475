// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog

/// An event of a record for compaction: its zone and audience, and the events that it replaces
/// there.
///
/// In its zone and in its audience, a record has a chain of events, from new to old.
struct ChainedEvent {
    /// The record's event before this one in its zone, zero for its first; `nil` if this one is
    /// none of the zone's.
    var previous: SequenceNumber?
    /// The audience that contains the event.
    var audience: AudiencePlace?
    /// True if the event removes the record.
    var isTombstone: Bool

    /// Reads an event; `nil` if it is not about a record.
    init?(_ event: LogEvent) throws(EventFormatError) {
        let bytes = event.payload
        let payload = bytes.span.bytes
        switch EventKind(of: payload) {
        case .recordSaved, .recordDeleted, .recordTouched:
            let (record, _) = try RecordEvent.read(payload)
            previous = record.previous
            audience = record.audience
            isTombstone = record.state == .tombstone
        case .audienceEntered, .audienceLeft:
            let moved = try AudienceEvent(payload)
            audience = moved.place
            isTombstone = moved.state == .tombstone
        default:
            return nil
        }
    }
}
