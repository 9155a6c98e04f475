// Tidemark
// SPDX-License-Identifier: Apache-2.0

import SimulatedDisk
import Testing

@testable import TidemarkLog

/// A store as the first version of the format wrote it, whose finished segments were compacted: with
/// events that were dropped, one by one and whole commits, and others that were replaced.
@Suite(.serialized) struct GoldenCompactionTests {
    private static let golden = GoldenStore(name: "compacted", write: write)

    private static func fate(_ event: LogEvent) -> EventFate {
        if event.commit.first.rawValue % 5 == 0 { return .dropped }
        return switch event.sequence.rawValue % 4 {
        case 1: .dropped
        case 2: .replaced(Array("note".utf8))
        default: .kept
        }
    }

    private static func write() throws -> SimulatedFileSystem {
        let disk = SimulatedFileSystem()
        let (log, _) = try GoldenStoreTests.open(disk, seed: 1)
        for number in 0..<17 { try log.commit(GoldenStoreTests.draft(number)) }
        let last = log.lastSequence
        for number in 17..<22 {
            try log.commit(GoldenStoreTests.draft(number), beginsSegment: number == 17)
        }
        try log.rewriteFinished(through: last, fate: fate)
        _ = try log.removeReplacedSegments()
        try log.close()
        return disk
    }

    @Test func `A compacted store of version 1 is read`() throws {
        #expect(try GoldenStore.dump(Self.golden.fixture()) == Self.golden.dump())
    }

    @Test func `A compacted store of version 1 can be compacted again and continued`() throws {
        let disk = try Self.golden.fixture()
        let before = try LogReader(GoldenStore.path, fileSystem: disk).written()
        let (log, report) = try GoldenStoreTests.open(disk, seed: 3)
        #expect(report.wasClean)
        let compacted = log.compactedThrough
        #expect(compacted > .zero)
        #expect(UInt64(before.count) < log.lastSequence.rawValue)
        try log.commit(GoldenStoreTests.draft(22), beginsSegment: true)
        let first = log.lastSequence.rawValue - UInt64(GoldenStoreTests.draft(22).events.count) + 1
        let last = SequenceNumber(rawValue: first - 1)
        func fate(_ event: LogEvent) -> EventFate { event.sequence <= compacted ? .dropped : .kept }
        try log.compact(through: last, fate: fate)
        try log.close()
        let after = try LogReader(GoldenStore.path, fileSystem: disk)
        #expect(
            try after.written()
                == before.filter { $0.sequence > compacted.rawValue }
                + GoldenStoreTests.draft(22).written(first: first)
        )
        #expect(try after.verify().damage == [])
    }

    @Test func `The current compactor writes the same files`() throws {
        #expect(try Self.golden.filesThatDiffer() == [])
    }
}
