// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SimulatedDisk
import Testing

@testable import TidemarkLog

/// Logs made from others, whole or up to a position.
@Suite struct RestoreTests {
    private static let target = "/restored.tide"

    /// A closed log of several segments and openings.
    private static func makeLog(on disk: SimulatedFileSystem, seed: UInt64) throws -> LogReader {
        var drafts = DraftSource(seed: seed)
        for opening in 0..<3 as Range<UInt64> {
            let (log, _) = try CrashWorkload.open(disk, seed: seed * 10 + opening)
            for _ in 0..<10 { try log.commit(drafts.draft(events: 1...7)) }
            if opening == 1 {
                log.vouch()
                // As if the process had been killed: the next opening is another incarnation.
                try log.manifest.append([.closed(last: .zero, framesEnd: 0)])
            }
            try log.close()
        }
        return try LogReader(CrashWorkload.path, fileSystem: disk)
    }

    @discardableResult
    private static func restore(
        _ files: any FileSystem,
        through position: UInt64? = nil,
        to path: String = target,
        forgotten: CommitDraft? = nil
    ) throws(LogError) -> LogBackup.Figures {
        var restore = try LogRestore(
            from: CrashWorkload.path,
            to: path,
            through: position.map(SequenceNumber.init(rawValue:)),
            environment: CrashWorkload.environment(files, seed: 400)
        ) { (_, _) throws(LogError) in
            guard let forgotten else { throw LogError(.pruned, "The test has dropped it.") }
            return forgotten
        }
        try restore.copySegments()
        return try restore.finish()
    }

    @Test func `A restored log has equal events, followed by its new incarnation`() throws {
        let disk = SimulatedFileSystem()
        let original = try Self.makeLog(on: disk, seed: 1)
        #expect(original.manifest.segments.count > 3)
        let figures = try Self.restore(disk)
        #expect(figures.last == original.durableSequence)
        let reader = try LogReader(Self.target, fileSystem: disk)
        #expect(try reader.written() == original.written())
        #expect(reader.store == original.store)
        #expect(try reader.verify().damage == [])
        let line = reader.line.entries
        #expect(line.dropLast() == original.line.entries[...])
        #expect(line.last?.first == original.durableSequence.next)
        // It has been closed as every store is: the next opening goes on with it.
        let (log, report) = try SegmentLog.open(
            Self.target,
            creating: false,
            configuration: CrashWorkload.configuration,
            environment: CrashWorkload.environment(disk, seed: 500),
            onDurable: { _ in }
        )
        #expect(report.wasClean)
        #expect(log.line.entries == line)
        try log.close()
    }

    @Test func `A log can be cut at any position and keeps whole commits`() throws {
        let disk = SimulatedFileSystem()
        let original = try Self.makeLog(on: disk, seed: 2)
        let events = try original.written()
        for position in 0...UInt64(events.count) + 3 {
            let path = "/restored-\(position).tide"
            let figures = try Self.restore(disk, through: position, to: path)
            let expected = events.filter {
                $0.commitFirst + UInt64($0.eventCount) - 1 <= position
            }
            let last = expected.last?.sequence ?? 0
            #expect(figures.last.rawValue == last)
            let reader = try LogReader(path, fileSystem: disk)
            #expect(try reader.written() == expected)
            #expect(try reader.verify().damage == [])
            let line = reader.line.entries
            #expect(line.last?.first.rawValue == last + 1)
            #expect(line.dropLast().map(\.incarnation) == original.line.entries.map(\.incarnation))
            #expect(line.allSatisfy { $0.first.rawValue <= last + 1 })
        }
        #expect(try original.written() == events)
    }

    @Test func `A cut log continues with other events at the same positions`() throws {
        let disk = SimulatedFileSystem()
        let original = try Self.makeLog(on: disk, seed: 3)
        let events = try original.written()
        try Self.restore(disk, through: UInt64(events.count / 2))
        let (log, _) = try SegmentLog.openAndSeal(
            Self.target,
            creating: false,
            configuration: CrashWorkload.configuration,
            environment: CrashWorkload.environment(disk, seed: 500),
            onDurable: { _ in }
        )
        let kept = try log.written()
        var drafts = DraftSource(seed: 77)
        for _ in 0..<20 { _ = try log.append(drafts.draft(events: 1...7)) }
        try log.blockUntilDurable(log.lastSequence)
        #expect(try log.written().prefix(kept.count) == kept[...])
        #expect(try log.written() != events)
        try log.close()
        let reader = try LogReader(Self.target, fileSystem: disk)
        #expect(try reader.verify().damage == [])
        #expect(reader.line.current != original.line.current)
    }

    @Test func `A restored store appears only when complete, and nothing is overwritten`() throws {
        let verdict = Verdict()
        let disk = SimulatedFileSystem()
        let original = try Self.makeLog(on: disk, seed: 4)
        let events = try original.written()
        let last = UInt64(events.count * 2 / 3)
        let expected = events.filter { $0.commitFirst + UInt64($0.eventCount) - 1 <= last }
        let files = WatchedFileSystem(disk) { disk in
            for outcome in disk.crashOutcomes(limit: 6) + [.processKilled] {
                let image = disk.crash(outcome)
                verdict.add(
                    Self.violation(on: image, expected, after: original.line.current),
                    at: "before call \(disk.callCount + 1), \(outcome)"
                )
            }
        }
        try Self.restore(files, through: last)
        #expect(verdict.violations.prefix(3) == [])
        #expect(verdict.triedCount > 50)
        let error = #expect(throws: LogError.self) { try Self.restore(disk) }
        #expect(error?.code == .notAStore)
        #expect(try LogReader(Self.target, fileSystem: disk).written() == expected)
    }

    private static func violation(
        on disk: SimulatedFileSystem,
        _ expected: [WrittenEvent],
        after incarnation: Incarnation
    ) -> String? {
        do throws(LogError) {
            guard (try? disk.exists(target + "/CURRENT")) == true else { return nil }
            let (log, _) = try SegmentLog.open(
                target,
                creating: false,
                configuration: CrashWorkload.configuration,
                environment: CrashWorkload.environment(disk, seed: 600),
                onDurable: { _ in }
            )
            guard try log.written() == expected else { return "it holds something else" }
            guard log.line.current != incarnation else { return "it has no new incarnation" }
            try log.close()
            return try LogReader(target, fileSystem: disk).verify().damage.first?.message
        } catch {
            return error.message + (error.path ?? "")
        }
    }

    @Test func `A partial copy of a compacted log records the pruning, or is rejected`() throws {
        let disk = SimulatedFileSystem()
        let (log, _) = try CrashWorkload.open(disk, seed: 5)
        var drafts = DraftSource(seed: 5)
        for _ in 0..<12 { _ = try log.append(drafts.draft(events: 1...7)) }
        try log.blockUntilDurable(log.lastSequence)
        let last = log.lastSequence
        for _ in 0..<3 {
            try log.commit(drafts.draft(events: 1...1), beginsSegment: log.lastSequence == last)
        }
        try log.rewriteFinished(through: last) { $0.sequence.rawValue % 2 == 0 ? .dropped : .kept }
        try log.close()
        let events = try log.written()
        let forgotten = drafts.draft(events: 2...2)
        let first = try #require(events.first).commitFirst + UInt64(events[0].eventCount) - 1
        for position in first...last.rawValue + 2 {
            let error = #expect(throws: LogError.self) {
                try Self.restore(disk, through: position)
            }
            #expect(error?.code == .pruned)
            #expect(try !disk.exists(Self.target))
            let path = "/restored-\(position).tide"
            let figures = try Self.restore(
                disk,
                through: position,
                to: path,
                forgotten: forgotten
            )
            let end = figures.last.rawValue
            let reader = try LogReader(path, fileSystem: disk)
            let kept = events.filter { $0.sequence <= end }
            // Half a commit is never there: the events of one that goes on are all behind the end.
            #expect(!events.contains { $0.sequence > end && $0.commitFirst <= end })
            #expect(try reader.written().dropLast(2) == kept[...])
            #expect(try reader.written().suffix(2).map(\.sequence) == [end + 1, end + 2])
            #expect(reader.compactedThrough.rawValue == min(end, last.rawValue))
            #expect(try reader.verify().damage == [])
        }
        #expect(try Self.restore(disk).last.rawValue == last.rawValue + 3)
        #expect(try LogReader(Self.target, fileSystem: disk).written() == events)
    }

    @Test func `A damaged backup is rejected`() throws {
        let disk = SimulatedFileSystem()
        let original = try Self.makeLog(on: disk, seed: 6)
        let id = try #require(original.manifest.segments.first?.id)
        let name = StoreFolder(CrashWorkload.path).segment(id)
        let file = try disk.open(name, .readWrite)
        try file.write([UInt8](repeating: 7, count: 64).span.bytes, at: 700)
        for position in [nil, 3 as UInt64?] {
            let error = #expect(throws: LogError.self) {
                try Self.restore(disk, through: position, to: "/other-\(position ?? 0).tide")
            }
            #expect(error?.code == .corrupted)
            #expect(error?.path == name)
        }
        #expect(throws: LogError.self) { try LogReader("/other-3.tide", fileSystem: disk) }
    }
}
