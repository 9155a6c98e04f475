// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkLog
package import TidemarkModel

/// A record's event as it lies in the log: its place, what it says beside the body, and the body or
/// tombstone.
package struct StoredRecord: Sendable {
    /// Position of the event.
    package var sequence: SequenceNumber
    /// The key of the record's zone.
    package var zone: ZoneKey
    /// The event's payload, shared with the log's block.
    package var payload: ArraySlice<UInt8>
    /// What stands before the body or the tombstone.
    package var event: RecordEvent
    /// Where the body or the tombstone begins in the payload.
    package var bodyOffset: Int

    /// Reads a payload.
    package init(
        _ sequence: SequenceNumber,
        zone: ZoneKey,
        _ payload: ArraySlice<UInt8>
    ) throws(EventFormatError) {
        self.sequence = sequence
        self.zone = zone
        self.payload = payload
        (event, bodyOffset) = try RecordEvent.read(payload.span.bytes)
    }

    /// The record's body; only if the event saved it.
    package func body() throws(EventFormatError) -> RecordBody {
        do throws(BodyError) {
            return try RecordBody(stored: payload[(payload.startIndex + bodyOffset)...])
        } catch {
            throw EventFormatError("Event \(sequence) holds a body that is damaged: \(error).")
        }
    }

    /// The body, which `body()` has read before.
    package var bodyReadBefore: RecordBody {
        RecordBody(sound: payload[(payload.startIndex + bodyOffset)...])
    }

    /// Whether the event is about a record of a name.
    ///
    /// O(name).
    package func hasName(_ name: Name) throws(EventFormatError) -> Bool {
        let span = payload.span.bytes
        let range = try RecordEvent.nameRange(
            in: span,
            state: event.state,
            bodyOffset: bodyOffset
        )
        return name.hasBytes(span.extracting(range))
    }

    /// The name and type of a tombstone.
    package func tombstone() throws(EventFormatError) -> (name: String, type: String) {
        try RecordEvent.tombstone(in: payload.span.bytes, bodyOffset: bodyOffset)
    }
}
