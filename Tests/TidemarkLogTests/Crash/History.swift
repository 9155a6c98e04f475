// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport

@testable import TidemarkLog

/// Everything that the log knows of one event, as a plain value.
struct WrittenEvent: Hashable {
    var sequence: UInt64
    var zone: ZoneKey
    var commitFirst: UInt64
    var eventCount: Int
    var time: Int64
    var received: Int64
    var envelope: [UInt8]
    var payload: [UInt8]

    /// True if they are the same to the byte.
    ///
    /// Arrays are compared by the C library: `==` calls a generic function for each byte in a debug
    /// build.
    static func == (left: WrittenEvent, right: WrittenEvent) -> Bool {
        func areSame(_ left: [UInt8], _ right: [UInt8]) -> Bool {
            left.count == right.count && memcmp(left, right, left.count) == 0
        }
        return left.sequence == right.sequence && left.zone == right.zone
            && left.commitFirst == right.commitFirst && left.eventCount == right.eventCount
            && left.time == right.time && left.received == right.received
            && areSame(left.envelope, right.envelope) && areSame(left.payload, right.payload)
    }
}

extension WrittenEvent {
    init(_ event: LogEvent) {
        self.init(
            sequence: event.sequence.rawValue,
            zone: event.zone,
            commitFirst: event.commit.first.rawValue,
            eventCount: event.commit.eventCount,
            time: event.commit.time,
            received: event.commit.received,
            envelope: Array(event.envelope),
            payload: Array(event.payload)
        )
    }
}

extension EventSource {
    /// Every event up to the watermark, with its commit.
    func written() throws(LogError) -> [WrittenEvent] {
        var events: [WrittenEvent] = []
        try scan(from: SequenceNumber(rawValue: 1), through: durableSequence) {
            events.append(WrittenEvent($0))
            return true
        }
        return events
    }
}

extension CommitDraft {
    /// The events that the draft becomes at a position.
    func written(first: UInt64) -> [WrittenEvent] {
        var start = 0
        return events.enumerated().map { index, event in
            defer { start = event.payloadEnd }
            return WrittenEvent(
                sequence: first + UInt64(index),
                zone: event.zone(at: SequenceNumber(rawValue: first) + index),
                commitFirst: first,
                eventCount: events.count,
                time: time,
                received: received,
                envelope: envelope,
                payload: Array(payloads[start..<event.payloadEnd])
            )
        }
    }
}

/// What was appended to a store and what callers were told of it: the model that a log is
/// compared with.
struct History: Sendable {
    /// Every event that was ever appended, in order.
    var events: [WrittenEvent] = []
    /// How many events there were after each commit.
    var commitEnds: Set<Int> = [0]
    /// How many events have been acknowledged.
    var acknowledged = 0
    /// Whether somebody was told that the store exists.
    var isCreated = false
    /// Whether somebody was told that the store is closed, and nobody has opened it since.
    var isClosed = false
    /// Incarnations that were handed out, each with the last position acknowledged under it.
    var tokens: [Incarnation: SequenceNumber] = [:]
    /// What openings have discarded, and the log tells of since a commit came behind it.
    var discarded: Set<Discarded> = []
    private var lastDiscarded: Discarded?

    /// What a recovery frame tells.
    struct Discarded: Hashable {
        var byteCount: UInt64
        var offset: UInt64
    }

    mutating func append(_ draft: CommitDraft) {
        events += draft.written(first: UInt64(events.count + 1))
        commitEnds.insert(events.count)
    }

    /// Takes what an opening found for the whole truth: it can be read, so it must stay.
    private mutating func adopt(_ found: [WrittenEvent]) {
        events = found
        commitEnds = [0]
        for event in found {
            commitEnds.insert(Int(event.commitFirst) + event.eventCount - 1)
        }
        acknowledged = found.count
        isCreated = true
        isClosed = false
    }

    /// Takes over what an opening found and said.
    mutating func adopt(_ log: SegmentLog, _ report: RecoveryReport) throws(LogError) {
        adopt(try log.written())
        acknowledge(in: log)
        lastDiscarded = report.discardedAt.map {
            Discarded(byteCount: report.discardedByteCount, offset: $0.offset)
        }
    }

    mutating func acknowledge(in log: SegmentLog) {
        if let lastDiscarded, acknowledged < events.count { discarded.insert(lastDiscarded) }
        acknowledged = events.count
        tokens[log.line.current] = log.durableSequence
    }
}

/// Makes commits of random shape from a seed.
struct DraftSource {
    private var numbers: SeededGenerator
    private var time: Int64 = 1_000
    /// Whether nothing is to be made that could be compressed.
    private let isAllNoise: Bool

    init(seed: UInt64, isAllNoise: Bool = false) {
        numbers = SeededGenerator(seed: seed)
        self.isAllNoise = isAllNoise
    }

    mutating func number(in range: ClosedRange<Int>) -> Int {
        Int.random(in: range, using: &numbers)
    }

    /// A commit of so many events with payloads of such lengths: half noise, half repetition.
    mutating func draft(
        events: ClosedRange<Int> = 1...5,
        payload: ClosedRange<Int> = 0...500,
        envelope: ClosedRange<Int> = 0...60
    ) -> CommitDraft {
        time += Int64(number(in: 0...3))
        var draft = CommitDraft(
            time: time,
            received: time + Int64(number(in: -5...5)),
            envelope: bytes(number(in: envelope))
        )
        for _ in 0..<number(in: events) {
            let payload = bytes(number(in: payload))
            let number = number(in: 0...9)
            let zone =
                number == 9 ? CommitDraft.ownSequence : ZoneKey(rawValue: UInt64(number))
            draft.append(zone: zone) { $0 += payload }
        }
        return draft
    }

    private mutating func bytes(_ count: Int) -> [UInt8] {
        let isNoise = number(in: 0...1) == 0 || isAllNoise
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count + 8)
        let word = numbers.next()
        while bytes.count < count { bytes.append(integer: isNoise ? numbers.next() : word) }
        bytes.removeLast(bytes.count - count)
        return bytes
    }
}
