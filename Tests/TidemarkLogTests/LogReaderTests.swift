// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SimulatedDisk
import TestSupport
import Testing

@testable import TidemarkLog

@Suite struct LogReaderTests {
    let folder: ScratchFolder
    let path: String

    init() throws {
        folder = try ScratchFolder()
        path = folder.url.path + "/notes.tide"
    }

    func open(segmentByteCount: Int = 64 << 20, seed: UInt64 = 1) throws -> SegmentLog {
        var configuration = LogConfiguration()
        configuration.segmentByteCount = segmentByteCount
        return try SegmentLog.openAndSeal(
            path,
            creating: true,
            configuration: configuration,
            environment: .fixed(PosixFileSystem(), seed: seed),
            onDurable: { _ in }
        ).log
    }

    /// Refreshes until the writer, which may be a moment from idle, has vouched for everything.
    func catchUp(_ reader: LogReader, with log: SegmentLog) throws {
        for _ in 0..<1_000 where reader.durableSequence < log.durableSequence {
            log.vouch()
            if try !reader.refresh() { Thread.sleep(forTimeInterval: 0.005) }
        }
    }

    /// A closed store of several sealed segments and an active one.
    func makeClosedStore() throws -> [EventLine] {
        let log = try open(segmentByteCount: 8 << 10)
        for number in 0..<600 {
            _ = try log.append(
                .sample(number, zones: [UInt64(number % 11), 3], byteCount: 200)
            )
            if number % 20 == 0 { try log.blockUntilDurable(log.lastSequence) }
        }
        try log.blockUntilDurable(log.lastSequence)
        let lines = try log.lines()
        try log.close()
        return lines
    }

    @Test func `A commit of a writer that opened meanwhile is not shown before it is durable`()
        throws
    {
        let disk = SimulatedFileSystem()
        var drafts = DraftSource(seed: 3)
        let (log, _) = try CrashWorkload.open(disk, seed: 3, segmentByteCount: 1 << 20)
        for _ in 0..<5 { try log.commit(drafts.draft(events: 1...7)) }
        let last = log.durableSequence
        let folder = StoreFolder(CrashWorkload.path)
        let active = folder.segment(try #require(log.manifest.manifest.active).id)
        try log.close()
        // The bytes of a writer that has written one more commit.
        let copy = disk.crash(.keepingEverything)
        let (next, _) = try CrashWorkload.open(copy, seed: 4, segmentByteCount: 1 << 20)
        try next.commit(drafts.draft(events: 1...7))
        let bytes = try copy.contents(of: active)
        let lock = try disk.open(folder.lock, .readWrite)
        let files = HookedFileSystem(disk)
        files.beforeOpening(active, time: 1) {
            #expect(throws: Never.self) {
                #expect(try lock.lock(.exclusive))
                try disk.setContents(of: active, to: bytes)
            }
        }
        let reader = try LogReader(CrashWorkload.path, fileSystem: files)
        #expect(reader.durableSequence == last)
        // A writer that has ended has synced its commits.
        lock.close()
        _ = try reader.refresh()
        #expect(reader.durableSequence == next.durableSequence)
        #expect(next.durableSequence > last)
        #expect(reader.damage == [])
        try next.close()
    }

    @Test func `A temporarily locked manifest is not treated as missing`() throws {
        let lines = try makeClosedStore()
        let name = try #require(
            try FileManager.default.contentsOfDirectory(atPath: path)
                .first { $0.hasPrefix("manifest-") }
        )
        let file = try PosixFileSystem().open("\(path)/\(name)", .read)
        #expect(try file.lock(.exclusive))
        let refused = #expect(throws: LogError.self) {
            _ = try LogReader(path, fileSystem: PosixFileSystem())
        }
        #expect(refused?.code == .unreadable)
        DispatchQueue(label: "unlocking").asyncAfter(deadline: .now() + .milliseconds(40)) {
            try? file.unlock()
        }
        // Beside many tests that takes longer than a reader waits.
        var reader: LogReader?
        while reader == nil {
            do throws(LogError) {
                reader = try LogReader(path, fileSystem: PosixFileSystem())
            } catch {
                try #require(error.code == .unreadable)
            }
        }
        #expect(try reader?.lines() == lines)
        try FileManager.default.removeItem(atPath: "\(path)/\(name)")
        let missing = #expect(throws: LogError.self) {
            _ = try LogReader(path, fileSystem: PosixFileSystem())
        }
        #expect(missing?.code == .corrupted)
    }

    @Test func `A closed store is read completely and not changed`() throws {
        let lines = try makeClosedStore()
        let reader = try LogReader(path, fileSystem: PosixFileSystem())
        #expect(!reader.isLive)
        #expect(try reader.lines() == lines)
        #expect(reader.damage.isEmpty)
        let verification = try reader.verify()
        #expect(verification.damage.isEmpty)
        #expect(verification.eventCount == 1_200)
        #expect(verification.commitCount == 600)
        #expect(verification.segmentCount > 3)
    }

    @Test func `The events of a zone are found through the postings`() throws {
        let lines = try makeClosedStore()
        let reader = try LogReader(path, fileSystem: PosixFileSystem())
        for zone: ZoneKey in [0, 3, 10, 77] {
            var found: [UInt64] = []
            try reader.scan(
                zone: zone,
                from: SequenceNumber(rawValue: 100),
                through: reader.durableSequence
            ) { event in
                found.append(event.sequence.rawValue)
                return true
            }
            let expected = lines.filter { $0.zone == zone && $0.sequence >= 100 }
            #expect(found == expected.map(\.sequence))
        }
    }

    @Test func `A live store is read up to the synced position`() throws {
        let log = try open()
        try log.commit(.sample(1))
        let reader = try LogReader(path, fileSystem: PosixFileSystem())
        #expect(reader.isLive)
        try catchUp(reader, with: log)
        #expect(reader.durableSequence.rawValue == 1)
        try log.commit(.sample(2))
        try catchUp(reader, with: log)
        #expect(try reader.lines() == log.lines())
        try log.close()
        #expect(try !reader.refresh())
        #expect(!reader.isLive)
    }

    @Test func `A reader follows a writer across segments and openings`() throws {
        let reader: LogReader
        do {
            let log = try open(segmentByteCount: 16 << 10)
            reader = try LogReader(path, fileSystem: PosixFileSystem())
            for number in 0..<300 {
                try log.commit(.sample(number, byteCount: 300))
                if number % 40 == 0 { _ = try reader.refresh() }
            }
            try catchUp(reader, with: log)
            #expect(try reader.lines() == log.lines())
        }
        let again = try open(segmentByteCount: 16 << 10, seed: 2)
        _ = try again.append(.sample(900))
        try again.close()
        _ = try reader.refresh()
        #expect(try reader.lines() == again.lines())
        #expect(reader.line.entries.count == 2)
    }

    @Test func `A damaged block is skipped, reported, and omitted by salvage`() throws {
        let lines = try makeClosedStore()
        let segment = path + "/segments/00000000000000000001-0.seg"
        let file = try PosixFileSystem().open(segment, .readWrite)
        let header = try FileHeader.read(from: file, kind: .segment)
        let footer = try SegmentReader.footer(of: file, header: header)
        let damaged = footer.directory[footer.directory.count / 2]
        try file.write([0xFF, 0x00, 0xFF], at: UInt64(damaged.offset) + 9)
        file.close()

        let reader = try LogReader(path, fileSystem: PosixFileSystem())
        let sound = lines.filter {
            !(damaged.first.rawValue...damaged.last.rawValue).contains($0.sequence)
        }
        #expect(try reader.lines() == sound)
        #expect(reader.damage.count == 1)
        #expect(reader.damage.first?.path == segment)
        #expect(reader.damage.first?.offset == UInt64(damaged.offset))
        #expect(try !reader.verify().damage.isEmpty)

        let copy = folder.url.path + "/copy.tide"
        let salvage = try Salvage.run(
            from: path,
            to: copy,
            environment: .fixed(PosixFileSystem(), seed: 9)
        )
        #expect(salvage.lost == [damaged.first...damaged.last])
        #expect(!salvage.damage.isEmpty)
        let copied = try LogReader(copy, fileSystem: PosixFileSystem())
        #expect(try copied.lines() == sound)
        #expect(try copied.verify().damage.isEmpty)
        #expect(copied.store == reader.store)
        #expect(copied.line.entries.count == 1)
        #expect(!copied.line.contains(SequenceNumber(rawValue: 1), of: reader.line.current))
    }

    @Test func `Salvage rebuilds a store without a manifest`() throws {
        let lines = try makeClosedStore()
        let fileSystem = PosixFileSystem()
        for name in try fileSystem.list(path) where name.hasPrefix("manifest") {
            try fileSystem.remove(path + "/" + name)
        }
        try fileSystem.remove(path + "/CURRENT")
        #expect { try open() } throws: { ($0 as? LogError)?.code == .corrupted }
        let copy = folder.url.path + "/copy.tide"
        let salvage = try Salvage.run(
            from: path,
            to: copy,
            environment: .fixed(fileSystem, seed: 9)
        )
        #expect(salvage.lost.isEmpty)
        let copied = try LogReader(copy, fileSystem: fileSystem)
        #expect(try copied.lines() == lines)
    }
}
