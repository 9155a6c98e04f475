// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SimulatedDisk
import Testing

@testable import TidemarkLog

/// The footer that the writer gathers while it writes.
@Suite struct CarriedFooterTests {
    private static let folder = StoreFolder(CrashWorkload.path)

    /// Writes commits of several zones, in frames of one commit and of several.
    private static func write(_ numbers: Range<Int>, to log: SegmentLog) throws {
        for number in numbers {
            _ = try log.append(GoldenStoreTests.draft(number))
            if number % 4 != 1 { try log.blockUntilDurable(log.lastSequence) }
            if number % 5 == 0 { log.vouch() }
        }
        try log.blockUntilDurable(log.lastSequence)
    }

    private static func open(_ disk: SimulatedFileSystem, seed: UInt64) throws -> SegmentLog {
        try CrashWorkload.open(disk, seed: seed, segmentByteCount: 3 << 10).log
    }

    /// Opens a log whose writer has a thread of its own.
    private static func openThreaded(
        _ disk: SimulatedFileSystem,
        segmentByteCount: Int
    ) throws -> SegmentLog {
        var configuration = LogConfiguration()
        configuration.segmentByteCount = segmentByteCount
        return try SegmentLog.openAndSeal(
            CrashWorkload.path,
            creating: true,
            configuration: configuration,
            environment: .fixed(disk),
            onDurable: { _ in }
        ).log
    }

    /// The sealed segments of a log, each with its file.
    private static func sealed(
        _ log: SegmentLog,
        on disk: SimulatedFileSystem
    ) throws -> [(file: any LogFile, header: FileHeader)] {
        try log.files.segments.filter(\.isSealed).map { segment in
            try SegmentReader.open(segment.id, store: log.store, in: folder, fileSystem: disk)
        }
    }

    @Test(arguments: [false, true])
    func `The footer equals the one computed from the frames`(reopens: Bool) throws {
        let disk = SimulatedFileSystem()
        var log = try Self.open(disk, seed: 1)
        try Self.write(0..<20, to: log)
        if reopens {
            try log.close()
            log = try Self.open(disk, seed: 2)
        }
        try Self.write(20..<60, to: log)
        let sealed = try Self.sealed(log, on: disk)
        #expect(sealed.count > 5)
        try Self.expectFooters(of: sealed)
    }

    @Test func `The footer has each large commit once, although another thread adds it`() throws {
        let disk = SimulatedFileSystem()
        let log = try Self.openThreaded(disk, segmentByteCount: 512 << 10)
        var drafts = DraftSource(seed: 1)
        for number in 0..<40 {
            // With small ones in between, which are added after the sync.
            let events = number % 4 == 0 ? 1...5 : 200...200
            try log.commit(drafts.draft(events: events, payload: 500...1_000))
        }
        try log.close()
        let sealed = try Self.sealed(log, on: disk)
        #expect(sealed.count > 2)
        try Self.expectFooters(of: sealed)
    }

    @Test func `A large commit whose sync fails is not reported as saved`() throws {
        let disk = SimulatedFileSystem()
        let log = try Self.openThreaded(disk, segmentByteCount: 1 << 20)
        var drafts = DraftSource(seed: 2)
        _ = try log.append(drafts.draft(events: 200...200, payload: 900...900))
        let saved = log.lastSequence
        try log.blockUntilDurable(saved)
        // No other sync comes before that of the next commit.
        log.backgroundWork.wait()
        disk.failCall(disk.callCount(of: .sync) + 1, of: .sync, with: EIO)
        _ = try log.append(drafts.draft(events: 200...200, payload: 900...900))
        #expect(throws: LogError.self) { try log.blockUntilDurable(log.lastSequence) }
        #expect(log.durableSequence == saved)
    }

    /// Expects that each segment's footer is the one that its frames give.
    private static func expectFooters(
        of sealed: [(file: any LogFile, header: FileHeader)]
    ) throws {
        for (file, header) in sealed {
            let footer = try SegmentReader.footer(of: file, header: header)
            var fold = try SegmentFold(file, header: header)
            try fold.walk(
                framesEnd: footer.summary.offset,
                meet: { (error) throws(LogError) in throw error }
            )
            #expect(footer.encoded(for: header) == fold.footer().encoded(for: header))
        }
    }

    @Test func `Sealing reads no frames that the same process wrote`() throws {
        let disk = SimulatedFileSystem()
        let log = try Self.open(disk, seed: 1)
        var number = 0
        // The sample for the next segment's dictionary is read before the damage.
        while log.queue.withLock({ $0.spares.isEmpty }) {
            try Self.write(number..<number + 1, to: log)
            number += 1
        }
        #expect(log.files.segments.count == 1)
        let reader = try #require(log.files.segments.first?.reader)
        let entry = try #require(reader.entry(at: 0))
        // Sealing that read the block would leave the segment without a footer.
        try disk.flipBit(reader.file.path, at: Int(entry.offset), bit: 0)
        while log.files.segments.count == 1 {
            try Self.write(number..<number + 1, to: log)
            number += 1
        }
        #expect(log.files.segments.first?.isSealed == true)
        #expect(throws: LogError.self) { try reader.decode(entry) }
    }
}
