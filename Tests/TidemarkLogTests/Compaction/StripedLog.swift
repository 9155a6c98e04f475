// Tidemark
// SPDX-License-Identifier: Apache-2.0

import SimulatedDisk
import Testing

@testable import TidemarkLog

/// A log whose commits go to many zones in turns, long enough to be grouped by zone, and what it is
/// compared with.
struct StripedLog {
    let disk: SimulatedFileSystem
    let log: SegmentLog
    /// The last position in finished segments.
    let last: SequenceNumber
    /// What was appended.
    let events: [WrittenEvent]

    /// How zones follow one another.
    enum Interleaving: CaseIterable {
        /// One commit each.
        case turns
        /// Any zone, in any commit.
        case random
        /// Long stretches of one.
        case stretches
        /// One has almost everything.
        case lopsided
        /// More zones than events in any of them.
        case scattered
    }

    static func configuration(cacheByteCount: Int = 0) -> LogConfiguration {
        var configuration = LogConfiguration()
        configuration.segmentByteCount = 32 << 20
        configuration.cacheByteCount = cacheByteCount
        return configuration
    }

    static func open(
        _ disk: SimulatedFileSystem,
        seed: UInt64 = 1,
        cacheByteCount: Int = 0
    ) throws(LogError) -> SegmentLog {
        try SegmentLog.openAndSeal(
            CrashWorkload.path,
            creating: true,
            configuration: configuration(cacheByteCount: cacheByteCount),
            environment: CrashWorkload.environment(disk, seed: seed),
            onDurable: { _ in }
        ).log
    }

    init(
        _ interleaving: Interleaving,
        zoneCount: Int = 40,
        commitCount: Int = 800,
        eventCount: ClosedRange<Int>? = nil,
        payload: ClosedRange<Int> = 0...300,
        seed: UInt64 = 1
    ) throws {
        disk = SimulatedFileSystem(keepsTrace: false)
        log = try Self.open(disk, seed: seed)
        var drafts = DraftSource(seed: seed)
        for number in 0..<commitCount {
            // One in eleven has several, unless it is said how many each has.
            let eventCount = eventCount ?? (number % 11 == 0 ? 1...30 : nil)
            var draft = CommitDraft(
                time: 1_000 + Int64(number / 3),
                received: 2_000 + Int64(number),
                envelope: Array("user-\(number % 5), request \(number)".utf8)
            )
            for event in 0..<(eventCount.map { drafts.number(in: $0) } ?? 1) {
                let zone =
                    switch interleaving {
                    case .turns: number % zoneCount
                    case .random: drafts.number(in: 0...zoneCount - 1)
                    case .stretches: number * 5 / commitCount
                    case .lopsided: drafts.number(in: 0...30) == 0 ? event % zoneCount : 3
                    case .scattered: number * 31 + event
                    }
                Self.append(event, to: zone, drafts.number(in: payload), &draft, &drafts)
            }
            _ = try log.append(draft)
            if number % 7 == 0 { try log.blockUntilDurable(log.lastSequence) }
        }
        last = log.lastSequence
        try log.commit(drafts.draft(events: 1...1), beginsSegment: true)
        events = try log.written()
    }

    private static func append(
        _ event: Int,
        to zone: Int,
        _ byteCount: Int,
        _ draft: inout CommitDraft,
        _ drafts: inout DraftSource
    ) {
        draft.append(zone: ZoneKey(rawValue: UInt64(zone))) { payload in
            // Each zone has two hundred words of its own, in no order.
            while payload.count < byteCount {
                let word = UInt64(zone * 200 + drafts.number(in: 0...199) + 1)
                payload += Array(String(word &* 0x9E37_79B9_7F4A_7C15, radix: 36).utf8)
            }
            payload += [UInt8(truncatingIfNeeded: event)]
        }
    }

    /// Writes the finished segments anew, by the fate of each event.
    func compact(_ fate: (LogEvent) -> EventFate = { _ in .kept }) throws(LogError) {
        try log.rewriteFinished(through: last, fate: fate)
    }

    /// The reader of the segment that compaction has written.
    func compacted() throws -> SegmentReader {
        let segment = try #require(log.files.segments.first { $0.id.generation > 0 })
        return try #require(try log.files.reader(of: segment))
    }

    /// The bytes of the finished segments.
    func byteCount() throws -> UInt64 {
        try log.finishedSegments(through: last).reduce(0) { $0 + $1.byteCount }
    }
}
