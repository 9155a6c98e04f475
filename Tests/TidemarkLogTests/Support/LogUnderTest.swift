// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TidemarkLog

/// A folder that is removed when the test lets go of it.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        let url = FileManager.default.temporaryDirectory
            .appendingPathComponent("tidemark-log-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        path = url.path
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }
}

/// Numbers that look random and are the same in every run.
final class SeededNumbers: Sendable {
    private let state: Atomic<UInt64>

    init(_ seed: UInt64) {
        state = Atomic(seed)
    }

    func next() -> UInt64 {
        var z = state.wrappingAdd(0x9E37_79B9_7F4A_7C15, ordering: .relaxed).newValue
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}

extension LogEnvironment {
    /// Seeded randomness and a clock that stands still.
    static func fixed(_ fileSystem: any FileSystem, seed: UInt64 = 1) -> LogEnvironment {
        let numbers = SeededNumbers(seed)
        return LogEnvironment(
            fileSystem: fileSystem,
            now: { 1_700_000_000_000 },
            random: { numbers.next() }
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
            draft.append(zone: zone) { payload in
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
    var zone: UInt64
    var time: Int64
    var envelope: [UInt8]
    var payload: [UInt8]
}

extension EventSource {
    /// Every event up to the watermark.
    func lines() throws -> [EventLine] {
        var lines: [EventLine] = []
        try scan(from: SequenceNumber(rawValue: 1), through: durableSequence) { event in
            lines.append(
                EventLine(
                    sequence: event.sequence.rawValue,
                    zone: event.zone,
                    time: event.commit.time,
                    envelope: Array(event.envelope),
                    payload: Array(event.payload)
                )
            )
            return true
        }
        return lines
    }
}
