// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SimulatedDisk
import Synchronization
import TestSupport
import Testing

@testable import TidemarkLog

@Suite struct BlocksAheadTests {
    /// A log without events.
    private func openLog(
        on disk: SimulatedFileSystem = SimulatedFileSystem(keepsTrace: false),
        cacheByteCount: Int,
        segmentByteCount: Int = 64 << 20
    ) throws -> SegmentLog {
        var configuration = LogConfiguration()
        configuration.cacheByteCount = cacheByteCount
        configuration.segmentByteCount = segmentByteCount
        return try SegmentLog.openAndSeal(
            "/long.tide",
            creating: true,
            configuration: configuration,
            environment: .fixed(disk),
            onDurable: { _ in }
        ).log
    }

    /// A log of a hundred blocks of a commit each.
    private func makeLog(
        on disk: SimulatedFileSystem = SimulatedFileSystem(keepsTrace: false),
        cacheByteCount: Int,
        segmentByteCount: Int = 64 << 20
    ) throws -> SegmentLog {
        let log = try openLog(
            on: disk,
            cacheByteCount: cacheByteCount,
            segmentByteCount: segmentByteCount
        )
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

    @Test func `A long read goes around a full cache behind its first page`() throws {
        let log = try makeLog(cacheByteCount: 64 << 10)
        log.backgroundWork.wait()
        let segment = try #require(log.files.segments.first)
        let reader = try #require(try log.files.reader(of: segment))
        try #require(reader.blockCount >= 100)
        let entries = reader.entries(0..<100)
        for entry in entries[40...] { try log.read([entry.first]) { _ in true } }
        func isKept(_ entry: BlockEntry) -> Bool {
            let key = BlockCache.Key(segment: reader.id, offset: entry.offset)
            return log.files.cache.block(key) != nil
        }
        // Otherwise the cache is not full.
        try #require(entries[40...].contains { !isKept($0) })
        let all = (1...log.lastSequence.rawValue).map(SequenceNumber.init(rawValue:))
        try log.read(all.filter { $0 < entries[15].first }) { _ in true }
        let kept = entries[..<15].filter(isKept)
        #expect(!kept.isEmpty)
        try log.read(all.filter { $0 >= entries[15].first && $0 < entries[30].first }) { _ in true }
        #expect(entries[..<15].filter(isKept) == kept)
        #expect(entries[15..<30].filter(isKept) == [])
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

    @Test(arguments: [0, 64 << 20])
    func `Pages of a long read have all events, also those that are read again`(
        cacheByteCount: Int
    ) async throws {
        let log = try makeLog(cacheByteCount: cacheByteCount)
        let all = try log.lines().map { SequenceNumber(rawValue: $0.sequence) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            // The readers take each other's place as the one whose blocks are decoded ahead.
            for reader in 0..<3 {
                group.addTask {
                    var numbers = SeededGenerator(seed: UInt64(reader))
                    var start = 0
                    for _ in 0..<40 {
                        let end = min(start + Int.random(in: 200...700, using: &numbers), all.count)
                        let page = all[start..<end]
                        var found: [SequenceNumber] = []
                        try log.read(Array(page)) { event in
                            found.append(event.sequence)
                            return true
                        }
                        #expect(found[...] == page)
                        // As a device that lost an answer, goes on, or begins again.
                        switch Int.random(in: 0..<6, using: &numbers) {
                        case 0: break
                        case 1: start = Int.random(in: 0..<all.count - 1, using: &numbers)
                        default: start = end == all.count ? 0 : end
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        try log.close()
    }

    /// One position in each of the blocks of a log of small segments.
    private func scatteredPositions(of log: SegmentLog) throws -> [SequenceNumber] {
        log.backgroundWork.wait()
        try #require(log.files.segmentCount > 5)
        return stride(from: 7, through: log.lastSequence.rawValue, by: 20)
            .map(SequenceNumber.init(rawValue:))
    }

    @Test(arguments: [0, 64 << 20])
    func `A read of scattered positions has their events, of whichever segments`(
        cacheByteCount: Int
    ) async throws {
        let log = try makeLog(cacheByteCount: cacheByteCount, segmentByteCount: 8 << 10)
        let wanted = try scatteredPositions(of: log)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for reader in 0..<4 {
                group.addTask {
                    var numbers = SeededGenerator(seed: UInt64(reader))
                    for _ in 0..<50 {
                        let start = Int.random(in: 0..<wanted.count, using: &numbers)
                        let part = wanted[start...]
                        let count = Int.random(in: 1...part.count, using: &numbers)
                        var found: [SequenceNumber] = []
                        try log.read(Array(part)) { event in
                            found.append(event.sequence)
                            return found.count < count
                        }
                        #expect(found[...] == part.prefix(count))
                    }
                }
            }
            try await group.waitForAll()
        }
        try log.close()
    }

    @Test(arguments: [0, 40 << 10])
    func `A scattered read finds each event, however far its block must be decoded`(
        cacheByteCount: Int
    ) throws {
        let log = try openLog(cacheByteCount: cacheByteCount)
        // A long event, so that the ends of events are not where their number suggests.
        let byteCounts = (0..<20).map { $0 == 5 ? 6_000 : 20 }
        for number in 0..<30 {
            var draft = CommitDraft(time: 1, received: 2, envelope: Array("commit \(number)".utf8))
            for (index, byteCount) in byteCounts.enumerated() {
                draft.append(zone: 1) { payload in
                    var numbers = SeededGenerator(seed: UInt64(number * 20 + index))
                    for _ in 0..<byteCount { payload.append(.random(in: 0..<8, using: &numbers)) }
                }
            }
            _ = try log.append(draft)
            try log.blockUntilDurable(log.lastSequence)
        }
        let lines = try log.lines()
        try #require(lines.count == 600)
        for first in 0..<20 {
            let wanted = stride(from: first, to: 600, by: 20).map { lines[$0] }
            var found: [EventLine] = []
            try log.read(wanted.map { SequenceNumber(rawValue: $0.sequence) }) { event in
                found.append(EventLine(event))
                return true
            }
            #expect(found == wanted)
        }
        let segment = try #require(log.files.segments.first)
        let reader = try #require(try log.files.reader(of: segment))
        let entry = try #require(reader.entry(at: 3))
        var block = SegmentBlock(entry, of: reader, wanted: entry.first + 4...entry.first + 4)
        block.isPart = true
        #expect(try !block.decoded(mapping: EventMarker.none).get().isWhole)
        try log.close()
    }

    @Test func `A long scattered read ends between two groups of blocks once it is cancelled`()
        throws
    {
        let log = try openLog(cacheByteCount: 16 << 20)
        for number in 0..<40 {
            var draft = CommitDraft(time: 1, received: 2, envelope: [])
            for index in 0..<1_000 {
                draft.append(zone: 1) { payload in
                    payload += Array("commit \(number) event \(index) of a thousand".utf8)
                }
            }
            _ = try log.append(draft)
            try log.blockUntilDurable(log.lastSequence)
        }
        let wanted = stride(from: 1, through: log.lastSequence.rawValue, by: 9)
            .map(SequenceNumber.init(rawValue:))
        let stepCount = Mutex(0)
        let isCancelled: @Sendable () -> Bool = {
            stepCount.withLock { count in
                count += 1
                return count > 1
            }
        }
        var found = 0
        let error = #expect(throws: LogError.self) {
            try LongWork.$watch.withValue(LongWork.Watch(isCancelled: isCancelled)) {
                try log.read(wanted) { _ in
                    found += 1
                    return true
                }
            }
        }
        #expect(error?.code == .cancelled)
        #expect(found > 0 && found < wanted.count)
        try log.close()
    }

    @Test func `A segment that cannot be opened ends a read before its events, and not earlier`()
        throws
    {
        let disk = SimulatedFileSystem(keepsTrace: false)
        let log = try makeLog(on: disk, cacheByteCount: 0, segmentByteCount: 8 << 10)
        let wanted = try scatteredPositions(of: log)
        log.closeFinishedSegments()
        let bad = try #require(log.files.segments.dropFirst(3).first).id
        try disk.failReads(of: log.folder.segment(bad), in: 0..<64, with: EIO)
        var found: [SequenceNumber] = []
        let error = #expect(throws: LogError.self) {
            try log.read(wanted) { event in
                found.append(event.sequence)
                return true
            }
        }
        #expect(error?.code == .unreadable)
        #expect(found[...] == wanted.prefix { $0 < bad.first })
        disk.clearFaults()
        try log.close()
    }

    /// The blocks of a log of a hundred.
    private func readBlocks(
        on disk: SimulatedFileSystem,
        _ body: (SegmentLog, [SegmentBlock]) throws -> Void
    ) throws {
        let log = try makeLog(on: disk, cacheByteCount: 0)
        log.backgroundWork.wait()
        let segment = try #require(log.files.segments.first)
        let reader = try #require(try log.files.reader(of: segment))
        let entries = reader.entries(from: 0, count: 100)
        try body(log, entries.map { SegmentBlock($0, of: reader) })
        try log.close()
    }

    @Test func `Blocks are decoded into the rooms that are made for them`() throws {
        try readBlocks(on: SimulatedFileSystem(keepsTrace: false)) { _, blocks in
            let entries = blocks[..<3].map(\.entry)
            try #require(entries.contains { $0.storedByteCount < $0.rawByteCount })
            let reader = blocks[0].reader
            var rooms = entries.map { BlockRoom(for: $0, isMapped: true) }
            let madeBytes = rooms.map { $0.bytes.withUnsafeBytes(\.baseAddress) }
            let madeRows = rooms.map { $0.map.rows.withUnsafeBytes(\.baseAddress) }
            let decoded = try reader.decoded(entries, mapping: EventMarker.none, into: &rooms)
                .map { try $0.get() }
            #expect(decoded.map { $0.bytes.withUnsafeBytes(\.baseAddress) } == madeBytes)
            #expect(decoded.map { $0.map?.rows.withUnsafeBytes(\.baseAddress) } == madeRows)
            for (block, known) in zip(decoded, blocks) {
                let alone = try known.decoded(mapping: EventMarker.none).get()
                #expect(block.bytes == alone.bytes)
                #expect(block.map?.rows.count == alone.map?.rows.count)
            }
            // Without rooms, they have memory of their own.
            var none = entries.map { _ in BlockRoom() }
            let again = try reader.decoded(entries, mapping: nil, into: &none).map { try $0.get() }
            #expect(again.map(\.bytes) == decoded.map(\.bytes))
            #expect(again.allSatisfy { $0.map == nil })
        }
    }

    @Test func `A block that could not be read ahead is read again when it is wanted`() throws {
        let disk = SimulatedFileSystem(keepsTrace: false)
        try readBlocks(on: disk) { log, blocks in
            let bad = blocks[8]
            let range = Int(bad.entry.offset)..<Int(bad.entry.end)
            try disk.failReads(of: log.folder.segment(bad.reader.id), in: range, with: EIO)
            let decoding = SharedDecoding(blocks, mapping: nil)
            // One read of the file gets all blocks, fails, and is followed by one for each block.
            #expect(try decoding.take(0).get().entry == blocks[0].entry)
            disk.clearFaults()
            for index in 1..<20 {
                #expect(try decoding.take(index).get().entry == blocks[index].entry)
            }
        }
    }

    @Test func `A read continues with the blocks that were decoded ahead, and with no others`()
        throws
    {
        try readBlocks(on: SimulatedFileSystem(keepsTrace: false)) { _, blocks in
            let readAhead = ReadAhead()
            let decoding = SharedDecoding(Array(blocks[..<30]), mapping: nil)
            for index in 0..<20 { _ = try decoding.take(index).get() }
            readAhead.give(decoding)
            // Only the last blocks that were taken are still there.
            #expect(readAhead.take(Array(blocks[3..<25])) == nil)
            #expect(readAhead.take([blocks[22], blocks[24]]) == nil)
            #expect(!readAhead.mayBegin())
            let taken = try #require(readAhead.take(Array(blocks[4..<40])))
            #expect(taken.decoding === decoding)
            for index in 4..<40 {
                let block = taken.decoding.take(taken.index + index - 4)
                #expect(try block.get().entry == blocks[index].entry)
            }
            #expect(readAhead.mayBegin())
            // A read that never continues loses its place.
            readAhead.give(decoding)
            #expect((0..<20).contains { _ in readAhead.mayBegin() })
        }
    }

    @Test func `Blocks are decoded ahead in the segments that follow, too`() throws {
        let log = try makeLog(cacheByteCount: 0, segmentByteCount: 16 << 10)
        log.backgroundWork.wait()
        let segments = log.files.segments
        try #require(segments.count > 2)
        let last = try #require(segments[0].last)
        let first = try #require(try log.files.reader(of: segments[0]))
        try #require(first.blockCount > SharedDecoding.helpedBlockCount)
        try log.read((1...last.rawValue).map(SequenceNumber.init(rawValue:))) { _ in true }
        let second = try #require(try log.files.reader(of: segments[1]))
        let wanted = second.entries(0..<4).map { SegmentBlock($0, of: second) }
        let (decoding, index) = try #require(log.files.readAhead.take(wanted))
        // The read that continues there gets the events of the next segment and of those behind it.
        for place in wanted.indices {
            #expect(try decoding.take(index + place).get().entry == wanted[place].entry)
        }
        let known = try #require(decoding.last)
        #expect(known.reader.id.first > second.id.first)
        decoding.end()
        try log.close()
    }

    @Test func `Blocks stay decoded ahead while segments begin and end, until one is replaced`()
        throws
    {
        try readBlocks(on: SimulatedFileSystem(keepsTrace: false)) { log, blocks in
            let files = log.files
            let next = [blocks[20]]
            let decoding = SharedDecoding(Array(blocks[..<30]), mapping: nil)
            files.readAhead.give(decoding)
            let active = try #require(files.segments.last)
            let added = LogFiles.Segment(id: SegmentID(first: log.lastSequence.next))
            files.update { segments in
                segments[segments.count - 1].last = log.lastSequence
                segments[segments.count - 1].isSealed = true
                segments.append(added)
            }
            #expect(try #require(files.readAhead.take(next)).decoding === decoding)
            files.readAhead.give(decoding)
            files.update { $0 = $0.dropLast(2) + [active] }
            #expect(files.readAhead.take(next) == nil)
        }
    }

    @Test func `Only a long and dense read keeps blocks ahead, until the log is parked or closed`()
        throws
    {
        let log = try makeLog(cacheByteCount: 0)
        log.backgroundWork.wait()
        let readAhead = log.files.readAhead
        let all = (1...log.lastSequence.rawValue).map(SequenceNumber.init(rawValue:))
        // Three blocks; then one event in five, of as many blocks as a long read has.
        try log.read(Array(all[..<60])) { _ in true }
        #expect(readAhead.mayBegin())
        try log.read(stride(from: 0, to: 400, by: 5).map { all[$0] }) { _ in true }
        #expect(readAhead.mayBegin())
        try log.read(Array(all[..<300])) { _ in true }
        #expect(!readAhead.mayBegin())
        log.closeFinishedSegments()
        #expect(readAhead.mayBegin())
        try log.read(Array(all[..<300])) { _ in true }
        #expect(!readAhead.mayBegin())
        try log.close()
        #expect(readAhead.mayBegin())
    }
}
