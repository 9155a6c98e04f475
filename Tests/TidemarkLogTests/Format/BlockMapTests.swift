// Tidemark
// SPDX-License-Identifier: Apache-2.0

import SimulatedDisk
import TestSupport
import Testing

@testable import TidemarkLog

/// Reading few events of large blocks, which goes by way of a map.
@Suite struct BlockMapTests {
    private typealias Events = [UInt64: WrittenEvent]

    /// What reading some positions tells.
    private static func read(
        _ positions: [UInt64],
        of log: SegmentLog
    ) throws -> [WrittenEvent] {
        var events: [WrittenEvent] = []
        try log.read(positions.map(SequenceNumber.init(rawValue:))) {
            events.append(WrittenEvent($0))
            return true
        }
        return events
    }

    @Test(arguments: 0..<4 as Range<UInt64>)
    func `Reading few events of a block equals reading the whole log`(_ seed: UInt64) throws {
        let disk = SimulatedFileSystem()
        var configuration = LogConfiguration()
        // One commit may take up half a block, another lies in one with a hundred others.
        configuration.segmentByteCount = 256 << 10
        let (log, _) = try SegmentLog.open(
            CrashWorkload.path,
            creating: true,
            configuration: configuration,
            environment: .fixed(disk),
            onDurable: { _ in }
        )
        var drafts = DraftSource(seed: seed)
        for count in [1...1, 1...4, 1...150] {
            for _ in 0..<300 { _ = try log.append(drafts.draft(events: count, payload: 0...40)) }
            try log.blockUntilDurable(log.lastSequence)
        }
        let last = log.lastSequence
        try log.commit(drafts.draft(), beginsSegment: true)
        var numbers = SeededGenerator(seed: seed)
        for _ in 0..<2 {
            let events = Dictionary(
                uniqueKeysWithValues: try log.written().map { ($0.sequence, $0) }
            )
            // Sparse ones, the same again by way of the maps, and so many that they need none.
            for distance in [1, 5, 40, 300, 300, 40, 5] as [UInt64] {
                let positions = (1...last.rawValue).filter { _ in
                    numbers.next() % distance == 0
                }
                #expect(try Self.read(positions, of: log) == positions.compactMap { events[$0] })
            }
            // Then with gaps.
            try Self.drop(in: log, through: last)
        }
        try log.close()
    }

    /// Drops four in five events.
    private static func drop(in log: SegmentLog, through last: SequenceNumber) throws(LogError) {
        let fate: (LogEvent) -> EventFate = { $0.sequence.rawValue * 7 % 11 < 2 ? .kept : .dropped }
        try log.compact(through: last, fate: fate)
    }
}
