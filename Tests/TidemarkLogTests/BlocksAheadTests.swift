// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SimulatedDisk
import TestSupport
import Testing

@testable import TidemarkLog

@Suite struct BlocksAheadTests {
    /// A log of a hundred blocks of a commit each.
    private func makeLog(
        on disk: SimulatedFileSystem = SimulatedFileSystem(keepsTrace: false),
        cacheByteCount: Int
    ) throws -> SegmentLog {
        var configuration = LogConfiguration()
        configuration.cacheByteCount = cacheByteCount
        let log = try SegmentLog.openAndSeal(
            "/long.tide",
            creating: true,
            configuration: configuration,
            environment: .fixed(disk),
            onDurable: { _ in }
        ).log
        let zones = Array(repeating: [1, 2] as [UInt64], count: 10).flatMap(\.self)
        for number in 0..<100 {
            _ = try log.append(.sample(number, zones: zones, byteCount: 60))
            // Otherwise frames, and so blocks, would be as long as the writer is slow.
            try log.blockUntilDurable(log.lastSequence)
        }
        return log
    }

    @Test(arguments: [0, 64 << 20])
    func `A long read stops at any event, beside others`(cacheByteCount: Int) async throws {
        let log = try makeLog(cacheByteCount: cacheByteCount)
        let sequences = try log.lines().map(\.sequence)
        let all = sequences.map { SequenceNumber(rawValue: $0) }
        try #require(sequences.count == 2_000)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for reader in 0..<4 {
                group.addTask {
                    var numbers = SeededGenerator(seed: UInt64(reader))
                    for _ in 0..<20 {
                        let count = Int.random(in: 1...all.count, using: &numbers)
                        var found: [UInt64] = []
                        try log.read(all) { event in
                            found.append(event.sequence.rawValue)
                            return found.count < count
                        }
                        #expect(found == Array(sequences.prefix(count)))
                        found = []
                        try log.scan(from: all[0], through: log.durableSequence) { event in
                            found.append(event.sequence.rawValue)
                            return found.count < count
                        }
                        #expect(found == Array(sequences.prefix(count)))
                    }
                }
            }
            try await group.waitForAll()
        }
        try log.close()
    }

    @Test func `A long read leaves the blocks of short ones in the cache`() throws {
        let log = try makeLog(cacheByteCount: 256 << 10)
        log.backgroundWork.wait()
        let segment = try #require(log.files.segments.first)
        let reader = try #require(try log.files.reader(of: segment))
        try #require(reader.blockCount > 8)
        let short = reader.entries(0..<8)
        for entry in short { try log.read([entry.first]) { _ in true } }
        let all = (1...log.lastSequence.rawValue).map(SequenceNumber.init(rawValue:))
        try log.read(all) { _ in true }
        let kept = short.filter { entry in
            let key = BlockCache.Key(segment: reader.id, offset: entry.offset)
            return log.files.cache.block(key) != nil
        }
        // The end of the read may have few blocks, which then take the place of some. If it were read
        // like a short one throughout, none would be left.
        #expect(!kept.isEmpty)
        try log.close()
    }

    @Test func `A block that cannot be read ends a read before its events, and not earlier`()
        throws
    {
        let disk = SimulatedFileSystem(keepsTrace: false)
        let log = try makeLog(on: disk, cacheByteCount: 0)
        log.backgroundWork.wait()
        let segment = try #require(log.files.segments.first)
        let reader = try #require(try log.files.reader(of: segment))
        // Decoded ahead with those before it.
        let entry = try #require(reader.entry(at: 30))
        let range = Int(entry.offset)..<Int(entry.offset) + Int(entry.storedByteCount)
        try disk.failReads(of: log.folder.segment(segment.id), in: range, with: EIO)
        let all = (1...log.lastSequence.rawValue).map(SequenceNumber.init(rawValue:))
        let before = all.prefix { $0 < entry.first }
        var found: [SequenceNumber] = []
        let error = #expect(throws: LogError.self) {
            try log.read(all) { event in
                found.append(event.sequence)
                return true
            }
        }
        #expect(error?.code == .unreadable)
        #expect(found[...] == before)
        found = []
        try log.read(all) { event in
            found.append(event.sequence)
            return found.count < before.count
        }
        #expect(found[...] == before)
        disk.clearFaults()
        try log.close()
    }
}
