// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The events of one block that a read wants, by ascending position.
///
/// Readers of many events take them by the block: a call and a reference for each event would cost
/// more than the rest of the read.
@usableFromInline
package struct EventRun: Sendable {
    /// The raw bytes of the block that holds the events.
    ///
    /// Keeping a run keeps them.
    package internal(set) var block: [UInt8]
    /// The first position of the block.
    @usableFromInline var first: SequenceNumber
    /// The commits and zones of the events, each once for its neighbours.
    package internal(set) var contexts: [EventContext]
    /// The events; at least one in a run that a reader gets.
    package internal(set) var rows: [EventRow]

    /// Creates a run without events.
    init() {
        block = []
        first = .zero
        contexts = []
        rows = []
    }

    /// Creates a run of one event.
    init(_ event: LogEvent) {
        block = event.block
        first = event.sequence
        contexts = [
            EventContext(commit: event.commit, zone: event.zone, envelope: event.envelopeRange)
        ]
        rows = [EventRow(position: 0, payload: event.payloadRange, context: 0)]
    }

    /// Returns the position of an event.
    @inlinable @inline(__always)
    package func sequence(of row: EventRow) -> SequenceNumber {
        SequenceNumber(rawValue: first.rawValue &+ UInt64(row.position))
    }

    /// Returns the earlier position that an event is marked with; `nil` without such a mark.
    @inlinable @inline(__always)
    package func markedSequence(of row: EventRow) -> SequenceNumber? {
        guard row.mark >= EventRow.distanceFlag else { return nil }
        let distance = UInt64(row.mark & ~EventRow.distanceFlag)
        return SequenceNumber(rawValue: sequence(of: row).rawValue &- distance)
    }

    /// Prefetches the payload of an event, which is about to be read, at most 1 KiB.
    package func prefetchPayload(of row: EventRow) { block.prefetch(row.payloadRange) }

    /// Returns an event.
    package func event(at index: Int) -> LogEvent {
        let row = rows[index]
        let context = contexts[row.context]
        return LogEvent(
            sequence: sequence(of: row),
            zone: context.zone,
            commit: context.commit,
            block: block,
            payload: row.payloadRange,
            envelope: context.envelope
        )
    }
}

/// One event as a range of the bytes of its block.
///
/// In numbers of 32 bits, which the lengths of blocks have, because the cache keeps a row for each event.
@usableFromInline
package struct EventRow: Sendable {
    /// The event's position, counted from the first one of the block.
    @usableFromInline package let position: UInt32
    @usableFromInline let start: UInt32
    @usableFromInline let end: UInt32
    @usableFromInline let contextIndex: UInt32
    /// An offset in the payload, or an earlier position, counted back from the event's and with the
    /// highest bit set; zero without a mark.
    @usableFromInline private(set) var mark: UInt32 = 0
    @usableFromInline static let distanceFlag: UInt32 = 1 << 31

    @inline(__always)
    init(position: UInt32, payload: Range<Int>, context: Int) {
        self.position = position
        start = UInt32(truncatingIfNeeded: payload.lowerBound)
        end = UInt32(truncatingIfNeeded: payload.upperBound)
        contextIndex = UInt32(truncatingIfNeeded: context)
    }

    /// The range of the payload in the block.
    @inlinable @inline(__always)
    package var payloadRange: Range<Int> { Int(start)..<Int(end) }

    /// The range in the block of the payload from its mark on; `nil` without a mark.
    @inlinable @inline(__always)
    package var markedRange: Range<Int>? {
        // Zero wraps around, and fails the comparison too.
        mark &- 1 < Self.distanceFlag - 1 ? Int(start) + Int(mark)..<Int(end) : nil
    }

    /// Marks an offset in the payload.
    package mutating func mark(offset: Int) {
        if offset < Int(Self.distanceFlag) { mark = UInt32(offset) }
    }

    /// Marks an earlier position, counted back from the event's.
    package mutating func mark(distance: UInt64) {
        if distance < UInt64(Self.distanceFlag) { mark = UInt32(distance) | Self.distanceFlag }
    }

    /// The index of the event's context in its run.
    @inlinable @inline(__always)
    package var context: Int { Int(contextIndex) }
}

/// The commit and the zone that neighbouring events of a block have in common.
package struct EventContext: Sendable {
    /// The commit that holds the events.
    package let commit: LogCommit
    /// The key of their zone; 0 for events of the store itself.
    package let zone: ZoneKey
    /// The range of the commit's envelope in the block.
    let envelope: Range<Int>
}
