// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkLog
package import TidemarkModel

/// A record's event in the log: its position, its header, and the body or tombstone.
package struct StoredRecord: Sendable {
    /// The position of the event.
    package var sequence: SequenceNumber
    /// The key of the record's zone.
    package var zone: ZoneKey
    /// The event's payload, shared with the log's block.
    package var payload: ArraySlice<UInt8>
    /// The header of the event.
    package var event: RecordEvent
    /// The offset of the body or the tombstone in the payload.
    package var bodyOffset: Int

    /// Reads a payload.
    package init(
        _ sequence: SequenceNumber,
        zone: ZoneKey,
        _ payload: ArraySlice<UInt8>
    ) throws(EventFormatError) {
        // The body is not read here: many callers need only the header.
        let (event, bodyOffset) = try RecordEvent.read(payload.span.bytes)
        self.sequence = sequence
        self.zone = zone
        self.payload = payload
        self.event = event
        self.bodyOffset = bodyOffset
    }

    /// Returns the record's body; only if the event saved it.
    package func body() throws(EventFormatError) -> RecordBody {
        do throws(BodyError) {
            return try RecordBody(stored: payload[(payload.startIndex + bodyOffset)...])
        } catch {
            throw EventFormatError("Event \(sequence) holds a body that is damaged: \(error).")
        }
    }

    /// Returns true if the event is about a record with a name.
    ///
    /// O(name).
    package func hasName(_ name: Name) throws(EventFormatError) -> Bool {
        let span = payload.span.bytes
        let range = try RecordEvent.nameRange(
            in: span,
            state: event.state,
            bodyOffset: bodyOffset
        )
        // As bytes, never by Unicode equivalence (`Docs/formats/events.md`).
        return name.hasBytes(span.extracting(range))
    }

    /// Returns the name and type of a tombstone.
    package func tombstone() throws(EventFormatError) -> (name: String, type: String) {
        try RecordEvent.tombstone(in: payload.span.bytes, bodyOffset: bodyOffset)
    }
}
