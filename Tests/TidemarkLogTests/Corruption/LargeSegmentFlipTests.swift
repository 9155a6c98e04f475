// Tidemark
// SPDX-License-Identifier: Apache-2.0

import SimulatedDisk
import TestSupport
import Testing

@testable import TidemarkLog

/// Ten thousand random bits of one full-grown sealed segment, each turned over alone.
@Suite struct LargeSegmentFlipTests {
    private static let path = "/large.tide"
    private static let byteCount = runsLongTests ? 64 << 20 : 3 << 20

    private static func open(_ disk: SimulatedFileSystem) throws -> SegmentLog {
        var configuration = LogConfiguration()
        configuration.segmentByteCount = byteCount
        configuration.cacheByteCount = 0
        return try SegmentLog.open(
            path,
            creating: true,
            configuration: configuration,
            environment: CrashWorkload.environment(disk, seed: 1),
            onDurable: { _ in }
        ).log
    }

    /// A closed store whose largest segment is sealed.
    private static func store() throws -> SimulatedFileSystem {
        let disk = SimulatedFileSystem(keepsTrace: false)
        let log = try open(disk)
        var drafts = DraftSource(seed: 5)
        while log.files.segments.last(where: \.isSealed)?.framesEnd ?? 0 < byteCount * 3 / 4 {
            try log.commit(drafts.draft(events: 60...60, payload: 1500...6000))
        }
        try log.close()
        return disk
    }

    /// The parts of a segment's file, each with the check that reading it makes.
    private struct Checks {
        let files: LogFiles
        let reader: SegmentReader
        let footerOffset: Int

        /// Whether somebody who reads what is at an offset is told that it is damaged.
        func notice(at offset: Int, path: String) throws -> Bool {
            if offset < reader.header.framesOffset {
                return isDamage(path) { () throws(LogError) in
                    let header = try FileHeader.read(from: reader.file, kind: .segment)
                    _ = try SegmentReader.dictionary(of: reader.file, header: header)
                }
            }
            if offset >= footerOffset {
                return isDamage(path) { () throws(LogError) in
                    _ = try SegmentReader.footer(of: reader.file, header: reader.header)
                }
            }
            if let entry = block(at: offset) {
                return isDamage(path, offset: entry.offset) { () throws(LogError) in
                    try files.read([entry.last]) { _ in true }
                }
            }
            // Headers, tables and paddings of frames are read by those who walk the frames.
            return isDamage(path) { () throws(LogError) in
                var scan = try FrameScan(
                    reader.file,
                    header: reader.header,
                    limit: UInt64(footerOffset)
                )
                while true {
                    switch try scan.step() {
                    case .frame: continue
                    case .stop(.limit): return
                    case .stop(let stop):
                        let tail = try scan.tail(after: stop, promised: UInt64(footerOffset))
                        if case .corrupted(let error) = tail { throw error }
                        return
                    }
                }
            }
        }

        private func block(at offset: Int) -> BlockEntry? {
            var low = 0
            var high = reader.blockCount
            while low < high {
                let middle = (low + high) / 2
                guard let entry = reader.entry(at: middle) else { return nil }
                if Int(entry.offset) + Int(entry.storedByteCount) <= offset {
                    low = middle + 1
                } else {
                    high = middle
                }
            }
            return reader.entry(at: low).flatMap { Int($0.offset) <= offset ? $0 : nil }
        }

        private func isDamage(
            _ path: String,
            offset: UInt32? = nil,
            _ body: () throws(LogError) -> Void
        ) -> Bool {
            do throws(LogError) {
                try body()
                return false
            } catch {
                return error.code == .corrupted && error.path == path && error.offset != nil
                    && (offset == nil || error.offset == offset.map(UInt64.init))
            }
        }
    }

    @Test func `Each of ten thousand flipped bits is detected at its position`() throws {
        let disk = try Self.store()
        let log = try Self.open(disk)
        let segments = log.files.segments
        let index = try #require(
            segments.indices.max {
                segments[$0].framesEnd ?? 0 < segments[$1].framesEnd ?? 0
            }
        )
        let reader = try #require(try log.files.reader(of: log.files.segments[index]))
        let path = reader.file.path
        let byteCount = try disk.contents(of: path).count
        #expect(byteCount > Self.byteCount / 2)
        let checks = Checks(
            files: log.files,
            reader: reader,
            footerOffset: Int(try #require(segments[index].framesEnd))
        )
        var numbers = SeededGenerator(seed: 6)
        var unnoticed: [String] = []
        for number in 0..<10_000 {
            // Every tenth one where checks are rarer: the headers and the footer.
            let range =
                number % 10 == 0
                ? checks.footerOffset..<byteCount
                : number % 10 == 1 ? 0..<reader.header.framesOffset : 0..<byteCount
            let offset = Int.random(in: range, using: &numbers)
            let bit = Int.random(in: 0..<8, using: &numbers)
            try disk.flipBit(path, at: offset, bit: bit)
            if try !checks.notice(at: offset, path: path) {
                unnoticed.append("bit \(bit) at \(offset) of \(byteCount)")
            }
            try disk.flipBit(path, at: offset, bit: bit)
        }
        #expect(unnoticed.prefix(5) == [])
    }
}
