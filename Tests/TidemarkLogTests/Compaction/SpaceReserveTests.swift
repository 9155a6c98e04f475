// Tidemark
// SPDX-License-Identifier: Apache-2.0

import SimulatedDisk
import Testing

@testable import TidemarkLog

/// Room that is kept back for compacting a full disk.
@Suite struct SpaceReserveTests {
    private let path = CrashWorkload.path + "/RESERVE"

    @Test func `Commits cannot use the space reserved for compaction`() throws {
        let disk = SimulatedFileSystem()
        let (log, _) = try CrashWorkload.open(disk, seed: 1)
        var drafts = DraftSource(seed: 1)
        #expect(try !log.useReserve(), "nothing is kept back for a log without a finished segment")
        while try !disk.exists(path) { try log.commit(drafts.draft(payload: 300...900)) }
        #expect(try log.useReserve())
        #expect(try !disk.exists(path))
        // There is room on this disk, and it is not for them.
        let refusal = #expect(throws: LogError.self) {
            for _ in 0..<1_000 { try log.commit(drafts.draft(payload: 300...900)) }
        }
        #expect(refusal?.code == .full)
        // For the compaction it is.
        _ = try log.append(drafts.draft(), beginsSegment: true)
        log.restoreReserve()
        for _ in 0..<100 { try log.commit(drafts.draft(payload: 300...900)) }
        #expect(try disk.exists(path))
        try log.close()
    }

    @Test func `Commits continue if the reserve cannot be freed`() throws {
        let disk = SimulatedFileSystem()
        let (log, _) = try CrashWorkload.open(disk, seed: 1)
        var drafts = DraftSource(seed: 1)
        while try !disk.exists(path) { try log.commit(drafts.draft(payload: 300...900)) }
        disk.failCall(disk.callCount(of: .remove) + 1, of: .remove, with: 5)
        #expect(throws: LogError.self) { try log.useReserve() }
        for _ in 0..<1_000 { try log.commit(drafts.draft(payload: 300...900)) }
        try log.close()
    }

    @Test func `A log that was closed reserves nothing any more`() throws {
        let disk = SimulatedFileSystem()
        let (log, _) = try CrashWorkload.open(disk, seed: 1)
        var drafts = DraftSource(seed: 1)
        while try !disk.exists(path) { try log.commit(drafts.draft(payload: 300...900)) }
        #expect(try log.useReserve())
        try log.close()
        // As by a compaction that notices the end of the store only now.
        log.restoreReserve()
        #expect(try !disk.exists(path))
    }

    @Test func `The next segment is prepared again after a compaction`() throws {
        let disk = SimulatedFileSystem()
        let (log, _) = try CrashWorkload.open(disk, seed: 1)
        var drafts = DraftSource(seed: 1)
        func append() throws {
            try log.commit(drafts.draft(events: 1...1, payload: 200...300))
        }
        while try !disk.exists(path) { try append() }
        _ = try log.append(drafts.draft(), beginsSegment: true)
        #expect(try log.useReserve())
        // Past the half of what the segment has room for.
        for _ in 0..<14 { try append() }
        #expect(log.queue.withLock { $0.spares.isEmpty })
        log.restoreReserve()
        // In parts, the last of which comes before the segment is full.
        let segmentCount = log.files.segments.count
        while log.queue.withLock({ $0.spares.isEmpty }) { try append() }
        #expect(log.files.segments.count == segmentCount)
        try log.close()
    }

    /// The disk of a log with a reserve whose process was killed.
    private func killed() throws -> SimulatedFileSystem {
        let source = SimulatedFileSystem()
        let (log, _) = try CrashWorkload.open(source, seed: 1)
        var drafts = DraftSource(seed: 1)
        while try !source.exists(path) { try log.commit(drafts.draft(payload: 300...900)) }
        return source.crash(.processKilled)
    }

    /// Opens its log, and seals nothing, which would need space too.
    private func open(_ disk: SimulatedFileSystem) throws -> SegmentLog {
        try SegmentLog.open(
            CrashWorkload.path,
            creating: false,
            configuration: CrashWorkload.configuration,
            environment: CrashWorkload.environment(disk, seed: 2),
            onDurable: { _ in }
        ).log
    }

    @Test func `Opening a log on a full disk uses only the space that it needs`() throws {
        let disk = try killed()
        let before = try #require(try disk.status(of: path)).byteCount
        disk.setCapacity(try disk.storeByteCount)
        let log = try open(disk)
        let after = try #require(try disk.status(of: path)).byteCount
        #expect(after < before)
        #expect(after >= before / 4)
        #expect(try log.useReserve())
    }

    @Test func `Opening a log on a full disk removes the query index if nothing else is left`()
        throws
    {
        let disk = try killed()
        try disk.remove(path)
        let storeByteCount = try disk.storeByteCount
        let folder = StoreFolder(CrashWorkload.path)
        try disk.createDirectory(folder.queries)
        for name in ["index.sqlite", "index.sqlite-wal"] {
            try disk.open(folder.queries + "/" + name, .create).allocate(to: 8 << 20)
        }
        disk.setCapacity(storeByteCount + (16 << 20))
        let log = try open(disk)
        #expect(try disk.list(folder.queries).isEmpty)
        try log.commit(.sample(1))
        try log.close()
    }

    @Test func `On a nearly full disk, the next segment has the size of the free space`() throws {
        let disk = SimulatedFileSystem(keepsTrace: false)
        let (log, _) = try CrashWorkload.open(disk, seed: 1, segmentByteCount: 64 << 20)
        var drafts = DraftSource(seed: 1)
        func append() throws {
            try log.commit(drafts.draft(events: 1...1, payload: 50_000...50_000))
        }
        // The next segment is to be longer than what the disk will have.
        while try disk.storeByteCount < 16 << 20 { try append() }
        _ = try log.append(drafts.draft(), beginsSegment: true)
        let room = 3 << 19
        disk.setCapacity(try disk.storeByteCount + room)
        let start = log.lastSequence
        #expect(throws: LogError.self) { while true { try append() } }
        #expect(Int(log.durableSequence.rawValue - start.rawValue) * 50_000 > room)
    }

    @Test func `Spare space stays small compared with the log`() throws {
        let disk = SimulatedFileSystem(keepsTrace: false)
        let (log, _) = try CrashWorkload.open(disk, seed: 1, segmentByteCount: 64 << 20)
        var drafts = DraftSource(seed: 1, isAllNoise: true)
        var used = 0
        var longest = 0
        for number in 0..<1_000 {
            try log.commit(drafts.draft(events: 1...1, payload: 60_000...60_000))
            used = Int(log.byteCount)
            let active = Int(log.files.segments.last?.reader?.header.allocatedByteCount ?? 0)
            #expect(active <= max(5 << 19, used / 20))
            longest = max(longest, active)
            if number % 40 != 0 { continue }
            #expect(try disk.storeByteCount - used <= max(16 << 20, used / 4))
        }
        #expect(used > 1_000 * 60_000)
        #expect(longest > 2 << 20)
        try log.close()
        #expect(try disk.storeByteCount - used <= max(4 << 20, used / 10))
        // The reserve grows again with the next segment.
        let cut = try #require(try disk.status(of: path)).byteCount
        let (again, _) = try CrashWorkload.open(disk, seed: 2, segmentByteCount: 64 << 20)
        let segments = again.files.segments.count
        while again.files.segments.count == segments {
            try again.commit(drafts.draft(events: 1...1, payload: 60_000...60_000))
        }
        let grown = try #require(try disk.status(of: path)).byteCount
        #expect(grown > cut)
        try again.close()
    }

    @Test func `Large commits get segments with room for several`() throws {
        let disk = SimulatedFileSystem(keepsTrace: false)
        let (log, _) = try CrashWorkload.open(disk, seed: 1, segmentByteCount: 64 << 20)
        var drafts = DraftSource(seed: 1, isAllNoise: true)
        for _ in 0..<16 {
            try log.commit(drafts.draft(events: 1...1, payload: 3_000_000...3_000_000))
        }
        #expect(log.files.segments.count <= 10)
        try log.close()
    }
}
