// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CLZ4
import Foundation
import Testing

@testable import TidemarkLog

/// A store as the first version of the format wrote it: sealed segments, one that takes events,
/// two incarnations, every kind of frame, a manifest and CURRENT, and a dump of it all beside it.
///
/// The files of a released version never change. While version 1 is not released, `TIDEMARK_GOLDEN=1
/// swift test --filter GoldenStoreTests` writes them anew.
@Suite(.serialized) struct GoldenStoreTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../Fixtures/v1").standardizedFileURL
    private static let path = "/log.tide"

    /// The files that count: CURRENT, the manifest that it names, and the segments.
    private static func names(in disk: SimulatedFileSystem) throws -> [String] {
        let manifests = try disk.list(path).filter { StoreFolder.manifestNumber($0) != nil }
        let segments = try disk.list(path + "/segments")
        return ["CURRENT"] + manifests.suffix(1) + segments.map { "segments/" + $0 }
    }

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

    private static func open(
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

    private static func draft(_ number: Int) -> CommitDraft {
        var draft = CommitDraft(
            time: 1_700_000_000_000 + Int64(number) * 1_000,
            received: 1_700_000_000_007 + Int64(number) * 1_001,
            envelope: Array("user-\(number % 3)".utf8)
        )
        for event in 0...number % 3 {
            let zone = number < 2 ? CommitDraft.ownSequence : UInt64(1 + (number + event) % 2)
            draft.append(zone: zone) { payload in
                payload += Array("commit \(number), event \(event): ".utf8)
                for word in 0..<number * 2 { payload += Array("word \(word * number) ".utf8) }
            }
        }
        return draft
    }

    // MARK: Reading

    /// The kept files, on a disk of their own.
    private static func fixture() throws -> SimulatedFileSystem {
        let disk = SimulatedFileSystem()
        try disk.createDirectory(path)
        try disk.createDirectory(path + "/segments")
        let root = folder.appending(path: "log")
        let files = FileManager.default
        for name in try files.contentsOfDirectory(atPath: root.path()).sorted()
        where name != "segments" {
            try disk.setContents(
                of: "\(path)/\(name)",
                to: [UInt8](Data(contentsOf: root.appending(path: name)))
            )
        }
        let segments = root.appending(path: "segments")
        for name in try files.contentsOfDirectory(atPath: segments.path()).sorted() {
            try disk.setContents(
                of: "\(path)/segments/\(name)",
                to: [UInt8](Data(contentsOf: segments.appending(path: name)))
            )
        }
        return disk
    }

    /// Everything that a store holds, as lines of text.
    private static func dump(_ disk: SimulatedFileSystem) throws -> String {
        let reader = try LogReader(path, fileSystem: disk)
        var lines = ["store \(reader.store)"]
        for entry in reader.line.entries {
            lines.append("incarnation \(entry.incarnation.rawValue) from \(entry.first)")
        }
        for segment in reader.manifest.segments {
            let last = segment.last.map { "\($0)" } ?? "-"
            let end = segment.framesEnd.map { "\($0)" } ?? "-"
            let length = segment.fileByteCount.map { "\($0)" } ?? "-"
            lines.append("\(segment.id.fileName) last \(last) frames end \(end) length \(length)")
        }
        let verification = try reader.verify { event in
            let commit = event.commit
            lines.append(
                "\(event.sequence) zone \(event.zone) commit \(commit.first)+\(commit.eventCount) "
                    + "time \(commit.time) received \(commit.received) "
                    + "\(String(decoding: event.envelope, as: UTF8.self)): "
                    + String(decoding: event.payload, as: UTF8.self)
            )
        }
        lines.append(
            "\(verification.eventCount) events, \(verification.commitCount) commits, hash "
                + "\(verification.eventHash.low) \(verification.eventHash.high)"
        )
        lines += verification.damage.map { "damage: \($0)" }
        return lines.joined(separator: "\n") + "\n"
    }

    // MARK: Tests

    @Test func `A store of version 1 reads as it always did`() throws {
        try rewriteIfAsked()
        let expected = try String(
            contentsOf: Self.folder.appending(path: "log.dump.txt"),
            encoding: .utf8
        )
        #expect(try Self.dump(Self.fixture()) == expected)
    }

    @Test func `A store of version 1 opens, closed as it was, and goes on`() throws {
        try rewriteIfAsked()
        let disk = try Self.fixture()
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

    @Test func `The kept segments hold every kind of frame`() throws {
        try rewriteIfAsked()
        let disk = try Self.fixture()
        var kinds: Set<FrameKind> = [.edits]
        for segment in try LogReader(Self.path, fileSystem: disk).manifest.segments {
            let file = try disk.open(StoreFolder(Self.path).segment(segment.id), .read)
            let header = try FileHeader.read(from: file, kind: .segment)
            var scan = try FrameScan(file, header: header, limit: segment.framesEnd)
            while case .frame(let frame) = try scan.step() { kinds.insert(frame.header.kind) }
        }
        #expect(kinds == [.commits, .marker, .closing, .recovery, .edits])
    }

    @Test func `Today's writer makes the same files`() throws {
        try rewriteIfAsked()
        let kept = try Self.fixture()
        let written = try Self.write()
        #expect(try Self.names(in: written) == Self.names(in: kept))
        // Another LZ4 may find another, as good, form for the same bytes.
        let version = try String(
            contentsOf: Self.folder.appending(path: "log.lz4.txt"),
            encoding: .utf8
        )
        guard version == "\(LZ4_versionNumber())\n" else { return }
        var differing: [String] = []
        for name in try Self.names(in: kept) {
            let path = "\(Self.path)/\(name)"
            if try written.contents(of: path) != kept.contents(of: path) { differing.append(name) }
        }
        #expect(differing == [])
    }

    /// Writes the files instead of comparing with them.
    private func rewriteIfAsked() throws {
        guard ProcessInfo.processInfo.environment["TIDEMARK_GOLDEN"] == "1" else { return }
        let disk = try Self.write()
        let root = Self.folder.appending(path: "log")
        try FileManager.default.createDirectory(
            at: root.appending(path: "segments"),
            withIntermediateDirectories: true
        )
        for name in try Self.names(in: disk) {
            try Data(disk.contents(of: "\(Self.path)/\(name)"))
                .write(to: root.appending(path: name))
        }
        try Data(Self.dump(disk).utf8).write(to: Self.folder.appending(path: "log.dump.txt"))
        try Data("\(LZ4_versionNumber())\n".utf8)
            .write(to: Self.folder.appending(path: "log.lz4.txt"))
    }
}
