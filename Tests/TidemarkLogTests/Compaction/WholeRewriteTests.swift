// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SimulatedDisk
import Testing

@testable import TidemarkLog

/// A log that is written anew as a whole, as an erasure does.
@Suite struct WholeRewriteTests {
    /// One in three events goes, and another has other bytes, as has its whole commit's envelope.
    private static func form(_ event: LogEvent) -> LogEvent? {
        switch event.sequence.rawValue % 3 {
        case 0: event
        case 1: event.commit.first.rawValue % 2 == 0 ? event : redacted(event)
        default: nil
        }
    }

    private static func redacted(_ event: LogEvent) -> LogEvent {
        event.replacing(payload: [7, 7], envelope: Array(event.envelope))
    }

    private static func kept(_ events: [WrittenEvent], through last: UInt64) -> [WrittenEvent] {
        events.compactMap { event in
            guard event.sequence <= last else { return event }
            var event = event
            switch event.sequence % 3 {
            case 0: return event
            case 1:
                if event.commitFirst % 2 != 0 { event.payload = [7, 7] }
                return event
            default: return nil
            }
        }
    }

    @Test func `All segments change at once, and the next one has no dictionary`() throws {
        let disk = SimulatedFileSystem()
        let (log, _) = try RewriteTests.makeLog(on: disk)
        let last = log.lastSequence
        var drafts = DraftSource(seed: 4)
        _ = try log.append(drafts.draft(), beginsSegment: true, withoutDictionary: true)
        try log.blockUntilDurable(log.lastSequence)
        let active = try #require(log.files.segments.last?.reader)
        #expect(active.dictionary.isEmpty)
        let before = try log.written()
        let old = log.manifest.manifest.segments.map(\.id)
        let written = try log.writeAnew(through: last) { Self.form($0) }
        #expect(try log.written() == before)
        #expect(log.manifest.manifest.segments.map(\.id) == old)
        try log.replaceAll(with: written)
        let expected = Self.kept(before, through: last.rawValue)
        #expect(try log.written() == expected)
        #expect(try log.removeReplacedSegments())
        let files = try disk.list(CrashWorkload.path + "/segments")
        #expect(Set(files.compactMap(SegmentID.init(fileName:))).isDisjoint(with: old.dropLast()))
        try log.close()
        let reader = try LogReader(CrashWorkload.path, fileSystem: disk)
        #expect(try reader.written() == expected)
        #expect(try reader.verify().damage == [])
        let (again, report) = try CrashWorkload.open(disk, seed: 9)
        #expect(report.wasClean)
        #expect(try again.written() == expected)
        try again.close()
    }

    @Test func `An error or a discarded rewrite leaves log and disk unchanged`() throws {
        let disk = SimulatedFileSystem()
        let (log, last) = try RewriteTests.makeLog(on: disk)
        let before = try log.written()
        let files = try disk.list(CrashWorkload.path + "/segments")
        let failure = LogError(.newerVersion, "An event of the future.")
        #expect(throws: failure) {
            try log.writeAnew(through: last) { (event) throws(LogError) in
                if event.sequence.rawValue == last.rawValue / 2 { throw failure }
                return event
            }
        }
        #expect(try disk.list(CrashWorkload.path + "/segments") == files)
        log.discard(try log.writeAnew(through: last) { Self.form($0) })
        #expect(try disk.list(CrashWorkload.path + "/segments") == files)
        #expect(try log.written() == before)
        try log.close()
    }
}
