// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import TidemarkLock
import TidemarkLog

extension LogEnvironment {
    /// Seeded randomness and a clock that stands still.
    static func fixed(_ fileSystem: any FileSystem, seed: UInt64 = 1) -> LogEnvironment {
        let numbers = Lock(SeededGenerator(seed: seed))
        return LogEnvironment(
            fileSystem: fileSystem,
            now: { 1_700_000_000_000 },
            random: { numbers.withLock { $0.next() } }
        )
    }
}

extension CommitDraft {
    /// A commit whose events have the given zones, and payloads that name the commit and event.
    static func sample(_ number: Int, zones: [UInt64] = [1], byteCount: Int = 40) -> CommitDraft {
        var draft = CommitDraft(
            time: 1_000 + Int64(number),
            received: 2_000 + Int64(number),
            envelope: Array("user-\(number % 7)".utf8)
        )
        for (index, zone) in zones.enumerated() {
            draft.append(zone: ZoneKey(rawValue: zone)) { payload in
                let text = Array("commit \(number) event \(index) ".utf8)
                while payload.count < byteCount * (index + 1) { payload += text }
            }
        }
        return draft
    }
}

/// What a log holds, as plain values that can be compared.
struct EventLine: Hashable {
    var sequence: UInt64
    var zone: ZoneKey
    var time: Int64
    var envelope: [UInt8]
    var payload: [UInt8]
}

extension EventLine {
    init(_ event: LogEvent) {
        self.init(
            sequence: event.sequence.rawValue,
            zone: event.zone,
            time: event.commit.time,
            envelope: Array(event.envelope),
            payload: Array(event.payload)
        )
    }
}

extension EventSource {
    /// Every event up to the watermark.
    func lines() throws -> [EventLine] {
        var lines: [EventLine] = []
        try scan(from: SequenceNumber(rawValue: 1), through: durableSequence) { event in
            lines.append(EventLine(event))
            return true
        }
        return lines
    }
}
