// Tidemark
// SPDX-License-Identifier: Apache-2.0

import SimulatedDisk
import Testing

@testable import TidemarkLog

/// Segments are prepared in parts, and begun before a commit needs them.
@Suite struct SegmentsAheadTests {
    private static let folder = StoreFolder(CrashWorkload.path)
    private let disk = SimulatedFileSystem()

    private func open(seed: UInt64 = 1) throws -> SegmentLog {
        try CrashWorkload.open(disk, seed: seed).log
    }

    private func commit(to log: SegmentLog, byteCount: Int = 300) throws {
        _ = try log.append(.sample(Int(log.lastSequence.rawValue), byteCount: byteCount))
        try log.blockUntilDurable(log.lastSequence)
    }

    /// Commits until a segment has been begun for commits that come later.
    private func fill(_ log: SegmentLog, byteCount: Int = 300) throws {
        let count = log.files.segmentCount
        while log.files.segmentCount == count { try commit(to: log, byteCount: byteCount) }
    }

    @Test func `A segment begins after the commit that leaves no room for another`() throws {
        let log = try open()
        try fill(log)
        let begun = try #require(log.files.segments.last?.id)
        #expect(begun.first == log.lastSequence.next)
        try commit(to: log)
        #expect(log.files.segments.last?.id == begun)
        #expect(try log.lines().count == Int(log.lastSequence.rawValue))
        try log.close()
        let (again, report) = try CrashWorkload.open(disk, seed: 2)
        #expect(report.wasClean)
        #expect(again.lastSequence == log.lastSequence)
        try again.close()
    }

    @Test func `The writer waits for a free descriptor to begin a segment`() throws {
        let files = HookedFileSystem(disk)
        let (log, _) = try CrashWorkload.open(files, seed: 1, writesInline: false)
        try log.commit(.sample(1))
        // The file is opened once to prepare it, and once to begin it.
        files.beforeOpening(Self.folder.spare(1), time: 2) { files.refuseOpenings(3) }
        try log.commit(.sample(2), beginsSegment: true)
        #expect(files.refusedOpeningCount == 0)
        #expect(log.files.segmentCount == 2)
        try log.close()
        let (again, report) = try CrashWorkload.open(disk, seed: 2)
        #expect(report.wasClean && again.lastSequence == log.lastSequence)
        try again.close()
    }

    @Test func `A crash before the first commit of a segment loses nothing`() throws {
        let log = try open()
        try fill(log)
        let lines = try log.lines()
        for outcome in disk.crashOutcomes(limit: 8) + [.processKilled] {
            let crashed = disk.crash(outcome)
            let again = try CrashWorkload.open(crashed, seed: 2).log
            #expect(try again.lines() == lines)
            try again.close()
        }
    }

    @Test func `The next segment is prepared in parts, between frames`() throws {
        let log = try open()
        try fill(log)
        let spare = Self.folder.spare(1)
        let changes = disk.trace.filter(\.changesDisk)
        let parts = changes.indices.filter {
            changes[$0].kind == .allocate && changes[$0].path == spare
        }
        #expect(parts.count >= 3)
        for (part, next) in zip(parts, parts.dropFirst()) {
            #expect(changes[part + 1].kind == .sync && changes[part + 1].path == spare)
            #expect(changes[part].offset ?? 0 < changes[next].offset ?? 0)
        }
        // The dictionary comes at the end; before each other part, a frame was written.
        for (part, next) in zip(parts.dropLast(), parts.dropFirst().dropLast()) {
            #expect(changes[part..<next].contains { $0.kind == .write && $0.path != spare })
        }
        // No commit had to prepare a segment itself.
        #expect(try !disk.exists(Self.folder.spare(2)))
        #expect(!changes.contains { $0.path == Self.folder.spare(2) })
        try log.close()
    }

    @Test func `Short frames do not make more parts than are worth a sync`() throws {
        let log = try open()
        try fill(log, byteCount: 20)
        let changes = disk.trace.filter(\.changesDisk)
        let parts = changes.indices.filter {
            changes[$0].kind == .sync && changes[$0].path == Self.folder.spare(1)
        }
        // Parts of a quarter, the dictionary and the header.
        #expect((3...6).contains(parts.count))
        for (part, next) in zip(parts.dropLast(2), parts.dropFirst().dropLast(2)) {
            let frames = changes[part..<next].filter { $0.kind == .write }
            #expect(frames.count > 1)
        }
        #expect(log.lastSequence.rawValue > 20)
        #expect(!disk.trace.contains { $0.path == Self.folder.spare(2) })
        try log.close()
    }

    @Test func `Long frames make parts that are large enough`() throws {
        let log = try CrashWorkload.open(disk, seed: 1, segmentByteCount: 4 << 20).log
        var random = SystemRandomNumberGenerator()
        // As long as the log has one segment, the next one is twice as long.
        while log.queue.withLock({ $0.spares.isEmpty }), log.files.segmentCount == 1 {
            var draft = CommitDraft(time: 1, received: 1, envelope: [])
            draft.append(zone: ZoneKey(rawValue: 1)) { payload in
                for _ in 0..<20_000 { withUnsafeBytes(of: random.next()) { payload += $0 } }
            }
            _ = try log.append(draft)
            try log.blockUntilDurable(log.lastSequence)
        }
        #expect(log.files.segmentCount == 1)
        let byteCount = try #require(log.queue.withLock { $0.spares.first?.room })
        #expect(byteCount > 1 << 20)
        try log.close()
    }

    @Test func `Closing removes a segment that is prepared in part`() throws {
        let log = try open()
        while try !disk.exists(Self.folder.spare(1)) { try commit(to: log) }
        #expect(log.queue.withLock { $0.spares.isEmpty })
        try log.close()
        #expect(try !disk.exists(Self.folder.spare(1)))
    }

    @Test func `A commit that lacks a segment finishes the one that is prepared in part`() throws {
        let log = try open()
        while try !disk.exists(Self.folder.spare(1)) { try commit(to: log) }
        let spare = try log.prepareSpare(for: 100)
        #expect(spare.path == Self.folder.spare(1))
        #expect(try disk.contents(of: spare.path).count == Int(spare.template.allocatedByteCount))
        #expect(log.preparation.withLock { $0 == nil })
        try disk.remove(spare.path)
        try log.close()
    }

    @Test func `A store at rest keeps no compressor for a segment that is not begun`() throws {
        let log = try open()
        while log.queue.withLock({ $0.spares.isEmpty }) { try commit(to: log) }
        #expect(log.queue.withLock { $0.spares.allSatisfy { $0.compressor != nil } })
        log.closeFinishedSegments()
        #expect(log.queue.withLock { $0.spares.allSatisfy { $0.compressor == nil } })
        try fill(log)
        try commit(to: log)
        let compressor = log.queue.withLock { $0.compressor }
        #expect(log.disk.withLock { $0.active.compressor.other === compressor.other })
        #expect(try log.lines().count == Int(log.lastSequence.rawValue))
        try log.close()
    }

    @Test func `A commit that is longer than the one prepared in part gets another`() throws {
        let log = try open()
        while try !disk.exists(Self.folder.spare(1)) { try commit(to: log) }
        try commit(to: log, byteCount: 20_000)
        #expect(try !disk.exists(Self.folder.spare(1)))
        #expect(try log.lines().count == Int(log.lastSequence.rawValue))
        try log.close()
    }

    @Test func `Preparing goes on after a part of it failed`() throws {
        let log = try open()
        while try !disk.exists(Self.folder.spare(1)) { try commit(to: log) }
        disk.failCall(disk.callCount(of: .allocate) + 1, of: .allocate, with: 5)
        try fill(log)
        #expect(try !disk.exists(Self.folder.spare(1)))
        let lines = try log.lines()
        #expect(lines.count == Int(log.lastSequence.rawValue))
        try log.close()
    }

    @Test func `A segment that is too short for its first commit is removed`() throws {
        let log = try open()
        try fill(log)
        let short = try #require(log.files.segments.last?.id)
        try commit(to: log, byteCount: 20_000)
        let next = try #require(log.files.segments.last?.id)
        #expect(next == SegmentID(first: short.first, generation: short.generation + 1))
        #expect(try !disk.exists(Self.folder.segment(short)))
        #expect(try log.lines().count == Int(log.lastSequence.rawValue))
        try log.close()
        #expect(try CrashWorkload.open(disk, seed: 2).report.wasClean)
    }

    // MARK: The queue

    private static func compressor() -> FrameCompressor { FrameCompressor(dictionary: []) }

    private static func spare(room: Int) -> SpareSegment {
        var template = FileHeader(
            kind: .segment,
            store: StoreID(low: 1, high: 2),
            incarnation: Incarnation(rawValue: 0),
            first: .zero,
            created: 0,
            salt: 3
        )
        template.allocatedByteCount = UInt64(template.framesOffset + room)
        return SpareSegment(
            path: "spare",
            template: template,
            dictionary: [],
            compressor: compressor()
        )
    }

    /// A queue with room for 1,000 bytes, which has written one frame of commits of 200 bytes.
    private static func queue(
        afterCommits count: Int,
        spare: SpareSegment,
        isClosing: Bool = false
    ) throws -> AppendQueue {
        var queue = AppendQueue(
            lastSequence: .zero,
            lastTime: 0,
            room: 1_000 + AppendQueue.reserveByteCount,
            compressor: compressor()
        )
        queue.keep(spare)
        for number in 0..<count {
            _ = queue.append(.sample(number), bound: 200, beginsSegment: false)
        }
        if isClosing { _ = queue.refuseCommits() }
        let isStarted = queue.startWriting()
        #expect(isStarted)
        let taken = queue.takeBatch()
        let batch = try #require(taken)
        #expect(!queue.isIdle)
        _ = queue.wrote(
            through: queue.lastSequence,
            commitCount: count,
            byteCount: batch.bound,
            bound: batch.bound,
            segmentNumber: batch.segmentNumber
        )
        return queue
    }

    @Test func `The queue begins a segment once another such commit has no room`() throws {
        let spare = Self.spare(room: 4_000)
        // The frame of four commits leaves room for one that is a quarter as long.
        var queue = try Self.queue(afterCommits: 4, spare: spare)
        var batch = queue.takeBatch()
        #expect(batch == nil)
        #expect(queue.unusedSpares.count == 1)

        queue = try Self.queue(afterCommits: 5, spare: spare)
        #expect(queue.unusedSpares.count == 1)
        batch = queue.takeBatch()
        #expect(batch?.builder.isEmpty == true)
        #expect(batch?.spare?.path == spare.path)
        #expect(queue.unusedSpares.isEmpty)
        batch = queue.takeBatch()
        #expect(batch == nil)
    }

    @Test func `A commit may be compressed early while its segment is begun`() throws {
        let spare = Self.spare(room: 4_000)
        var queue = try Self.queue(afterCommits: 5, spare: spare)
        // The frame of several commits was the last.
        #expect(!queue.isIdle)
        _ = queue.takeBatch()
        _ = queue.append(.sample(9), bound: 3_700, beginsSegment: false)
        let taken = queue.takeBatch()
        let batch = try #require(taken)
        queue.keep(Self.spare(room: 8_000))
        _ = queue.wrote(
            through: queue.lastSequence,
            commitCount: 1,
            byteCount: 3_700,
            bound: 3_700,
            segmentNumber: batch.segmentNumber
        )
        #expect(queue.isIdle)
        let ahead = queue.takeBatch()
        let begun = try #require(ahead?.spare)
        #expect(queue.isIdle)
        #expect(queue.compressor.other === begun.compressor?.other)
    }

    @Test func `A commit that is compressed early shares a frame with those before it`() throws {
        var queue = AppendQueue(
            lastSequence: .zero,
            lastTime: 0,
            room: 100_000,
            compressor: Self.compressor()
        )
        _ = queue.append(.sample(1), bound: 200, beginsSegment: false)
        var draft = CommitDraft.sample(2)
        let early = EarlyFrame(try #require(queue.compressor.sharedBlocks()))
        draft.begin(early, eventCount: 1)
        draft.compressCompleteBlocks()
        _ = queue.append(draft, bound: 200, beginsSegment: false)
        let batch = queue.takeBatch()
        #expect(batch?.builder.commitCount == 2)
        #expect(batch?.builder.positionCount == 2)
    }

    @Test func `A queue that is closing begins no segment`() throws {
        let spare = Self.spare(room: 4_000)
        var queue = try Self.queue(afterCommits: 5, spare: spare, isClosing: true)
        let batch = queue.takeBatch()
        #expect(batch == nil)
        #expect(queue.unusedSpares.count == 1)
    }

    @Test func `A segment that is too short for another such commit is not begun`() throws {
        let spare = Self.spare(room: 100 + AppendQueue.reserveByteCount)
        var queue = try Self.queue(afterCommits: 5, spare: spare)
        let batch = queue.takeBatch()
        #expect(batch == nil)
    }
}
