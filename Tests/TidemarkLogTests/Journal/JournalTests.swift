// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SimulatedDisk
import Testing
import TidemarkLock

@testable import TidemarkLog

@Suite struct JournalTests {
    private let disk = SimulatedFileSystem()
    private let folder = StoreFolder("/store")
    private let store = StoreID(low: 1, high: 2)

    init() throws {
        try disk.createDirectory("/store")
        try disk.syncDirectory("/")
    }

    /// A journal on a disk, on the thread that asks.
    private func journal(
        on disk: SimulatedFileSystem? = nil,
        _ configuration: JournalConfiguration = JournalConfiguration(),
        at time: Int64 = 1_700_000_000_000,
        seed: UInt64 = 1
    ) -> Journal {
        var environment = LogEnvironment.fixed(disk ?? self.disk, seed: seed)
        environment.writesInline = true
        environment.now = { time }
        return Journal(folder, of: store, Incarnation(rawValue: 7), configuration, environment)
    }

    private func content(_ number: Int) -> [UInt8] {
        Array("entry \(number) \(String(repeating: "x", count: number % 11))".utf8)
    }

    /// What a journal holds, as text, with the numbers of entries that were lost before.
    private func read(
        _ disk: SimulatedFileSystem? = nil
    ) -> (entries: [String], lost: [Int], reader: JournalReader) {
        var reader = JournalReader(folder, of: store, disk ?? self.disk)
        var entries: [String] = []
        var lost: [Int] = []
        reader.read { (time, lostCount, bytes) in
            entries.append(
                "\(time) " + bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
            )
            lost.append(Int(lostCount))
        }
        return (entries, lost, reader)
    }

    private func text(_ number: Int) -> String {
        "\(number * 10) " + String(decoding: content(number), as: UTF8.self)
    }

    @Test func `Entries are read in order across openings`() throws {
        for opening in 0..<3 {
            let journal = journal(seed: UInt64(opening))
            for number in opening * 20..<opening * 20 + 20 {
                journal.append(content(number), at: Int64(number * 10))
                if number % 7 == 0 { journal.flush() }
            }
            journal.close()
            #expect(journal.figures == JournalFigures(entryCount: 20))
            journal.append(content(99), at: 0)
            journal.flush()
        }
        let found = read()
        #expect(found.entries == (0..<60).map(text))
        #expect(found.reader.damage.isEmpty && found.reader.segmentCount == 1)
        #expect(found.reader.entryCount == 60 && found.reader.lostCount == 0)
    }

    @Test func `Without entries, no file is changed`() {
        let before = disk.callCount
        let journal = journal()
        journal.flush()
        journal.close()
        #expect(disk.callCount == before)
        #expect(read().entries.isEmpty)
    }

    @Test func `Nothing is synced before the journal is closed`() {
        let journal = journal()
        for number in 0..<100 {
            journal.append(content(number), at: 0)
            journal.flush()
        }
        #expect(disk.callCount(of: .sync) == 0)
        journal.close()
        #expect(disk.callCount(of: .sync) == 1)
    }

    @Test func `A torn tail is truncated at any length`() throws {
        let journal = journal()
        var lengths: [Int] = []
        for number in 0..<5 {
            journal.append(content(number), at: Int64(number * 10))
            journal.flush()
            lengths.append(try disk.contents(of: folder.journalSegment(1)).count)
        }
        let bytes = try disk.contents(of: folder.journalSegment(1))
        for length in Layout.fileHeaderByteCount...bytes.count {
            let torn = SimulatedFileSystem()
            try torn.createDirectory("/store")
            try torn.createDirectory("/store/journal")
            // What was cut off may also read as zeros.
            let zeros = [UInt8](repeating: 0, count: length % 3 == 0 ? 40 : 0)
            try torn.setContents(of: folder.journalSegment(1), to: bytes.prefix(length) + zeros)
            let kept = read(torn).entries
            // The last one's padding may be missing.
            #expect(kept.count >= lengths.count { $0 <= length })
            #expect(kept == (0..<kept.count).map(text))
            let next = self.journal(on: torn, seed: 2)
            next.append(content(7), at: 70)
            next.close()
            let after = read(torn)
            #expect(after.entries == kept + [text(7)], "\(length) bytes")
            #expect(after.reader.damage.isEmpty)
        }
    }

    @Test func `A damaged entry is skipped, and its position is reported`() throws {
        let journal = journal()
        var starts: [Int] = []
        for number in 0..<6 {
            journal.append(content(number), at: Int64(number * 10))
            journal.flush()
            starts.append(try disk.contents(of: folder.journalSegment(1)).count)
        }
        let path = folder.journalSegment(1)
        // The entry with number 2 lies between these.
        for offset in starts[1]..<starts[2] {
            for bit in 0..<8 {
                try disk.flipBit(path, at: offset, bit: bit)
                let found = read()
                let isPadding = found.reader.damage.isEmpty
                #expect(found.entries == (0..<6).filter { isPadding || $0 != 2 }.map(text))
                if !isPadding {
                    let damage = found.reader.damage
                    #expect(damage.count == 1 && damage[0].code == .corrupted)
                    #expect(damage[0].path == path && damage[0].offset == UInt64(starts[1]))
                }
                try disk.flipBit(path, at: offset, bit: bit)
            }
        }
        #expect(read().entries.count == 6)
        // What comes later is written behind it.
        try disk.flipBit(path, at: starts[1] + 30, bit: 0)
        let next = self.journal(seed: 2)
        next.append(content(6), at: 60)
        next.close()
        #expect(read().entries == [0, 1, 3, 4, 5, 6].map(text))
    }

    @Test func `A damaged or foreign header loses only its segment`() throws {
        var small = JournalConfiguration()
        small.byteCount = 1 << 20
        let path = folder.journalSegment(1)
        for damage in ["flip", "foreign"] {
            let disk = SimulatedFileSystem()
            try disk.createDirectory("/store")
            try disk.createDirectory("/store/journal")
            let foreign = StoreID(low: 8, high: 9)
            var environment = LogEnvironment.fixed(disk)
            environment.writesInline = true
            let other = Journal(
                folder,
                of: damage == "flip" ? store : foreign,
                Incarnation(rawValue: 7),
                small,
                environment
            )
            other.append(content(1), at: 10)
            other.close()
            if damage == "flip" { try disk.flipBit(path, at: 70, bit: 3) }
            let journal = journal(on: disk, small)
            journal.append(content(2), at: 20)
            journal.close()
            let found = read(disk)
            #expect(found.entries == [text(2)])
            #expect(found.reader.damage.count == 1 && found.reader.damage[0].path == path)
        }
    }

    @Test func `The oldest segments are removed by size`() throws {
        var configuration = JournalConfiguration()
        configuration.byteCount = 64 << 10
        let journal = journal(configuration)
        let long = [UInt8](repeating: 7, count: 1_000)
        for number in 0..<500 {
            journal.append(long, at: Int64(number))
            journal.flush()
        }
        let found = read()
        #expect(found.reader.byteCount <= 64 << 10)
        #expect(found.reader.byteCount >= 48 << 10)
        let times = found.entries.compactMap { Int($0.split(separator: " ")[0]) }
        #expect(times == Array((500 - times.count)..<500))
    }

    @Test func `The oldest segments are removed by age`() throws {
        var configuration = JournalConfiguration()
        configuration.lifetime = 800
        let clock = Lock<Int64>(0)
        var environment = LogEnvironment.fixed(disk)
        environment.writesInline = true
        environment.now = { clock.withLock { $0 } }
        let journal = Journal(
            folder,
            of: store,
            Incarnation(rawValue: 7),
            configuration,
            environment
        )
        for time in stride(from: 0, to: 3_000, by: 10) {
            clock.withLock { $0 = Int64(time) }
            journal.append(content(1), at: Int64(time))
            journal.flush()
        }
        let times = read().entries.compactMap { Int($0.split(separator: " ")[0]) }
        let oldest = try #require(times.first)
        // All of the last 800 are there, and no more than an eighth of that beside.
        #expect((2_990 - 900...2_990 - 790).contains(oldest))
        #expect(times == Array(stride(from: oldest, to: 3_000, by: 10)))
    }

    @Test func `Entries that the disk rejects are counted in the next entry`() throws {
        let journal = journal()
        journal.append(content(0), at: 0)
        journal.flush()
        disk.setCapacity(try disk.contents(of: folder.journalSegment(1)).count)
        for number in 1..<4 {
            journal.append(content(number), at: Int64(number * 10))
            if number != 1 { journal.flush() }
        }
        #expect(journal.figures.lostCount == 3 && journal.figures.entryCount == 1)
        #expect(journal.figures.failure?.isOutOfSpace == true)
        #expect(read().entries == [text(0)])
        disk.setCapacity(nil)
        journal.append(content(4), at: 40)
        journal.append(content(5), at: 50)
        journal.close()
        let found = read()
        #expect(found.entries == [0, 4, 5].map(text))
        #expect(found.lost == [0, 3, 0] && found.reader.lostCount == 3)
        #expect(found.reader.damage.isEmpty)
    }

    @Test func `Of a write that was cut short, nothing stays behind a shorter one`() throws {
        let journal = journal()
        journal.append(content(0), at: 0)
        journal.flush()
        for number in 1..<20 { journal.append(content(number), at: 10) }
        disk.failCall(disk.callCount + 1, with: ENOSPC, forGood: false, writing: 200)
        journal.flush()
        #expect(journal.figures.lostCount == 19)
        journal.append(content(20), at: 200)
        journal.flush()
        let found = read()
        #expect(found.entries == [text(0), text(20)])
        #expect(found.lost == [0, 19] && found.reader.damage.isEmpty)
    }

    @Test func `Entries that exceed the memory limit are counted`() {
        var configuration = JournalConfiguration()
        configuration.waitingByteCount = 100
        let journal = journal(configuration)
        for number in 0..<5 { journal.append(content(number), at: Int64(number * 10)) }
        journal.flush()
        journal.append([UInt8](repeating: 0, count: (1 << 20) + 1), at: 0)
        journal.append(content(7), at: 70)
        journal.close()
        let found = read()
        #expect(found.entries == [0, 1, 7].map(text))
        #expect(found.lost == [0, 0, 4])
        #expect(journal.figures.lostCount == 4)
    }

    @Test func `Any call may fail, and no entry is invented or repeated`() throws {
        var configuration = JournalConfiguration()
        configuration.byteCount = 32 << 10
        func run(_ disk: SimulatedFileSystem) -> Journal {
            let journal = self.journal(on: disk, configuration)
            for number in 0..<60 {
                journal.append(content(number) + [UInt8](repeating: 46, count: 300), at: 1)
                if number % 3 == 0 { journal.flush() }
            }
            journal.close()
            return journal
        }
        func fresh() throws -> SimulatedFileSystem {
            let disk = SimulatedFileSystem()
            try disk.createDirectory("/store")
            return disk
        }
        let sound = try fresh()
        _ = run(sound)
        let all = read(sound).entries
        #expect(read(sound).reader.segmentCount > 2)
        for isForGood in [false, true] {
            for call in 2...sound.callCount {
                let disk = try fresh()
                disk.failCall(call, with: ENOSPC, forGood: isForGood, writing: call % 500)
                let journal = run(disk)
                disk.clearFaults()
                let found = read(disk)
                #expect(Set(found.entries).isSubset(of: all), "call \(call)")
                #expect(Set(found.entries).count == found.entries.count, "call \(call)")
                let knownCount = found.entries.count + Int(journal.figures.lostCount)
                // While every call fails, entries of a failed write cannot be removed either.
                #expect(isForGood ? knownCount >= 60 : knownCount == 60, "call \(call)")
                #expect(isForGood || found.reader.damage.isEmpty, "call \(call)")
                // And it goes on.
                let next = self.journal(on: disk, configuration, seed: 3)
                next.append(content(99), at: 990)
                next.close()
                #expect(read(disk).entries.last == text(99), "call \(call)")
            }
        }
    }

    @Test func `Entries are written although an old segment cannot be removed`() throws {
        var configuration = JournalConfiguration()
        configuration.byteCount = 32 << 10
        let files = HookedFileSystem(disk)
        var environment = LogEnvironment.fixed(files)
        environment.writesInline = true
        let journal = Journal(
            folder,
            of: store,
            Incarnation(rawValue: 7),
            configuration,
            environment
        )
        func write(_ numbers: Range<Int>) {
            for number in numbers {
                journal.append(content(number) + [UInt8](repeating: 46, count: 300), at: 1)
                journal.flush()
            }
        }
        files.refuseRemovals(true)
        write(0..<200)
        #expect(journal.figures.lostCount == 0 && journal.figures.entryCount == 200)
        #expect(journal.figures.failure?.call == .remove)
        #expect(read().entries.count == 200)
        files.refuseRemovals(false)
        write(200..<220)
        #expect(journal.figures.lostCount == 0)
        #expect(read().reader.byteCount <= 32 << 10)
    }

    @Test func `A crash loses only the newest entries`() throws {
        var configuration = JournalConfiguration()
        configuration.byteCount = 32 << 10
        let disk = SimulatedFileSystem()
        try disk.createDirectory("/store")
        try disk.syncDirectory("/")
        let journal = journal(on: disk, configuration)
        for number in 0..<40 {
            journal.append(content(number) + [UInt8](repeating: 46, count: 300), at: 1)
            journal.flush()
        }
        let all = read(disk).entries
        #expect(read(disk.crash(.processKilled)).entries == all)
        for outcome in disk.crashOutcomes(limit: 200) {
            let crashed = disk.crash(outcome)
            #expect(Set(read(crashed).entries).isSubset(of: all))
            let next = self.journal(on: crashed, configuration, seed: 2)
            next.append(content(99), at: 990)
            next.close()
            #expect(read(crashed).entries.last == text(99))
        }
    }
}
