// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import TidemarkLog
import TidemarkModel

@testable import Tidemark

/// Compaction that a store does by itself, and how it makes way for others.
@Suite struct BackgroundCompactionTests {
    private static func load(_ byteCount: UInt64, isCompacted: Bool) -> SegmentLoad {
        SegmentLoad(
            id: SegmentID(first: SequenceNumber(rawValue: 1)),
            last: SequenceNumber(rawValue: 2),
            byteCount: byteCount,
            isCompacted: isCompacted
        )
    }

    @Test func `Compaction is due if enough of the log was never compacted`() {
        let compaction = BackgroundCompaction()
        #expect(!compaction.isDue(for: []))
        #expect(compaction.isDue(for: [Self.load(1, isCompacted: false)]))
        #expect(!compaction.isDue(for: [Self.load(100, isCompacted: true)]))
        let old = Self.load(100, isCompacted: true)
        #expect(!compaction.isDue(for: [old, Self.load(24, isCompacted: false)]))
        #expect(compaction.isDue(for: [old, Self.load(25, isCompacted: false)]))
    }

    @Test func `Pauses follow the configured rate and are longer while others write`() {
        func rest(_ worked: Int, _ byteCount: Int, _ rate: Int?, _ isBusy: Bool) -> Duration {
            CompactionPace.rest(
                after: .milliseconds(worked),
                byteCount: byteCount,
                bytesPerSecond: rate,
                isBusy: isBusy
            )
        }
        #expect(rest(10, 1_000_000, nil, false) == .zero)
        #expect(rest(10, 1_000_000, nil, true) == .milliseconds(20))
        // A hundredth of a second's bytes take a hundredth of a second.
        #expect(rest(4, 1_000, 100_000, false) == .milliseconds(6))
        #expect(rest(4, 1_000, 100_000, true) == .milliseconds(8))
        #expect(rest(20, 1_000, 100_000, false) == .zero)
        #expect(rest(1_000, 1_000, nil, true) == CompactionPace.longestRest)
    }

    @Test func `Work that exceeds one pause is carried over to the next`() {
        func left(_ byteCount: Int, _ milliseconds: Int, _ rate: Int?) -> Int {
            CompactionPace.left(
                of: byteCount,
                after: .milliseconds(milliseconds),
                bytesPerSecond: rate
            )
        }
        #expect(left(128 << 10, 100, 50_000) == (128 << 10) - 5_000)
        #expect(left(1_000, 10, 100_000) == 0)
        // Nothing is saved up either.
        #expect(left(1_000, 500, 100_000) == 0)
        #expect(left(1_000, 0, nil) == 0)
        #expect(left(1_000, 60_000, .max) == 0)
    }

    private static func options() -> StoreOptions {
        var options = StoreOptions()
        options.segmentByteCount = 64 << 10
        var policy = CompactionPolicy()
        policy.history = .none
        var compaction = BackgroundCompaction(policy)
        compaction.bytesPerSecond = 100 << 20
        options.backgroundCompaction = compaction
        return options
    }

    /// Saves versions of a few records until a condition holds.
    private static func save(
        _ client: Client,
        until isOver: () throws -> Bool
    ) async throws -> [String: Int64] {
        var random = SeededGenerator(seed: 5)
        var records: [String: Int64] = [:]
        for number in 1...20_000 as ClosedRange<Int64> {
            if try isOver() { return records }
            let name = "r\(number % 7)"
            let noise = (0..<4_000).map { _ in UInt8.random(in: 0...255, using: &random) }
            let save = try client.save(
                name,
                ["n": .int64(number), "noise": .bytes(noise)],
                policy: .changedKeys
            )
            _ = try await client.modify([save]).saves[0].get()
            records[name] = number
        }
        Issue.record("it never came to that")
        return records
    }

    @Test func `A store compacts its log while it is written`() async throws {
        let folder = try ScratchFolder()
        let store = try Store.open(at: folder.path(), access: .creating, options: Self.options())
        let client = Client(store: store)
        try await client.createZone()
        // The first may come when nothing was replaced yet, and then writes its segment shorter alone.
        var outcome: Result<CompactionReport, SyncError>?
        let records = try await Self.save(client) {
            outcome = try store.lastCompaction
            return try outcome?.get().droppedCount ?? 0 > 0
        }
        let report = try #require(outcome).get()
        #expect(report.newByteCount < report.oldByteCount)
        var found: [String: Int64] = [:]
        for case .changed(let record) in try await client.changes().changes {
            if case .int64(let number) = record["n"] {
                found[record.recordID.recordName] = number
            }
        }
        #expect(found == records)
        try store.close()
        let reader = try LogReader(folder.path(), fileSystem: PosixFileSystem())
        #expect(try reader.verify().damage == [])
    }

    @Test func `A compaction that is already running is not a failure`() async throws {
        let folder = try ScratchFolder()
        let store = try Store.open(at: folder.path(), access: .creating, options: Self.options())
        defer { try? store.close() }
        let upkeep = try store.parts.upkeep
        let log = try upkeep.writer().log
        let compactor = try #require(upkeep.compactor)
        // As if a call of `compact` were under way.
        #expect(upkeep.compacting.withLock { $0.begin() })
        let client = Client(store: store)
        try await client.createZone()
        _ = try await Self.save(client) { log.segmentLoads().count > 2 }
        await compactor.work()
        #expect(try store.lastCompaction == nil)
        upkeep.compacting.withLock { $0.end() }
        // A segment that is finished late may begin one at the same time.
        for _ in 0..<10_000 where try store.lastCompaction == nil {
            await compactor.work()
            try await Task.sleep(for: .milliseconds(5))
        }
        _ = compactor.wakeup.endWork()
        #expect(try store.lastCompaction?.get() != nil)
    }

    @Test func `A store can be closed and reopened during a background compaction`() async throws {
        let folder = try ScratchFolder()
        var records: [String: Int64] = [:]
        var options = Self.options()
        // So slow that it is always under way.
        options.backgroundCompaction?.bytesPerSecond = 50_000
        for round in 0..<5 {
            let store = try Store.open(at: folder.path(), access: .creating, options: options)
            let client = Client(store: store)
            if round == 0 { try await client.createZone() }
            var count = 0
            let saved = try await Self.save(client) {
                count += 1
                return count > 300
            }
            records.merge(saved) { $1 }
            try store.close()
        }
        let store = try Store.open(at: folder.path())
        var found: [String: Int64] = [:]
        for case .changed(let record) in try await Client(store: store).changes().changes {
            if case .int64(let number) = record["n"] {
                found[record.recordID.recordName] = number
            }
        }
        #expect(found == records)
        try store.close()
    }
}
