// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// One event in the log, with its commit.
///
/// The event shares the bytes of a decoded block: keeping an event keeps 16 or 32 KiB. It has only one
/// reference to the block, since millions of events are passed on.
package struct LogEvent: Sendable {
    /// The event's position.
    package internal(set) var sequence: SequenceNumber
    /// The key of its zone; 0 for events of the store itself.
    package internal(set) var zone: ZoneKey
    /// The commit that holds it.
    package internal(set) var commit: LogCommit
    /// The raw bytes of the block that holds it.
    package let block: [UInt8]
    /// The range of the payload in the block, for fast access to millions of events.
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

    /// The content of the event, opaque to the log.
    @inline(__always)
    package var payload: ArraySlice<UInt8> { block[payloadRange] }

    /// The envelope of the event's commit: user, device and request; opaque to the log.
    @inline(__always)
    package var envelope: ArraySlice<UInt8> { block[envelopeRange] }
}

/// The log's information about one commit.
package struct LogCommit: Sendable {
    /// The position of the commit's first event.
    package let first: SequenceNumber
    /// The number of events in the commit.
    package let eventCount: Int
    /// The claimed time, made monotonic; milliseconds since 1970.
    package let time: Int64
    /// The time by this machine's clock, in milliseconds since 1970.
    package let received: Int64

    package init(first: SequenceNumber, eventCount: Int, time: Int64, received: Int64) {
        self.first = first
        self.eventCount = eventCount
        self.time = time
        self.received = received
    }

    /// The position of the commit's last event.
    package var last: SequenceNumber {
        first + (eventCount - 1)
    }
}
