// Tidemark
// SPDX-License-Identifier: Apache-2.0

import SimulatedDisk
import Testing

@testable import TidemarkLog

/// A store as the first version of the format wrote it: sealed segments, one that takes events,
/// two incarnations, every kind of frame, a manifest and CURRENT, and a dump of it all beside it.
@Suite(.serialized) struct GoldenStoreTests {
    private static let path = GoldenStore.path
    private static let golden = GoldenStore(name: "log", write: write)

    // MARK: Writing

    /// What today's writer makes of the same commits, with the same clock and randomness.
    private static func write() throws -> SimulatedFileSystem {
        let disk = SimulatedFileSystem()
        // The first process ends without closing, the second one closes.
        for (seed, numbers) in [(1, 0..<13), (2, 13..<22)] as [(UInt64, Range<Int>)] {
            let log = try open(disk, seed: seed).log
            for number in numbers {
                _ = try log.append(draft(number))
                // Frames of one commit and of several.
                if number % 4 != 1 { try log.blockUntilDurable(log.lastSequence) }
                if number % 5 == 0 { log.vouch() }
            }
            if seed == 2 { try log.close() }
        }
        return disk
    }

    static func open(
        _ disk: SimulatedFileSystem,
        seed: UInt64
    ) throws(LogError) -> (log: SegmentLog, report: RecoveryReport) {
        var configuration = LogConfiguration()
        configuration.segmentByteCount = 3 << 10
        return try SegmentLog.openAndSeal(
            path,
            creating: true,
            configuration: configuration,
            environment: CrashWorkload.environment(disk, seed: seed),
            onDurable: { _ in }
        )
    }

    static func draft(_ number: Int) -> CommitDraft {
        var draft = CommitDraft(
            time: 1_700_000_000_000 + Int64(number) * 1_000,
            received: 1_700_000_000_007 + Int64(number) * 1_001,
            envelope: Array("user-\(number % 3)".utf8)
        )
        for event in 0...number % 3 {
            let zone =
                number < 2
                ? CommitDraft.ownSequence : ZoneKey(rawValue: UInt64(1 + (number + event) % 2))
            draft.append(zone: zone) { payload in
                payload += Array("commit \(number), event \(event): ".utf8)
                for word in 0..<number * 2 { payload += Array("word \(word * number) ".utf8) }
            }
        }
        return draft
    }

    // MARK: Tests

    @Test func `A store of version 1 is read`() throws {
        #expect(try GoldenStore.dump(Self.golden.fixture()) == Self.golden.dump())
    }

    @Test func `A store of version 1 can be opened and continued`() throws {
        let disk = try Self.golden.fixture()
        let before = try LogReader(Self.path, fileSystem: disk).written()
        let (log, report) = try Self.open(disk, seed: 3)
        #expect(report.wasClean)
        #expect(log.files.segments.filter(\.isSealed).count >= 2)
        let draft = Self.draft(22)
        _ = try log.append(draft)
        try log.close()
        let after = try LogReader(Self.path, fileSystem: disk).written()
        #expect(after == before + draft.written(first: UInt64(before.count + 1)))
    }

    @Test func `The golden segments contain every kind of frame`() throws {
        let disk = try Self.golden.fixture()
        var kinds: Set<FrameKind> = [.edits]
        for segment in try LogReader(Self.path, fileSystem: disk).manifest.segments {
            let file = try disk.open(StoreFolder(Self.path).segment(segment.id), .read)
            let header = try FileHeader.read(from: file, kind: .segment)
            var scan = try FrameScan(file, header: header, limit: segment.framesEnd)
            while case .frame(let frame) = try scan.step() { kinds.insert(frame.header.kind) }
        }
        #expect(kinds == [.commits, .marker, .closing, .recovery, .edits])
    }

    @Test func `The current writer writes the same files`() throws {
        #expect(try Self.golden.filesThatDiffer() == [])
    }
}
