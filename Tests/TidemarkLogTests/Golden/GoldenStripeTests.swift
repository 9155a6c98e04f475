// Tidemark
// SPDX-License-Identifier: Apache-2.0

import SimulatedDisk
import Testing

@testable import TidemarkLog

/// A store whose finished segments were compacted and grouped by zone, as version 2 of the format wrote
/// it.
@Suite(.serialized) struct GoldenStripeTests {
    private static let golden = GoldenStore(version: 2, name: "striped", write: write)

    private static func open(
        _ disk: SimulatedFileSystem,
        seed: UInt64
    ) throws(LogError) -> SegmentLog {
        var configuration = LogConfiguration()
        configuration.segmentByteCount = 32 << 10
        return try SegmentLog.openAndSeal(
            GoldenStore.path,
            creating: true,
            configuration: configuration,
            environment: CrashWorkload.environment(disk, seed: seed),
            onDurable: { _ in }
        ).log
    }

    /// One of three zones in turns, or two of them; every ninth commit touches a zone that has little.
    private static func draft(_ number: Int) -> CommitDraft {
        var draft = CommitDraft(
            time: 1_700_000_000_000 + Int64(number) * 1_000,
            received: 1_700_000_000_007 + Int64(number) * 1_001,
            envelope: Array("user-\(number % 3)".utf8)
        )
        for event in 0...number % 3 {
            let zone = number % 9 == 8 ? 10 + number : number % 3 + event % 2
            draft.append(
                zone: number < 3 ? CommitDraft.ownSequence : ZoneKey(rawValue: UInt64(zone))
            ) { payload in
                payload += Array("commit \(number), event \(event): ".utf8)
                for word in 0..<40 { payload += Array("word \(word) of zone \(zone) ".utf8) }
            }
        }
        return draft
    }

    private static func write() throws -> SimulatedFileSystem {
        let disk = SimulatedFileSystem()
        let log = try open(disk, seed: 1)
        for number in 0..<44 { try log.commit(draft(number), beginsSegment: number == 40) }
        let last = try #require(log.manifest.manifest.segments.compactMap(\.last).max())
        try log.rewriteFinished(through: last) { event in
            switch event.sequence.rawValue % 10 {
            case 3: .dropped
            case 7: .replaced(Array("note".utf8))
            default: .kept
            }
        }
        _ = try log.removeReplacedSegments()
        try log.close()
        return disk
    }

    @Test func `A striped store of version 2 is read`() throws {
        #expect(try GoldenStore.dump(Self.golden.fixture()) == Self.golden.dump())
    }

    @Test func `Only its compacted segment has a stripe and requires a newer reader`() throws {
        let disk = try Self.golden.fixture()
        let log = try Self.open(disk, seed: 3)
        for segment in log.files.segments {
            let reader = try #require(try log.files.reader(of: segment))
            let isCompacted = segment.id.generation > 0
            #expect(reader.stripes.count == (isCompacted ? 1 : 0))
            #expect(reader.header.version == (isCompacted ? 2 : 1))
        }
        _ = try log.append(Self.draft(44))
        try log.close()
        #expect(try LogReader(GoldenStore.path, fileSystem: disk).verify().damage == [])
    }

    @Test func `The current compactor writes the same files`() throws {
        #expect(try Self.golden.filesThatDiffer() == [])
    }
}
