// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The events of one block that a read wants, by ascending position.
///
/// Readers of many events take them by the block: a call and a reference for each event would cost
/// more than the rest of the read.
package struct EventRun: Sendable {
    /// The raw bytes of the block that holds the events.
    ///
    /// Keeping a run keeps them.
    package internal(set) var block: [UInt8]
    /// The events; at least one in a run that a reader gets.
    package internal(set) var rows: [EventRow]

    /// Returns an event.
    package func event(at index: Int) -> LogEvent {
        let row = rows[index]
        return LogEvent(
            sequence: row.sequence,
            zone: row.zone,
            commit: row.commit,
            block: block,
            payload: row.payloadRange,
            envelope: Int(row.envelopeStart)..<Int(row.envelopeEnd)
        )
    }
}

/// One event as ranges of the bytes of its block.
package struct EventRow: Sendable {
    /// The event's position.
    package let sequence: SequenceNumber
    /// The key of its zone; 0 for events of the store itself.
    package let zone: ZoneKey
    /// The commit that holds it.
    package let commit: LogCommit
    /// The range of the payload in the block.
    package let payloadRange: Range<Int>
    // In 32 bits, because only few readers need the envelope and rows are copied.
    fileprivate let envelopeStart: UInt32
    fileprivate let envelopeEnd: UInt32

    @inline(__always)
    init(
        _ sequence: SequenceNumber,
        _ zone: ZoneKey,
        _ commit: LogCommit,
        payload: Range<Int>,
        envelope: Range<Int>
    ) {
        self.sequence = sequence
        self.zone = zone
        self.commit = commit
        payloadRange = payload
        envelopeStart = UInt32(truncatingIfNeeded: envelope.lowerBound)
        envelopeEnd = UInt32(truncatingIfNeeded: envelope.upperBound)
    }
}

extension EventRun {
    /// A run of one event.
    init(_ event: LogEvent) {
        block = event.block
        rows = [
            EventRow(
                event.sequence,
                event.zone,
                event.commit,
                payload: event.payloadRange,
                envelope: event.envelopeRange
            )
        ]
    }
}
