// Tidemark
// SPDX-License-Identifier: Apache-2.0

import SimulatedDisk
import TestSupport
import Testing

@testable import TidemarkLog

/// The disk runs out of space at every point: commits are refused before they take a position,
/// what is there can be read, and writing goes on when space returns.
@Suite struct FullDiskTests {
    /// Appends until the disk is full; a refusal must leave everything as it was.
    private func fill(
        _ log: SegmentLog,
        from drafts: inout DraftSource,
        _ history: inout History
    ) throws {
        while history.events.count < 200 {
            let draft = drafts.draft(payload: 300...900)
            let before = (log.lastSequence, log.lastTime)
            do throws(LogError) {
                _ = try log.append(draft)
            } catch {
                #expect(error.code == .full)
                #expect((log.lastSequence, log.lastTime) == before)
                return
            }
            history.append(draft)
            try log.blockUntilDurable(log.lastSequence)
            history.acknowledge(in: log)
        }
    }

    @Test func `A full disk rejects commits, allows reads, and continues later`() throws {
        let empty = SimulatedFileSystem()
        _ = try CrashWorkload.open(empty, seed: 1)
        let least = try empty.storeByteCount
        for room in stride(from: 0, to: 30_000, by: runsLongTests ? 97 : 997) {
            let disk = SimulatedFileSystem(capacity: least + room)
            var drafts = DraftSource(seed: UInt64(room))
            var history = History()
            let (log, _) = try CrashWorkload.open(disk, seed: 1)
            history.isCreated = true
            try fill(log, from: &drafts, &history)
            #expect(history.acknowledged > 0, "the first segment has room")
            #expect(history.events.count < 200, "the disk was never full")
            #expect(try log.written() == history.events)

            let image = disk.crash(.losingEverythingUnsynced)
            image.setCapacity(nil)
            #expect(CrashPromise.violation(on: image, after: history) == nil)

            disk.setCapacity(nil)
            let draft = drafts.draft(payload: 6000...6000)
            history.append(draft)
            try log.commit(draft)
            history.acknowledge(in: log)
            try log.close()
            history.isClosed = true
            #expect(CrashPromise.violation(on: disk, after: history) == nil)
        }
    }

    @Test func `Preparing a segment without space is retried only after some growth`() throws {
        let disk = SimulatedFileSystem()
        var configuration = LogConfiguration()
        configuration.segmentByteCount = 64 << 10
        let (log, _) = try SegmentLog.open(
            CrashWorkload.path,
            creating: true,
            configuration: configuration,
            environment: CrashWorkload.environment(disk, seed: 1),
            onDurable: { _ in }
        )
        disk.setCapacity(try disk.storeByteCount)
        let before = disk.callCount(of: .allocate)
        var drafts = DraftSource(seed: 1, isAllNoise: true)
        for _ in 0..<80 { try log.commit(drafts.draft(events: 1...1, payload: 400...400)) }
        // At a half, a quarter, an eighth and a sixteenth of the room.
        #expect((1...4).contains(disk.callCount(of: .allocate) - before))
        disk.setCapacity(nil)
        for _ in 0..<80 { try log.commit(drafts.draft(events: 1...1, payload: 400...400)) }
        try log.close()
    }

    @Test func `Creating a log without space fails and succeeds later`() throws {
        let whole = SimulatedFileSystem()
        _ = try CrashWorkload.open(whole, seed: 1)
        for capacity in stride(
            from: 0,
            to: try whole.storeByteCount,
            by: runsLongTests ? 97 : 1997
        ) {
            let disk = SimulatedFileSystem(capacity: capacity)
            #expect { try CrashWorkload.open(disk, seed: 1) } throws: {
                ($0 as? LogError)?.code == .full
            }
            disk.setCapacity(nil)
            #expect(CrashPromise.violation(on: disk, after: History()) == nil)
        }
    }

    @Test func `Reopening a log without space fails and succeeds later`() throws {
        let source = SimulatedFileSystem()
        var history = History()
        var drafts = DraftSource(seed: 3)
        do {
            let (log, _) = try CrashWorkload.open(source, seed: 1)
            history.isCreated = true
            for _ in 0..<12 {
                let draft = drafts.draft(payload: 300...900)
                history.append(draft)
                try log.commit(draft)
                history.acknowledge(in: log)
            }
        }
        let full = source.crash(.processKilled)
        full.setCapacity(try source.storeByteCount)
        // What is kept back for compaction lets it be opened.
        _ = try CrashWorkload.open(full, seed: 2)
        try source.remove(CrashWorkload.path + "/RESERVE")
        let least = try source.storeByteCount
        var refusedCount = 0
        for room in stride(from: 0, to: 200_000, by: runsLongTests ? 501 : 4999) {
            let disk = source.crash(.processKilled)
            disk.setCapacity(least + room)
            do throws(LogError) {
                _ = try CrashWorkload.open(disk, seed: 2)
            } catch {
                #expect(error.code == .full)
                refusedCount += 1
            }
            disk.setCapacity(nil)
            #expect(CrashPromise.violation(on: disk, after: history) == nil)
        }
        #expect(refusedCount > 3)
    }

    @Test func `A manifest that outgrows its file fails on a full disk before a commit does`()
        throws
    {
        let disk = SimulatedFileSystem(keepsTrace: false)
        var history = History()
        var drafts = DraftSource(seed: 8)
        let (log, _) = try CrashWorkload.open(disk, seed: 1)
        history.isCreated = true
        let manifest = CrashWorkload.path + "/manifest-000001"
        let first = try disk.contents(of: manifest).count
        var refusedCount = 0
        // Enough segments that their edits fill more than the manifest was made for.
        while try disk.contents(of: manifest).count == first {
            // Space for the next segment, and for nothing else.
            disk.setCapacity(try disk.storeByteCount + 9_000)
            let draft = drafts.draft(events: 1...1, payload: 5000...5000)
            do throws(LogError) {
                _ = try log.append(draft)
            } catch {
                try #require(error.code == .full, "\(error)")
                refusedCount += 1
                disk.setCapacity(nil)
                _ = try log.append(draft)
            }
            history.append(draft)
            try log.blockUntilDurable(log.lastSequence)
            history.acknowledge(in: log)
        }
        #expect(refusedCount > 0)
        disk.setCapacity(nil)
        try log.close()
        #expect(CrashPromise.violation(on: disk, after: history) == nil)
    }
}
