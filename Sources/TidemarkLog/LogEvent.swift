// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// One event as it lies in the log, with the commit it belongs to.
///
/// Its bytes are a part of a decoded block, shared and not copied: keep an event only as long as
/// you would keep 16 KiB. It refers to the block once, since millions of events are handed on.
package struct LogEvent: Sendable {
    /// The event's position.
    package internal(set) var sequence: SequenceNumber
    /// The key of its zone; 0 for events of the store itself.
    package internal(set) var zone: ZoneKey
    /// The commit that holds it.
    package internal(set) var commit: LogCommit
    /// The raw bytes of the block that holds it.
    package let block: [UInt8]
    /// Where in the block its payload lies: for those who read millions of them.
    package internal(set) var payloadRange: Range<Int>
    var envelopeRange: Range<Int>

    /// An event at two ranges of a block, which must lie within it.
    @inline(__always)
    init(
        sequence: SequenceNumber,
        zone: ZoneKey,
        commit: LogCommit,
        block: [UInt8],
        payload: Range<Int>,
        envelope: Range<Int>
    ) {
        self.sequence = sequence
        self.zone = zone
        self.commit = commit
        self.block = block
        payloadRange = payload
        envelopeRange = envelope
    }

    /// What happened, opaque to the log.
    @inline(__always)
    package var payload: ArraySlice<UInt8> { block[payloadRange] }

    /// Who did it, from where, and for which request: the envelope of its commit, opaque to the
    /// log.
    @inline(__always)
    package var envelope: ArraySlice<UInt8> { block[envelopeRange] }
}

/// What the log knows of one commit.
package struct LogCommit: Sendable {
    /// Position of its first event.
    package let first: SequenceNumber
    /// How many events it has.
    package let eventCount: Int
    /// The claimed time, made monotone; milliseconds since 1970.
    package let time: Int64
    /// Our own clock's reading; milliseconds since 1970.
    package let received: Int64

    package init(first: SequenceNumber, eventCount: Int, time: Int64, received: Int64) {
        self.first = first
        self.eventCount = eventCount
        self.time = time
        self.received = received
    }

    /// Position of its last event.
    package var last: SequenceNumber {
        first + (eventCount - 1)
    }
}
