// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SimulatedDisk
import Testing

@testable import TidemarkLog

/// Logs that share the files of their sealed segments.
@Suite struct ForkTests {
    private static let target = "/fork.tide"

    /// A log of several segments, closed.
    private static func makeLog(
        on disk: SimulatedFileSystem,
        seed: UInt64,
        commitCount: Int = 60
    ) throws -> LogReader {
        let (log, _) = try CrashWorkload.open(disk, seed: seed)
        var drafts = DraftSource(seed: seed)
        for _ in 0..<commitCount { try log.commit(drafts.draft(events: 1...7)) }
        try log.close()
        return try LogReader(CrashWorkload.path, fileSystem: disk)
    }

    @discardableResult
    private static func fork(
        _ files: any FileSystem,
        through position: UInt64? = nil,
        to path: String = target
    ) throws(LogError) -> LogBackup.Figures {
        var fork = try LogRestore(
            from: CrashWorkload.path,
            to: path,
            through: position.map(SequenceNumber.init(rawValue:)),
            by: .links,
            environment: CrashWorkload.environment(files, seed: 400)
        ) { (_, _) throws(LogError) in throw LogError(.pruned, "Nothing was compacted.") }
        try fork.copySegments()
        return try fork.finish()
    }

    /// The events up to the end of the last commit at or before a position.
    private static func events(_ events: [WrittenEvent], through last: UInt64) -> [WrittenEvent] {
        events.filter { $0.commitFirst + UInt64($0.eventCount) - 1 <= last }
    }

    @Test func `A fork at any position shares earlier sealed segments and copies one segment`()
        throws
    {
        let disk = SimulatedFileSystem()
        let original = try Self.makeLog(on: disk, seed: 1)
        let events = try original.written()
        let sealed = original.manifest.segments.filter { $0.fileByteCount != nil }
        #expect(sealed.count > 4)
        for position in stride(from: 0, through: UInt64(events.count) + 2, by: 2) {
            let path = "/fork-\(position).tide"
            let figures = try Self.fork(disk, through: position, to: path)
            let expected = Self.events(events, through: position)
            let last = expected.last?.sequence ?? 0
            #expect(figures.last.rawValue == last)
            let sharedCount = sealed.count { ($0.last?.rawValue ?? .max) <= last }
            #expect(figures.sharedSegmentCount == sharedCount)
            #expect(figures.segmentCount - sharedCount <= 1)
            #expect(figures.copiedSegmentCount == figures.segmentCount - sharedCount)
            let reader = try LogReader(path, fileSystem: disk)
            #expect(try reader.written() == expected)
            #expect(try reader.verify().damage == [])
            #expect(reader.line.entries.last?.first.rawValue == last + 1)
            #expect(reader.line.current != original.line.current)
        }
        #expect(try original.written() == events)
    }

    @Test func `Neither log writes to a shared file`() throws {
        let disk = SimulatedFileSystem()
        var original: LogReader? = try Self.makeLog(on: disk, seed: 2)
        let events = try #require(original).written()
        let sealed = try #require(original).manifest.segments.filter { $0.fileByteCount != nil }
        original = nil
        let shared = Set(sealed.map(\.id.fileName))
        #expect(try Self.fork(disk).sharedSegmentCount == shared.count)
        #expect(shared.count > 4)
        let folders = [CrashWorkload.path, Self.target].map(StoreFolder.init)
        let paths = Set(folders.flatMap { folder in shared.map { folder.segments + "/" + $0 } })
        let before = disk.callCount
        var contents: [[WrittenEvent]] = [events, events]
        for (index, folder) in folders.enumerated() {
            contents[index] = try Self.live(in: folder.path, on: disk, seed: UInt64(index))
            let other = try LogReader(folders[1 - index].path, fileSystem: disk)
            #expect(try other.written() == contents[1 - index])
            #expect(try other.verify().damage == [])
        }
        let writes: Set<FileError.Call> = [.write, .truncate, .allocate]
        let calls = disk.trace.dropFirst(before)
        #expect(calls.contains { writes.contains($0.kind) })
        #expect(!calls.contains { writes.contains($0.kind) && paths.contains($0.path) })
        // Both have written all of it anew.
        #expect(try folders.allSatisfy { try shared.isDisjoint(with: disk.list($0.segments)) })
    }

    /// What may happen to a store: commits, a writer that is killed, salvage, compaction.
    private static func live(
        in path: String,
        on disk: SimulatedFileSystem,
        seed: UInt64
    ) throws -> [WrittenEvent] {
        var drafts = DraftSource(seed: seed)
        for opening in 0..<3 as Range<UInt64> {
            let log = try SegmentLog.openAndSeal(
                path,
                creating: false,
                configuration: CrashWorkload.configuration,
                environment: CrashWorkload.environment(disk, seed: 700 + 10 * seed + opening),
                onDurable: { _ in }
            ).log
            for _ in 0..<4 { _ = try log.append(drafts.draft(events: 1...7)) }
            try log.blockUntilDurable(log.lastSequence)
            if opening == 0 { try log.manifest.append([.closed(last: .zero, framesEnd: 0)]) }
            if opening == 1 {
                let last = log.lastSequence
                try log.commit(drafts.draft(), beginsSegment: true)
                try log.rewriteFinished(through: last) {
                    $0.sequence.rawValue % 3 == 0 ? .dropped : .kept
                }
                #expect(try log.removeReplacedSegments())
            }
            try log.close()
        }
        _ = try Salvage.run(
            from: path,
            to: path + ".salvaged",
            environment: CrashWorkload.environment(disk, seed: 900 + seed)
        )
        return try LogReader(path, fileSystem: disk).written()
    }

    @Test func `After a crash at any call, the log is intact and the fork complete or absent`()
        throws
    {
        let verdict = Verdict()
        let disk = SimulatedFileSystem()
        let original = try Self.makeLog(on: disk, seed: 3, commitCount: 20)
        let events = try original.written()
        let last = UInt64(events.count * 2 / 3)
        let expected = Self.events(events, through: last)
        let files = WatchedFileSystem(disk) { disk in
            for outcome in disk.crashOutcomes(limit: 6) + [.processKilled] {
                verdict.add(
                    Self.violation(on: disk.crash(outcome), expected, of: events, through: last),
                    at: "before call \(disk.callCount + 1), \(outcome)"
                )
            }
        }
        try Self.fork(files, through: last)
        #expect(verdict.violations.prefix(3) == [])
        #expect(verdict.triedCount > 50)
        let error = #expect(throws: LogError.self) { try Self.fork(disk) }
        #expect(error?.code == .notAStore)
    }

    @Test func `After a failed call, the fork is absent if it failed, and a retry succeeds`()
        throws
    {
        let disk = SimulatedFileSystem()
        let original = try Self.makeLog(on: disk, seed: 4, commitCount: 20)
        let events = try original.written()
        let last = UInt64(events.count / 2)
        let expected = Self.events(events, through: last)
        let image = disk.crash(.processKilled)
        let first = image.callCount
        try Self.fork(image, through: last)
        for call in (first + 1)...image.callCount {
            for number in [EIO, ENOSPC] {
                let disk = disk.crash(.processKilled)
                disk.failCall(call, with: number)
                let figures: LogBackup.Figures? = try? Self.fork(disk, through: last)
                disk.clearFaults()
                // A fork that failed can be made again.
                let isThere = try disk.exists(Self.target + "/CURRENT")
                #expect(isThere == (figures != nil), "call \(call), error \(number)")
                let violation = Self.violation(
                    on: disk.crash(.processKilled),
                    expected,
                    of: events,
                    through: last
                )
                #expect(violation == nil, "call \(call), error \(number)")
            }
        }
    }

    /// What is wrong after an attempt that was cut off, if anything.
    private static func violation(
        on disk: SimulatedFileSystem,
        _ expected: [WrittenEvent],
        of events: [WrittenEvent],
        through last: UInt64
    ) -> String? {
        do throws(LogError) {
            if (try? disk.exists(target + "/CURRENT")) != true { try fork(disk, through: last) }
            let log = try SegmentLog.openAndSeal(
                target,
                creating: false,
                configuration: CrashWorkload.configuration,
                environment: CrashWorkload.environment(disk, seed: 600),
                onDurable: { _ in }
            ).log
            guard try log.written() == expected else { return "it holds something else" }
            try log.close()
            let original = try LogReader(CrashWorkload.path, fileSystem: disk)
            guard try original.written() == events else { return "the log is another" }
            guard log.line.current != original.line.current else { return "no new incarnation" }
            for path in [target, CrashWorkload.path] {
                let reader = try LogReader(path, fileSystem: disk)
                if let damage = try reader.verify().damage.first { return damage.message }
            }
            return nil
        } catch {
            return error.message + (error.path ?? "")
        }
    }

    @Test func `Files that cannot be linked are copied`() throws {
        let disk = SimulatedFileSystem()
        let original = try Self.makeLog(on: disk, seed: 5)
        disk.failCall(1, of: .link, with: EXDEV, forGood: true)
        let figures = try Self.fork(disk)
        #expect(figures.sharedSegmentCount == 0)
        #expect(figures.copiedSegmentCount == figures.segmentCount)
        #expect(try LogReader(Self.target, fileSystem: disk).written() == original.written())
    }
}
