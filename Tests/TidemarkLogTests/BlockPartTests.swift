// Tidemark
// SPDX-License-Identifier: Apache-2.0

import SimulatedDisk
import TestSupport
import Testing

@testable import TidemarkLog

@Suite struct BlockPartTests {
    /// The blocks of a rewritten segment, which have several commits of two zones, and gaps.
    private func withBlocks(_ body: (SegmentReader, [BlockEntry]) throws -> Void) throws {
        var configuration = LogConfiguration()
        configuration.cacheByteCount = 0
        let log = try SegmentLog.openAndSeal(
            "/parts.tide",
            creating: true,
            configuration: configuration,
            environment: .fixed(SimulatedFileSystem(keepsTrace: false)),
            onDurable: { _ in }
        ).log
        for number in 0..<60 {
            let envelope = Array("commit \(number) with a long envelope of its own".utf8)
            var draft = CommitDraft(time: Int64(number), received: 1, envelope: envelope)
            for (index, zone) in ([1, 1, 2, 1, 2, 2, 2] as [UInt64]).enumerated() {
                draft.append(zone: ZoneKey(rawValue: zone)) {
                    $0 += Array("event \(index) of \(number)".utf8)
                }
            }
            try log.commit(draft)
        }
        try log.commit(.sample(60), beginsSegment: true)
        try log.rewriteFinished(through: log.lastSequence) { event in
            event.sequence.rawValue % 5 == 2 || 100..<130 ~= event.sequence.rawValue
                ? .dropped : .kept
        }
        let segment = try #require(log.files.segments.first)
        let reader = try #require(try log.files.reader(of: segment))
        let entries = reader.entries(from: 0, count: 100).filter { !$0.isMap }
        try #require(entries.contains { $0.positionCount > 20 })
        try body(reader, entries)
        try log.close()
    }

    private func run(
        _ block: DecodedBlock,
        at wanted: ClosedRange<SequenceNumber>
    ) throws(BlockCursor.Malformed) -> EventRun {
        let positions = (wanted.lowerBound.rawValue...wanted.upperBound.rawValue)
            .map(SequenceNumber.init(rawValue:))
        var run = EventRun()
        try block.find(positions[...], stopsAtMiss: false, into: &run)
        return run
    }

    private func lines(_ run: EventRun) -> [EventLine] {
        run.rows.indices.map { EventLine(run.event(at: $0)) }
    }

    @Test func `A part has the same events as its block, or ends at a defect`() throws {
        var numbers = SeededGenerator(seed: 1)
        var shortCount = 0
        try withBlocks { reader, entries in
            for entry in entries {
                let whole = try reader.decode(entry)
                for _ in 0..<200 {
                    let first = UInt64.random(
                        in: entry.first.rawValue...entry.last.rawValue,
                        using: &numbers
                    )
                    let last = UInt64.random(in: first...entry.last.rawValue, using: &numbers)
                    let wanted =
                        SequenceNumber(rawValue: first)...SequenceNumber(rawValue: last)
                    let expected = try run(whole, at: wanted)
                    let count =
                        Bool.random(using: &numbers)
                        ? .max : Int.random(in: 0...Int(entry.rawByteCount), using: &numbers)
                    let part = try reader.events(at: wanted, inFirst: count, of: entry)
                    #expect(!part.isWhole)
                    do throws(BlockCursor.Malformed) {
                        let found = try run(part, at: wanted)
                        #expect(lines(found) == lines(expected))
                        // Each payload and each envelope once, and nothing else.
                        let byteCount =
                            lines(expected).reduce(0) { $0 + $1.payload.count }
                            + Set(lines(expected).map(\.envelope)).reduce(0) { $0 + $1.count }
                        #expect(part.bytes.count == byteCount)
                    } catch {
                        shortCount += 1
                        let end = expected.rows.last?.payloadRange.upperBound ?? .max
                        #expect(count < min(end, Int(entry.rawByteCount)))
                    }
                }
            }
        }
        #expect(shortCount > 50)
    }

    @Test func `Stored bytes of a part are checked like those of its block`() throws {
        try withBlocks { reader, entries in
            let entry = try #require(entries.last)
            var wrong = entry
            wrong.checksum ^= 1
            let error = #expect(throws: LogError.self) {
                try reader.events(at: entry.first...entry.first, inFirst: 100, of: wrong)
            }
            #expect(error?.code == .corrupted)
        }
    }
}
