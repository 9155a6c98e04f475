// Tidemark
// SPDX-License-Identifier: Apache-2.0

import SimulatedDisk
import Testing

@testable import TidemarkLog

/// Positions without events, more of them than a frame can count.
@Suite struct WideGapTests {
    /// A log with a gap of five billion positions in its first segment, and one event in its second.
    private static func makeLog(
        on disk: SimulatedFileSystem,
        zoneCount: Int
    ) throws -> (log: SegmentLog, last: SequenceNumber) {
        let log = try StripedLog.open(disk)
        func append(_ numbers: Range<Int>) throws {
            for number in numbers {
                let zones = [UInt64(number % zoneCount + 1), UInt64(number * 3 % zoneCount + 1)]
                _ = try log.append(.sample(number, zones: zones, byteCount: 900))
            }
        }
        try append(0..<60)
        for _ in 0..<5 { log.appendGap(UInt32(Layout.framePositionCount)) }
        try append(60..<120)
        let last = log.lastSequence
        try log.commit(.sample(120), beginsSegment: true)
        return (log, last)
    }

    @Test(arguments: [1, 7], [true, false])
    func `A gap of billions of positions is written, read, rewritten and salvaged`(
        zoneCount: Int,
        drops: Bool
    ) throws {
        let disk = SimulatedFileSystem(keepsTrace: false)
        let (log, last) = try Self.makeLog(on: disk, zoneCount: zoneCount)
        let before = try log.written()
        #expect(before.count == 241)
        #expect(last.rawValue > UInt64(UInt32.max) + 200)
        // Of the events beside the gap none stays, so that it becomes wider.
        func stays(_ sequence: UInt64) -> Bool {
            !drops || sequence <= 4 || sequence + 4 > last.rawValue
        }
        try log.rewriteFinished(through: last) { stays($0.sequence.rawValue) ? .kept : .dropped }
        let expected = before.filter { stays($0.sequence) }
        #expect(try log.written() == expected)
        #expect(log.files.segments.contains { $0.id.generation > 0 })
        try log.close()
        let reader = try LogReader(CrashWorkload.path, fileSystem: disk)
        #expect(try reader.written() == expected)
        #expect(try reader.verify().damage == [])
        var found: [UInt64] = []
        try reader.read([1, last.rawValue / 2, last.rawValue].map(SequenceNumber.init(rawValue:))) {
            event in
            found.append(event.sequence.rawValue)
            return true
        }
        #expect(found == [1, last.rawValue])
        let salvage = try Salvage.run(
            from: CrashWorkload.path,
            to: "/copy",
            environment: CrashWorkload.environment(disk, seed: 8)
        )
        #expect(salvage.damage == [])
        #expect(try LogReader("/copy", fileSystem: disk).written() == expected)
    }
}
