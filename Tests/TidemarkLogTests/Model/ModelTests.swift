// Tidemark
// SPDX-License-Identifier: Apache-2.0

import SimulatedDisk
import TestSupport
import Testing

@testable import TidemarkLog

/// Random lives of a log against the plainest model there is: an array of events.
@Suite struct ModelTests {
    /// One life: the log, its model, and what may happen next.
    private struct Life {
        static let path = "/life.tide"

        var disk = SimulatedFileSystem(keepsTrace: false)
        var history = History()
        var drafts: DraftSource
        var log: SegmentLog
        let configuration: LogConfiguration
        private var openingCount: UInt64 = 1

        init(seed: UInt64) throws {
            drafts = DraftSource(seed: seed)
            var configuration = LogConfiguration()
            configuration.segmentByteCount = [900, 6 << 10, 50 << 10, 1 << 20][Int(seed) % 4]
            configuration.cacheByteCount = [0, 40_000, 16 << 20][Int(seed) % 3]
            self.configuration = configuration
            log = try Self.open(disk, configuration, seed: 0).log
            history.isCreated = true
        }

        static func open(
            _ disk: SimulatedFileSystem,
            _ configuration: LogConfiguration,
            seed: UInt64
        ) throws(LogError) -> (log: SegmentLog, report: RecoveryReport) {
            try SegmentLog.openAndSeal(
                path,
                creating: seed == 0,
                configuration: configuration,
                environment: CrashWorkload.environment(disk, seed: seed &+ 1),
                onDurable: { _ in }
            )
        }

        mutating func step() throws {
            switch drafts.number(in: 0...19) {
            case 0...11: try append(commitCount: drafts.number(in: 1...4))
            case 12: try append(commitCount: 1, events: 1...300, payload: 0...30)
            case 13: try append(commitCount: 1, events: 1...3, payload: 15_000...50_000)
            case 14: log.vouch()
            case 15: try append(commitCount: 1, events: 20...40, envelope: 3000...9000)
            case 16...17: try reopen { try $0.close() }
            default: try crash()
            }
        }

        mutating func append(
            commitCount: Int,
            events: ClosedRange<Int> = 1...8,
            payload: ClosedRange<Int> = 0...700,
            envelope: ClosedRange<Int> = 0...60
        ) throws {
            for _ in 0..<commitCount {
                let draft = drafts.draft(events: events, payload: payload, envelope: envelope)
                let first = try log.append(draft)
                #expect(first.rawValue == UInt64(history.events.count + 1))
                history.append(draft)
            }
            guard drafts.number(in: 0...3) > 0 else { return }
            try log.blockUntilDurable(log.lastSequence)
            history.acknowledge(in: log)
        }

        private mutating func reopen(_ end: (SegmentLog) throws -> Void) throws {
            try log.blockUntilDurable(log.lastSequence)
            try end(log)
            log = try Self.open(disk, configuration, seed: openingCount).log
            openingCount += 1
            #expect(try log.written() == history.events)
            history.acknowledge(in: log)
        }

        private mutating func crash() throws {
            disk = disk.crash(.seeded(UInt64(drafts.number(in: 0...1_000_000))))
            let (next, report) = try Self.open(disk, configuration, seed: openingCount)
            openingCount += 1
            log = next
            let found = try log.written()
            #expect(found.count >= history.acknowledged)
            #expect(history.commitEnds.contains(found.count))
            #expect(found == Array(history.events.prefix(found.count)))
            #expect(!report.wasClean)
            try history.adopt(log, report)
        }

        /// Compares every way to read with the model.
        mutating func compare() throws {
            try log.blockUntilDurable(log.lastSequence)
            history.acknowledge(in: log)
            let events = history.events
            try compareRanges(of: log, events)
            try comparePositions(of: log, events)
            try compareZones(events)
            let reader = try LogReader(Self.path, fileSystem: disk)
            let readable = try reader.written()
            #expect(readable == Array(events.prefix(readable.count)))
        }

        private mutating func compareRanges(
            of log: SegmentLog,
            _ events: [WrittenEvent]
        ) throws {
            for _ in 0..<8 {
                let first = drafts.number(in: 1...events.count)
                let last = drafts.number(in: 1...events.count + 3)
                let limit = drafts.number(in: 1...40)
                var found: [WrittenEvent] = []
                try log.scan(
                    from: SequenceNumber(rawValue: UInt64(first)),
                    through: SequenceNumber(rawValue: UInt64(last))
                ) {
                    found.append(WrittenEvent($0))
                    return found.count < limit
                }
                let expected =
                    first <= last ? events[first - 1..<min(last, events.count)].prefix(limit) : []
                #expect(found == Array(expected))
                let time = Int64(drafts.number(in: 990...Int(log.lastTime) + 2))
                let latest = events.last { $0.time <= time }
                let sequence = latest.map { $0.commitFirst + UInt64($0.eventCount) - 1 } ?? 0
                #expect(try log.lastSequence(atOrBefore: time).rawValue == sequence)
            }
        }

        private mutating func comparePositions(
            of log: SegmentLog,
            _ events: [WrittenEvent]
        ) throws {
            for _ in 0..<8 {
                let step = drafts.number(in: 1...max(1, events.count / 3))
                let wanted = stride(
                    from: drafts.number(in: 1...events.count),
                    through: events.count,
                    by: step
                )
                var found: [WrittenEvent] = []
                try log.read(wanted.map { SequenceNumber(rawValue: UInt64($0)) }) {
                    found.append(WrittenEvent($0))
                    return true
                }
                #expect(found == wanted.map { events[$0 - 1] })
            }
        }

        private mutating func compareZones(_ events: [WrittenEvent]) throws {
            for zone in [0, 1, 5, 8, events[drafts.number(in: 0...events.count - 1)].zone] {
                let first = UInt64(drafts.number(in: 1...events.count))
                var found: [WrittenEvent] = []
                try log.files.scan(
                    zone: zone,
                    from: SequenceNumber(rawValue: first),
                    through: log.durableSequence
                ) {
                    found.append(WrittenEvent($0))
                    return true
                }
                #expect(found == events.filter { $0.zone == zone && $0.sequence >= first })
            }
        }
    }

    @Test(arguments: 1...(runsLongTests ? 200 : 8) as ClosedRange<UInt64>)
    func `A log equals the array of appended events`(_ seed: UInt64) throws {
        var life = try Life(seed: seed)
        try life.append(commitCount: 1)
        for number in 1...60 {
            try life.step()
            if number % 20 == 0 { try life.compare() }
        }
    }

    @Test func `The size of segments does not change what is read`() throws {
        var hashes: Set<EventHash> = []
        var contents: Set<[WrittenEvent]> = []
        for byteCount in [900, 7 << 10, 100 << 10, 4 << 20] {
            let disk = SimulatedFileSystem(keepsTrace: false)
            var configuration = LogConfiguration()
            configuration.segmentByteCount = byteCount
            let (log, _) = try Life.open(disk, configuration, seed: 0)
            var drafts = DraftSource(seed: 11)
            for number in 0..<80 {
                _ = try log.append(
                    drafts.draft(payload: number % 20 == 7 ? 9_000...20_000 : 0...400)
                )
                if number % 3 == 0 { try log.blockUntilDurable(log.lastSequence) }
            }
            try log.close()
            contents.insert(try log.written())
            let verification = try LogReader(Life.path, fileSystem: disk).verify()
            #expect(verification.damage == [])
            #expect(verification.commitCount == 80)
            hashes.insert(verification.eventHash)
        }
        #expect(contents.count == 1)
        #expect(hashes.count == 1)
    }

    @Test func `An event of more than one MiB is stored completely`() throws {
        var life = try Life(seed: 4)
        try life.append(commitCount: 2)
        try life.append(commitCount: 1, events: 2...2, payload: 1_100_000...1_400_000)
        try life.append(commitCount: 2)
        try life.compare()
        #expect(life.history.events.contains { $0.payload.count > 1 << 20 })
    }
}
