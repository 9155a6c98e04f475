// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SimulatedDisk
import TestSupport
import Testing

@testable import TidemarkLog

/// Segments that are written anew without some of their events.
@Suite struct RewriteTests {
    /// What a rule leaves of a log: two in three events go, and one of those is replaced.
    static func fate(_ event: LogEvent) -> EventFate {
        switch event.sequence.rawValue % 6 {
        case 0, 3: .kept
        case 5: .replaced([9, 9, 9])
        default: .dropped
        }
    }

    /// What `fate` makes of events up to a position.
    static func kept(_ events: [WrittenEvent], through last: UInt64) -> [WrittenEvent] {
        events.compactMap { event in
            guard event.sequence <= last else { return event }
            var event = event
            switch event.sequence % 6 {
            case 0, 3: break
            case 5:
                event.payload = [9, 9, 9]
                event.zone = 0
            default: return nil
            }
            return event
        }
    }

    /// What the segments of a log become.
    enum Form: CaseIterable {
        /// Frames in the order of the log: there is little in each.
        case plain
        /// One stripe.
        case striped

        /// How large the segments become.
        var segmentByteCount: Int { self == .plain ? 6 << 10 : 256 << 10 }
        var payload: ClosedRange<Int> { self == .plain ? 0...500 : 4_000...8_000 }
        /// Commits before every call is tried.
        var commitCount: Int { self == .plain ? 14 : 8 }
    }

    /// A log with several finished segments, and the last position in them.
    static func makeLog(
        on files: any FileSystem,
        seed: UInt64 = 1,
        commitCount: Int = 40,
        _ form: Form = .plain,
        payload: ClosedRange<Int>? = nil
    ) throws -> (log: SegmentLog, last: SequenceNumber) {
        let (log, _) = try CrashWorkload.open(files, seed: seed)
        var drafts = DraftSource(seed: seed)
        for _ in 0..<commitCount {
            try log.commit(drafts.draft(events: 1...7, payload: payload ?? form.payload))
        }
        let last = log.lastSequence
        try log.commit(drafts.draft(), beginsSegment: true)
        return (log, last)
    }

    /// Rewrites all finished segments, and returns how many groups there were.
    @discardableResult
    static func compact(
        _ log: SegmentLog,
        through last: SequenceNumber
    ) throws(LogError) -> Int {
        try log.compact(through: last, fate: fate)
    }

    /// A compaction gives a segment its name while an empty one is removed in the background.
    @Test func `A segment that the manifest is about to name is not removed`() throws {
        let disk = SimulatedFileSystem()
        let files = HookedFileSystem(disk)
        let (log, _) = try CrashWorkload.open(files, seed: 1, writesInline: false)
        func commit(_ byteCount: Int) throws {
            _ = try log.append(.sample(Int(log.lastSequence.rawValue), byteCount: byteCount))
            try log.blockUntilDurable(log.lastSequence)
        }
        // Until some segments have ended, and the last one is empty.
        while true {
            try commit(300)
            log.writerWork.wait()
            let last = try #require(log.files.segments.last?.id)
            if log.files.segmentCount > 3, last.first == log.lastSequence.next { break }
        }
        let empty = try #require(log.files.segments.last?.id)
        let lines = try log.lines()
        let written = try log.writeAnew(through: empty.first.previous) { $0 }
        let (named, removed) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let replaced = DispatchSemaphore(value: 0)
        let segments = CrashWorkload.path + "/segments"
        files.beforeListing(segments) {
            files.beforeSyncing(segments) {
                named.signal()
                _ = removed.wait(timeout: .now() + 0.5)
            }
            Thread.detachNewThread {
                try? log.replaceAll(with: written)
                replaced.signal()
            }
            // If the removal excludes the replacement, this waits in vain.
            _ = named.wait(timeout: .now() + 0.5)
        }
        // Longer than the empty segment, which is therefore removed.
        try commit(20_000)
        log.backgroundWork.wait()
        removed.signal()
        replaced.wait()
        #expect(log.files.segments.last?.id.generation == empty.generation + 1)
        for segment in log.manifest.manifest.segments {
            #expect(try disk.exists(segments + "/" + segment.id.fileName))
        }
        try log.close()
        let again = try CrashWorkload.open(disk, seed: 2).log
        #expect(try again.lines().prefix(lines.count) == lines[...])
        try again.close()
    }

    @Test func `A rewritten log has the kept events at their positions`() throws {
        let disk = SimulatedFileSystem()
        let (log, last) = try Self.makeLog(on: disk)
        let before = try log.written()
        let segmentCount = log.manifest.manifest.segments.count
        #expect(segmentCount > 4)
        #expect(log.compactedThrough == .zero)
        #expect(try Self.compact(log, through: last) > 0)
        let expected = Self.kept(before, through: last.rawValue)
        #expect(try log.written() == expected)
        #expect(log.compactedThrough == last)
        #expect(log.manifest.manifest.segments.count < segmentCount)
        #expect(try log.removeReplacedSegments())
        try log.close()
        let reader = try LogReader(CrashWorkload.path, fileSystem: disk)
        #expect(try reader.written() == expected)
        #expect(try reader.verify().damage == [])
        #expect(reader.compactedThrough == last)
        let (again, report) = try CrashWorkload.open(disk, seed: 9)
        #expect(report.wasClean)
        #expect(try again.written() == expected)
        #expect(again.compactedThrough == last)
        // Every position can still be asked for, alone and together, and every time.
        let all = (1...again.lastSequence.rawValue).map(SequenceNumber.init(rawValue:))
        var found: [WrittenEvent] = []
        try again.read(all) {
            found.append(WrittenEvent($0))
            return true
        }
        #expect(found == expected)
        for sequence in all {
            var alone: WrittenEvent?
            try again.read([sequence]) {
                alone = WrittenEvent($0)
                return true
            }
            #expect(alone == expected.first { $0.sequence == sequence.rawValue })
        }
        for time in (before[0].time - 1)...(before[before.count - 1].time + 1) {
            let event = expected.last { $0.time <= time }
            let position = event.map { $0.commitFirst + UInt64($0.eventCount) - 1 } ?? 0
            #expect(try again.lastSequence(atOrBefore: time).rawValue == position)
        }
        for zone in (0..<9).map(ZoneKey.init(rawValue:)) {
            var events: [WrittenEvent] = []
            try reader.scan(zone: zone, from: all[0], through: all[all.count - 1]) {
                events.append(WrittenEvent($0))
                return true
            }
            #expect(events == expected.filter { $0.zone == zone })
        }
        try again.close()
    }

    @Test func `A second rewrite drops nothing and writes no segment that needs no change`()
        throws
    {
        let disk = SimulatedFileSystem()
        let (log, last) = try Self.makeLog(on: disk, seed: 3)
        let before = try log.written()
        try Self.compact(log, through: last)
        let expected = Self.kept(before, through: last.rawValue)
        var loads = try log.finishedSegments(through: last)
        #expect(loads.allSatisfy { $0.isCompacted })
        loads = loads.map { load in
            var load = load
            load.eventCount = 1
            return load
        }
        let large = loads.filter {
            $0.byteCount >= UInt64(CrashWorkload.configuration.segmentByteCount) / 4
        }
        for group in log.rewrites(of: loads) { #expect(!group.contains { large.contains($0) }) }
        try Self.compact(log, through: last)
        #expect(try log.written() == expected)
        try log.close()
    }

    @Test func `All events of a log may be dropped`() throws {
        let disk = SimulatedFileSystem()
        let (log, last) = try Self.makeLog(on: disk, seed: 4)
        let rest = try log.written().filter { $0.sequence > last.rawValue }
        try log.rewriteFinished(through: last) { _ in .dropped }
        #expect(try log.written() == rest)
        #expect(try log.lastSequence(atOrBefore: rest[0].time - 1) == .zero)
        #expect(try log.lastSequence(atOrBefore: rest[0].time) == log.lastSequence)
        try log.close()
        let (again, report) = try CrashWorkload.open(disk, seed: 9)
        #expect(report.wasClean)
        #expect(try again.written() == rest)
        try again.close()
        #expect(try LogReader(CrashWorkload.path, fileSystem: disk).verify().damage == [])
    }

    @Test(arguments: Form.allCases)
    func `After a crash at any call, every event exists unless it was to be dropped`(
        _ form: Form
    ) throws {
        let verdict = Verdict()
        let disk = SimulatedFileSystem()
        let (log, last) = try Self.makeLog(on: disk, seed: 5, commitCount: form.commitCount, form)
        let before = try log.written()
        try log.close()
        let expected = Self.kept(before, through: last.rawValue)
        let files = WatchedFileSystem(disk) { disk in
            for outcome in disk.crashOutcomes(limit: runsLongTests ? 6 : 4) + [.processKilled] {
                verdict.add(
                    Self.violation(on: disk.crash(outcome), form, before, expected),
                    at: "before call \(disk.callCount + 1), \(outcome)"
                )
            }
        }
        let (again, _) = try CrashWorkload.open(
            files,
            seed: 6,
            segmentByteCount: form.segmentByteCount
        )
        try Self.compact(again, through: last)
        #expect(try Self.isStriped(again) == (form == .striped))
        #expect(try again.removeReplacedSegments())
        try again.close()
        #expect(verdict.violations.prefix(3) == [])
        #expect(verdict.triedCount > 100)
        #expect(try LogReader(CrashWorkload.path, fileSystem: disk).written() == expected)
    }

    /// Whether a compacted segment of a log has stripes.
    private static func isStriped(_ log: SegmentLog) throws(LogError) -> Bool {
        for segment in log.files.segments where segment.id.generation > 0 {
            if try log.files.reader(of: segment)?.stripes.isEmpty == false { return true }
        }
        return false
    }

    /// What is wrong with a store after a crash, if anything: it must go on, and finish.
    private static func violation(
        on disk: SimulatedFileSystem,
        _ form: Form,
        _ before: [WrittenEvent],
        _ expected: [WrittenEvent]
    ) -> String? {
        do throws(LogError) {
            let (log, _) = try CrashWorkload.open(
                disk,
                seed: 77,
                segmentByteCount: form.segmentByteCount
            )
            let found = try log.written()
            let kept = Dictionary(uniqueKeysWithValues: expected.map { ($0.sequence, $0) })
            let positions = Set(found.map(\.sequence))
            for event in before where kept[event.sequence] != nil {
                guard positions.contains(event.sequence) else {
                    return "event \(event.sequence) is gone"
                }
            }
            for event in found {
                let old = before.first { $0.sequence == event.sequence }
                guard event == old || event == kept[event.sequence] else {
                    return "event \(event.sequence) is another one"
                }
            }
            let last = before[before.count - 1].commitFirst - 1
            try compact(log, through: SequenceNumber(rawValue: last))
            guard try log.written() == expected else { return "it was not finished rightly" }
            try log.close()
            let damage = try LogReader(CrashWorkload.path, fileSystem: disk).verify().damage
            return damage.first?.message
        } catch {
            return error.message
        }
    }

    @Test(arguments: Form.allCases)
    func `After a failed call, the log is the old or the rewritten one`(_ form: Form) throws {
        let disk = SimulatedFileSystem()
        let (log, last) = try Self.makeLog(on: disk, seed: 7, commitCount: form.commitCount, form)
        let before = try log.written()
        try log.close()
        let expected = Self.kept(before, through: last.rawValue)
        let image = disk.crash(.processKilled)
        func open(_ disk: SimulatedFileSystem) throws(LogError) -> SegmentLog {
            let byteCount = form.segmentByteCount
            return try CrashWorkload.open(disk, seed: 8, segmentByteCount: byteCount).log
        }
        let opened = try open(image)
        let first = image.callCount
        try Self.compact(opened, through: last)
        let calls = (first + 1)...image.callCount
        #expect(calls.count > 20)
        #expect(try Self.isStriped(opened) == (form == .striped))
        let faults = [(EIO, false), (ENOSPC, false), (EIO, true)]
        for call in calls {
            for (number, forGood) in runsLongTests ? faults : [faults[call % faults.count]] {
                let disk = disk.crash(.processKilled)
                let log = try open(disk)
                disk.failCall(call, with: number, forGood: forGood)
                let failure = #expect(throws: LogError.self) {
                    try Self.compact(log, through: last)
                    // A failure to remove what is left over is nobody's business.
                    throw LogError(.full, "nothing failed")
                }
                #expect(failure?.path != nil || failure?.message == "nothing failed")
                disk.clearFaults()
                let violation = Self.violation(
                    on: disk.crash(.processKilled),
                    form,
                    before,
                    expected
                )
                #expect(violation == nil, "call \(call), error \(number)")
            }
        }
    }

    @Test func `A reading process keeps the old segments until it ends`() throws {
        let folder = try ScratchFolder()
        let path = folder.url.path + "/s.tide"
        var configuration = LogConfiguration()
        configuration.segmentByteCount = 6 << 10
        let (log, _) = try SegmentLog.openAndSeal(
            path,
            creating: true,
            configuration: configuration,
            environment: .fixed(PosixFileSystem()),
            onDurable: { _ in }
        )
        var drafts = DraftSource(seed: 8)
        for _ in 0..<40 { _ = try log.append(drafts.draft()) }
        let last = log.lastSequence
        try log.commit(drafts.draft(), beginsSegment: true)
        log.vouch()
        var reader: LogReader? = try LogReader(path, fileSystem: PosixFileSystem())
        let before = try log.written()
        let seen = try reader?.written()
        #expect(seen?.prefix(Int(last.rawValue)) == before.prefix(Int(last.rawValue)))
        try Self.compact(log, through: last)
        #expect(try !log.removeReplacedSegments())
        #expect(try reader?.written() == seen)
        // Also where the store is opened again meanwhile.
        try log.close()
        let (again, _) = try SegmentLog.openAndSeal(
            path,
            creating: false,
            configuration: configuration,
            environment: .fixed(PosixFileSystem(), seed: 2),
            onDurable: { _ in }
        )
        #expect(try again.isRead())
        #expect(try !again.removeReplacedSegments())
        #expect(try reader?.written() == seen)
        reader = nil
        #expect(try !again.isRead())
        #expect(try again.removeReplacedSegments())
        let count = try FileManager.default.contentsOfDirectory(atPath: path + "/segments")
            .filter { $0.hasSuffix(".seg") }.count
        #expect(count == again.manifest.manifest.segments.count)
        #expect(
            try LogReader(path, fileSystem: PosixFileSystem()).written().prefix(5)
                == Self.kept(before, through: last.rawValue).prefix(5)
        )
        try again.close()
    }

    @Test func `A log that was closed after a failed write changes no file`() throws {
        let disk = SimulatedFileSystem()
        let (log, last) = try Self.makeLog(on: disk)
        let loads = try log.finishedSegments(through: last)
        let group = try #require(log.rewrites(of: loads).first)
        var closing: LogError?
        // The app gives the store up in the midst of a compaction.
        let failure = #expect(throws: LogError.self) {
            _ = try log.rewrite(group) { event in
                if closing == nil {
                    disk.failCall(disk.callCount(of: .sync) + 1, of: .sync, with: EIO)
                    _ = try? log.append(CommitDraft.sample(1, zones: [1]))
                    do throws(LogError) { try log.close() } catch { closing = error }
                    disk.clearFaults()
                }
                return Self.fate(event)
            }
        }
        #expect(closing?.code == .writerFailed)
        #expect(failure?.code == .readOnly)
        let before = log.manifest.manifest.segments.map(\.id)
        let (again, _) = try CrashWorkload.open(disk, seed: 9)
        #expect(Set(before).isSubset(of: again.manifest.manifest.segments.map(\.id)))
        try again.close()
    }
}
