// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import TidemarkLog

@Suite struct LogFiguresTests {
    let folder: ScratchFolder
    let path: String

    init() throws {
        folder = try ScratchFolder()
        path = folder.url.path + "/notes.tide"
    }

    func open(seed: UInt64 = 1, writesInline: Bool = false) throws -> SegmentLog {
        var configuration = LogConfiguration()
        configuration.segmentByteCount = 8 << 10
        var environment = LogEnvironment.fixed(PosixFileSystem(), seed: seed)
        environment.writesInline = writesInline
        return try SegmentLog.openAndSeal(
            path,
            creating: true,
            configuration: configuration,
            environment: environment,
            onDurable: { _ in }
        ).log
    }

    func append(_ numbers: Range<Int>, to log: SegmentLog) throws {
        for number in numbers {
            _ = try log.append(.sample(number, zones: [1, 2], byteCount: 200))
            if number % 20 == 0 { try log.blockUntilDurable(log.lastSequence) }
        }
        try log.blockUntilDurable(log.lastSequence)
    }

    func figures() throws -> LogFigures {
        try LogReader(path, fileSystem: PosixFileSystem()).figures()
    }

    /// Bytes of all files of the store.
    func byteCountOnDisk() throws -> UInt64 {
        let files = FileManager.default.enumerator(atPath: path)
        var byteCount: UInt64 = 0
        while let name = files?.nextObject() as? String {
            let attributes = try FileManager.default.attributesOfItem(atPath: "\(path)/\(name)")
            guard attributes[.type] as? FileAttributeType == .typeRegular else { continue }
            byteCount += try #require(attributes[.size] as? UInt64)
        }
        return byteCount
    }

    @Test func `The figures of a closed log match its events and files`() throws {
        let log = try open()
        try append(0..<600, to: log)
        try log.close()
        let figures = try figures()
        #expect(figures.eventCount == 1_200)
        #expect(figures.commitCount == 600)
        #expect(figures.segments.count > 3)
        #expect(figures.segments.dropLast().allSatisfy { $0.state != .active })
        #expect(figures.segments.last?.state == .active)
        #expect(figures.segments.contains { $0.state == .sealed && $0.spareByteCount == 0 })
        #expect(figures.segments.allSatisfy { $0.recovery == nil })
        #expect(figures.rawByteCount > figures.byteCount)
        // What each segment covers joins up.
        for (segment, next) in zip(figures.segments, figures.segments.dropFirst()) {
            #expect(segment.last.next == next.id.first)
        }
        #expect(figures.segments.last?.last.rawValue == 1_200)
        // Nothing on disk is left out, and nothing is counted twice.
        #expect(try figures.byteCount + figures.spareByteCount == byteCountOnDisk())
    }

    @Test func `A log without events has figures`() throws {
        try open().close()
        let figures = try figures()
        #expect(figures.eventCount == 0)
        #expect(figures.segments.map(\.last) == [.zero])
        #expect(try figures.byteCount + figures.spareByteCount == byteCountOnDisk())
    }

    @Test func `The segment started after an unclean stop is reported`() throws {
        var end: UInt64 = 0
        do {
            let log = try open(writesInline: true)
            try append(0..<10, to: log)
            end = try figures().segments[0].byteCount
            try log.commit(.sample(10, byteCount: 4_000))
            // Dropped without closing, as a process that was killed would leave it.
        }
        // Of the last write only the first sector reached the disk.
        let segment = path + "/segments/00000000000000000001-0.seg"
        let all = try figures().segments[0].byteCount
        let file = try PosixFileSystem().open(segment, .readWrite)
        let kept = (end / 512 + 1) * 512
        try file.write([UInt8](repeating: 0, count: Int(all - kept)).span.bytes, at: kept)
        file.close()
        let torn = try LogReader(path, fileSystem: PosixFileSystem())
        #expect(try torn.figures().eventCount == 20)
        #expect(torn.damage.isEmpty)
        let again = try open(seed: 2)
        try append(10..<12, to: again)
        try again.close()
        let segments = try figures().segments
        #expect(segments.count == 2)
        #expect(segments[0].recovery == nil)
        #expect(
            segments[1].recovery
                == RecoveryEntry(discardedByteCount: torn.tornByteCount, discardedOffset: end)
        )
        #expect(segments[1].incarnation != segments[0].incarnation)
        #expect(segments.map(\.eventCount) == [20, 4])
    }

    @Test func `A damaged segment is counted as far as it can be read`() throws {
        let log = try open()
        try append(0..<600, to: log)
        try log.close()
        let whole = try figures()
        let sealed = try #require(whole.segments.first { $0.state == .sealed })
        let name = path + "/segments/" + sealed.id.fileName
        let file = try PosixFileSystem().open(name, .readWrite)
        // The trailer: the frames are still there to be walked.
        try file.write([0, 0, 0, 0].span.bytes, at: file.byteCount() - 4)
        let reader = try LogReader(path, fileSystem: PosixFileSystem())
        let walked = try reader.figures()
        #expect(walked.eventCount == whole.eventCount)
        #expect(walked.rawByteCount == whole.rawByteCount)
        #expect(reader.damage.map(\.path) == [name])
        // The header: nothing can be trusted.
        try file.write([0, 0, 0, 0].span.bytes, at: 0)
        let second = try LogReader(path, fileSystem: PosixFileSystem())
        let rest = try second.figures()
        #expect(rest.segments.filter { $0.state == .unreadable }.map(\.id) == [sealed.id])
        #expect(rest.eventCount == whole.eventCount - sealed.eventCount)
        #expect(second.damage.map(\.path) == [name])
    }
}
