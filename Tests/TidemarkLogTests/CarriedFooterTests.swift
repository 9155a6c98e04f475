// Tidemark
// SPDX-License-Identifier: Apache-2.0

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
