// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SimulatedDisk
import Testing

@testable import TidemarkLog

/// Copies of a log, and what is left of them when they are cut off.
@Suite struct BackupTests {
    private static let path = "/backup.tide"

    /// A log with several segments, open, and where its drafts come from.
    private static func makeLog(
        on files: any FileSystem,
        seed: UInt64,
        commitCount: Int = 20
    ) throws -> (log: SegmentLog, drafts: DraftSource) {
        let (log, _) = try CrashWorkload.open(files, seed: seed)
        var drafts = DraftSource(seed: seed)
        try append(commitCount, to: log, &drafts)
        return (log, drafts)
    }

    private static func append(
        _ commitCount: Int,
        to log: SegmentLog,
        _ drafts: inout DraftSource
    ) throws {
        for _ in 0..<commitCount { try log.commit(drafts.draft(events: 1...7)) }
        log.vouch()
    }

    /// Drops every third event of the finished part of a log.
    private static func compact(_ log: SegmentLog, _ drafts: inout DraftSource) throws {
        let last = log.lastSequence
        try log.commit(drafts.draft(), beginsSegment: true)
        log.vouch()
        try log.rewriteFinished(through: last) { $0.sequence.rawValue % 3 == 0 ? .dropped : .kept }
        #expect(try log.removeReplacedSegments())
    }

    @discardableResult
    private static func backUp(
        _ files: any FileSystem,
        to path: String = path
    ) throws(LogError) -> LogBackup.Figures {
        var backup = try LogBackup(
            from: CrashWorkload.path,
            to: path,
            environment: CrashWorkload.environment(files, seed: 99)
        )
        try backup.copySegments()
        return try backup.finish()
    }

    private static func open(
        _ files: any FileSystem,
        at path: String = path
    ) throws(LogError) -> SegmentLog {
        try SegmentLog.openAndSeal(
            path,
            creating: false,
            configuration: CrashWorkload.configuration,
            environment: CrashWorkload.environment(files, seed: 98),
            onDurable: { _ in }
        ).log
    }

    private static func segmentFiles(_ files: any FileSystem) throws -> [String] {
        try files.list(path + "/segments")
    }

    @Test func `A backup of an open log has the durable events, and later copies only new ones`()
        throws
    {
        let disk = SimulatedFileSystem()
        var (log, drafts) = try Self.makeLog(on: disk, seed: 1, commitCount: 40)
        let first = try Self.backUp(disk)
        #expect(first.segmentCount > 4)
        #expect(first.copiedSegmentCount == first.segmentCount)
        #expect(first.last == log.durableSequence)
        #expect(try LogReader(Self.path, fileSystem: disk).written() == log.written())
        try Self.append(12, to: log, &drafts)
        let second = try Self.backUp(disk)
        // The one that took events has become longer.
        let newCount = second.segmentCount - first.segmentCount
        #expect(newCount > 0)
        #expect(second.copiedSegmentCount == newCount + 1)
        try log.close()
        let reader = try LogReader(Self.path, fileSystem: disk)
        #expect(try reader.written() == log.written())
        #expect(try reader.verify().damage == [])
        #expect(reader.line.entries == log.line.entries)
        let third = try Self.backUp(disk)
        #expect(third.copiedSegmentCount == 1)
        #expect(third.last == log.durableSequence)
    }

    @Test
    func `Segments that compaction replaced leave the backup unless a reader uses them`() throws {
        let disk = SimulatedFileSystem()
        var (log, drafts) = try Self.makeLog(on: disk, seed: 2)
        try Self.backUp(disk)
        let before = try Self.segmentFiles(disk)
        var reader: LogReader? = try LogReader(Self.path, fileSystem: disk)
        let seen = try reader?.written()
        try Self.compact(log, &drafts)
        try Self.backUp(disk)
        #expect(Set(try Self.segmentFiles(disk)).isSuperset(of: before))
        #expect(try reader?.written() == seen)
        reader = nil
        try Self.backUp(disk)
        let names = log.manifest.manifest.segments.map(\.id.fileName)
        #expect(try Self.segmentFiles(disk) == names)
        #expect(try LogReader(Self.path, fileSystem: disk).written() == log.written())
        try log.close()
    }

    @Test func `A log compacted during a backup keeps the segments it needs`() throws {
        let disk = SimulatedFileSystem()
        var (log, drafts) = try Self.makeLog(on: disk, seed: 3)
        let before = try log.written()
        var backup = try LogBackup(
            from: CrashWorkload.path,
            to: Self.path,
            environment: CrashWorkload.environment(disk, seed: 99)
        )
        let last = log.lastSequence
        try log.commit(drafts.draft(), beginsSegment: true)
        try log.rewriteFinished(through: last) { _ in .dropped }
        #expect(try !log.removeReplacedSegments())
        try backup.copySegments()
        _ = try backup.finish()
        #expect(try LogReader(Self.path, fileSystem: disk).written() == before)
        try log.close()
    }

    @Test func `A backup opened for writing has a new incarnation and is no longer a backup`()
        throws
    {
        let disk = SimulatedFileSystem()
        let (log, _) = try Self.makeLog(on: disk, seed: 4)
        try Self.backUp(disk)
        let copy = try Self.open(disk)
        #expect(try copy.written() == log.written())
        #expect(copy.line.current != log.line.current)
        #expect(copy.line.entries.last?.first == log.lastSequence.next)
        try copy.close()
        #expect(throws: LogError.self) { try Self.backUp(disk) }
        #expect(try LogReader(Self.path, fileSystem: disk).written() == log.written())
        try log.close()
    }

    @Test func `After a crash at any call, the backup is the previous or the new one`() throws {
        let verdict = Verdict()
        let disk = SimulatedFileSystem()
        var (log, drafts) = try Self.makeLog(on: disk, seed: 5, commitCount: 14)
        try Self.backUp(disk)
        let old = try log.written()
        try Self.append(6, to: log, &drafts)
        try Self.compact(log, &drafts)
        try Self.append(2, to: log, &drafts)
        let new = try log.written()
        #expect(old != new)
        let files = WatchedFileSystem(disk) { disk in
            for outcome in disk.crashOutcomes(limit: 6) + [.processKilled] {
                verdict.add(
                    Self.violation(on: disk.crash(outcome), [old, new], finishing: new),
                    at: "before call \(disk.callCount + 1), \(outcome)"
                )
            }
        }
        try Self.backUp(files)
        #expect(verdict.violations.prefix(3) == [])
        #expect(verdict.triedCount > 100)
        #expect(try LogReader(Self.path, fileSystem: disk).written() == new)
        try log.close()
    }

    @Test func `An interrupted first backup is not a store, and the next completes it`() throws {
        let verdict = Verdict()
        let disk = SimulatedFileSystem()
        let (log, _) = try Self.makeLog(on: disk, seed: 6, commitCount: 8)
        let events = try log.written()
        let files = WatchedFileSystem(disk) { disk in
            for outcome in disk.crashOutcomes(limit: 6) + [.processKilled] {
                let disk = disk.crash(outcome)
                let isMade = (try? disk.exists(Self.path + "/CURRENT")) ?? false
                verdict.add(
                    Self.violation(on: disk, isMade ? [events] : [], finishing: events),
                    at: "before call \(disk.callCount + 1), \(outcome)"
                )
            }
        }
        try Self.backUp(files)
        #expect(verdict.violations.prefix(3) == [])
        #expect(verdict.triedCount > 50)
        try log.close()
    }

    /// What is wrong with a backup after a crash, if anything: it must be one of those that it may
    /// be, for reading and for writing, and the next one must come to its end.
    private static func violation(
        on disk: SimulatedFileSystem,
        _ states: [[WrittenEvent]],
        finishing end: [WrittenEvent]
    ) -> String? {
        do throws(LogError) {
            if !states.isEmpty {
                let reader = try LogReader(path, fileSystem: disk)
                guard states.contains(try reader.written()) else { return "it is no backup" }
                if let damage = try reader.verify().damage.first { return damage.message }
                let copy = try open(disk.crash(.processKilled))
                guard states.contains(try copy.written()) else { return "no store comes of it" }
                try copy.close()
            }
            try backUp(disk)
            let reader = try LogReader(path, fileSystem: disk)
            guard try reader.written() == end else { return "it was not finished" }
            return try reader.verify().damage.first?.message
        } catch {
            return error.message + (error.path ?? "")
        }
    }

    @Test func `After a failed call, the backup is the previous one, and the next succeeds`() throws
    {
        let disk = SimulatedFileSystem()
        var (log, drafts) = try Self.makeLog(on: disk, seed: 7, commitCount: 8)
        try Self.backUp(disk)
        let old = try log.written()
        try Self.append(5, to: log, &drafts)
        let new = try log.written()
        try log.close()
        let image = disk.crash(.processKilled)
        let first = image.callCount
        try Self.backUp(image)
        let calls = (first + 1)...image.callCount
        #expect(calls.count > 20)
        for call in calls {
            for number in [EIO, ENOSPC] {
                let disk = disk.crash(.processKilled)
                disk.failCall(call, with: number)
                // A failure to look whether something is there, or to remove it, may be nobody's
                // business.
                let _: LogBackup.Figures? = try? Self.backUp(disk)
                disk.clearFaults()
                let violation = Self.violation(
                    on: disk.crash(.processKilled),
                    [old, new],
                    finishing: new
                )
                #expect(violation == nil, "call \(call), error \(number)")
            }
        }
    }

    @Test func `Damage in the store is not copied to the backup`() throws {
        let disk = SimulatedFileSystem()
        var (log, drafts) = try Self.makeLog(on: disk, seed: 8)
        try Self.backUp(disk)
        let old = try log.written()
        try Self.compact(log, &drafts)
        let id = try #require(log.manifest.manifest.segments.first?.id)
        try log.close()
        let name = StoreFolder(CrashWorkload.path).segment(id)
        let file = try disk.open(name, .readWrite)
        try file.write([UInt8](repeating: 7, count: 64).span.bytes, at: 1_200)
        try file.sync()
        let error = #expect(throws: LogError.self) { try Self.backUp(disk) }
        #expect(error?.code == .corrupted)
        #expect(error?.path == name)
        #expect(try LogReader(Self.path, fileSystem: disk).written() == old)
    }

    @Test func `A damaged directory of a segment is not copied to the backup`() throws {
        let disk = SimulatedFileSystem()
        var (log, drafts) = try Self.makeLog(on: disk, seed: 8)
        try Self.compact(log, &drafts)
        let segment = try #require(log.manifest.manifest.segments.first)
        try log.close()
        let name = StoreFolder(CrashWorkload.path).segment(segment.id)
        let file = try disk.open(name, .readWrite)
        let directory = try #require(segment.framesEnd) + UInt64(Layout.footerHeaderByteCount)
        try file.write([0xff, 0xff, 0xff].span.bytes, at: directory + 1)
        try file.sync()
        let error = #expect(throws: LogError.self) { try Self.backUp(disk) }
        #expect(error?.code == .corrupted)
        #expect(error?.path == name)
        #expect(error?.offset == directory)
    }

    @Test func `A segment that is cut while it is copied is not in the backup`() throws {
        let disk = SimulatedFileSystem()
        let (log, _) = try Self.makeLog(on: disk, seed: 8)
        let id = try #require(log.manifest.manifest.segments.first?.id)
        try log.close()
        let name = StoreFolder(CrashWorkload.path).segment(id)
        let bytes = try disk.contents(of: name)
        let files = HookedFileSystem(disk)
        // The segment was checked before its copy is created.
        files.beforeOpening(StoreFolder(Self.path).spare(0), time: 1) {
            try? disk.setContents(of: name, to: Array(bytes.prefix(bytes.count / 2)))
        }
        let error = #expect(throws: LogError.self) { try Self.backUp(files) }
        #expect(error?.code == .corrupted)
        #expect(error?.path == name)
        #expect(error?.offset == UInt64(bytes.count / 2))
        #expect(try Self.segmentFiles(disk) == [])
        // The next one succeeds.
        try disk.setContents(of: name, to: bytes)
        try Self.backUp(disk)
        let reader = try LogReader(Self.path, fileSystem: disk)
        #expect(try reader.verify().damage == [])
    }

    @Test func `A folder that is not a backup of the store is not changed`() throws {
        let disk = SimulatedFileSystem()
        let (log, _) = try Self.makeLog(on: disk, seed: 9, commitCount: 3)
        func refusal(_ path: String) -> LogError.Code? {
            do throws(LogError) {
                try Self.backUp(disk, to: path)
                return nil
            } catch {
                return error.code
            }
        }
        try disk.createDirectory("/other")
        _ = try disk.open("/other/letter.txt", .create)
        #expect(refusal("/other") == .foreignFile)
        #expect(try disk.list("/other") == ["letter.txt"])
        #expect(refusal(CrashWorkload.path) == .locked)
        let other = try SegmentLog.open(
            "/others.tide",
            creating: true,
            configuration: CrashWorkload.configuration,
            environment: CrashWorkload.environment(disk, seed: 55),
            onDurable: { _ in }
        ).log
        try other.close()
        #expect(refusal("/others.tide") == .foreignFile)
        try log.close()
        #expect(refusal(CrashWorkload.path) == .foreignFile)
    }

    @Test func `A backup that is ahead of the store is not changed`() throws {
        let disk = SimulatedFileSystem()
        var (log, drafts) = try Self.makeLog(on: disk, seed: 10, commitCount: 6)
        try log.close()
        let earlier = disk.crash(.processKilled)
        // The backup has come to hold more than the store does.
        log = try CrashWorkload.open(disk, seed: 11).log
        try Self.append(2, to: log, &drafts)
        try Self.backUp(disk)
        let error = #expect(throws: LogError.self) {
            let old = try LogReader(CrashWorkload.path, fileSystem: earlier)
            let manifest = old.finishedManifest
            #expect(manifest.segments.last?.last == old.durableSequence)
            try Self.copyFolder(Self.path, from: disk, to: earlier)
            try Self.backUp(earlier)
        }
        #expect(error?.code == .foreignFile)
        #expect(try LogReader(Self.path, fileSystem: earlier).written() == log.written())
        try log.close()
    }

    private static func copyFolder(
        _ folder: String,
        from source: any FileSystem,
        to target: any FileSystem
    ) throws {
        try target.createDirectory(folder)
        for name in try source.list(folder) {
            let path = folder + "/" + name
            if name == "segments" {
                try copyFolder(path, from: source, to: target)
                continue
            }
            let file = try source.open(path, .read)
            let bytes = try file.bytes(at: 0, byteCount: Int(try file.byteCount()))
            let copy = try target.open(path, .create)
            try copy.write(bytes.span.bytes, at: 0)
            try copy.sync()
        }
        try target.syncDirectory(folder)
    }
}
