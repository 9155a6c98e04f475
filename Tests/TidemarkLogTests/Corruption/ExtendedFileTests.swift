// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import TidemarkLog

/// Files that were extended far beyond what was written: reading costs what they hold.
@Suite struct ExtendedFileTests {
    private static let terabyte: UInt64 = 1 << 40

    private let folder: ScratchFolder
    private let fileSystem = PosixFileSystem()

    init() throws {
        folder = try ScratchFolder()
    }

    private var path: String { folder.url.path + "/store" }

    private func environment(seed: UInt64) -> LogEnvironment {
        var environment = LogEnvironment.fixed(fileSystem, seed: seed)
        environment.writesInline = true
        return environment
    }

    private func open(seed: UInt64) throws(LogError) -> SegmentLog {
        try SegmentLog.open(
            path,
            creating: true,
            configuration: LogConfiguration(),
            environment: environment(seed: seed),
            onDurable: { _ in }
        ).log
    }

    private func extend(_ path: String) throws {
        try fileSystem.open(path, .readWrite).truncate(to: Self.terabyte)
    }

    @Test(arguments: [true, false]) func `An extended manifest or active segment is read`(
        isClosed: Bool
    ) throws {
        let log = try open(seed: 1)
        try log.commit(.sample(1, zones: [1, 2]))
        let expected = try log.lines()
        // Without a close the end of the segment is found by looking for frames behind it.
        if !isClosed {
            try FileManager.default.copyItem(atPath: path, toPath: folder.url.path + "/copy")
        }
        try log.close()
        if !isClosed {
            try FileManager.default.removeItem(atPath: path)
            try FileManager.default.moveItem(atPath: folder.url.path + "/copy", toPath: path)
        }
        for name in try fileSystem.list(path + "/segments") where name.hasSuffix(".seg") {
            try extend("\(path)/segments/\(name)")
        }
        for name in try fileSystem.list(path) where name.hasPrefix("manifest-") {
            try extend("\(path)/\(name)")
        }
        let reader = try LogReader(path, fileSystem: fileSystem)
        #expect(try reader.verify().damage == [])
        #expect(try reader.lines() == expected)
        let again = try open(seed: 2)
        #expect(try again.lines() == expected)
        try again.close()
    }

    @Test func `An extended segment of the journal is read`() throws {
        let store = StoreID(low: 1, high: 2)
        let storeFolder = StoreFolder(folder.url.path)
        func journal(seed: UInt64) -> Journal {
            Journal(
                storeFolder,
                of: store,
                Incarnation(rawValue: 7),
                JournalConfiguration(),
                environment(seed: seed)
            )
        }
        let first = journal(seed: 1)
        first.append(Array("one".utf8), at: 10)
        first.close()
        try extend(storeFolder.journalSegment(1))
        func entries() -> (texts: [String], damage: [LogError]) {
            var reader = JournalReader(storeFolder, of: store, fileSystem)
            var texts: [String] = []
            reader.read { (_, _, bytes) in
                texts.append(bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) })
            }
            return (texts, reader.damage)
        }
        #expect(entries().texts == ["one"])
        let second = journal(seed: 2)
        second.append(Array("two".utf8), at: 20)
        second.close()
        #expect(entries().texts == ["one", "two"])
        #expect(entries().damage == [])
    }

    @Test func `An overlong file without holes is rejected`() throws {
        let file = try fileSystem.open(folder.url.path + "/long", .create)
        try file.write([UInt8](repeating: 1, count: 20).span.bytes, at: 0)
        #expect(try fileSystem.contents(of: file.path).count == 20)
        let error = #expect(throws: FileError.self) {
            try fileSystem.contents(of: file.path, limit: 19)
        }
        #expect(error?.errorNumber == EFBIG)
    }
}
