// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CLZ4
import Foundation
import SimulatedDisk

@testable import TidemarkLog

/// A store that is kept as files, and a dump of what it holds beside it.
///
/// The files of a released version never change. While no version is released, `TIDEMARK_GOLDEN=1
/// swift test --filter Golden` writes them anew.
struct GoldenStore: Sendable {
    static let path = "/log.tide"
    private static let fixtures = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../Fixtures").standardizedFileURL

    /// The version of the format that the files need.
    var version = 1
    /// The name of its folder among the fixtures.
    let name: String
    /// What today's writer makes of the same commits, with the same clock and randomness.
    let write: @Sendable () throws -> SimulatedFileSystem

    /// The files that count: CURRENT, the manifest that it names, and the segments.
    private static func names(in disk: SimulatedFileSystem) throws -> [String] {
        let manifests = try disk.list(path).filter { StoreFolder.manifestNumber($0) != nil }
        let segments = try disk.list(path + "/segments")
        return ["CURRENT"] + manifests.suffix(1) + segments.map { "segments/" + $0 }
    }

    private var folder: URL { Self.fixtures.appending(path: "v\(version)") }

    private func file(_ suffix: String) -> URL {
        folder.appending(path: "\(name).\(suffix)")
    }

    /// The kept files, on a disk of their own.
    func fixture() throws -> SimulatedFileSystem {
        try rewriteIfAsked()
        let path = Self.path
        let disk = SimulatedFileSystem()
        try disk.createDirectory(path)
        try disk.createDirectory(path + "/segments")
        let root = folder.appending(path: name)
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
    static func dump(_ disk: SimulatedFileSystem) throws -> String {
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

    /// The dump that is kept.
    func dump() throws -> String {
        try rewriteIfAsked()
        return try String(contentsOf: file("dump.txt"), encoding: .utf8)
    }

    /// The kept files that today's writer makes otherwise.
    func filesThatDiffer() throws -> [String] {
        let kept = try fixture()
        let written = try write()
        let names = try Self.names(in: kept)
        guard try Self.names(in: written) == names else { return try Self.names(in: written) }
        // Another LZ4 may find another, as good, form for the same bytes.
        let version = try String(contentsOf: file("lz4.txt"), encoding: .utf8)
        guard version == "\(LZ4_versionNumber())\n" else { return [] }
        return try names.filter { name in
            let path = "\(Self.path)/\(name)"
            return try written.contents(of: path) != kept.contents(of: path)
        }
    }

    /// Writes the files instead of comparing with them.
    private func rewriteIfAsked() throws {
        guard ProcessInfo.processInfo.environment["TIDEMARK_GOLDEN"] == "1" else { return }
        let disk = try write()
        let root = folder.appending(path: name)
        if FileManager.default.fileExists(atPath: root.path()) {
            try FileManager.default.removeItem(at: root)
        }
        try FileManager.default.createDirectory(
            at: root.appending(path: "segments"),
            withIntermediateDirectories: true
        )
        for name in try Self.names(in: disk) {
            try Data(disk.contents(of: "\(Self.path)/\(name)"))
                .write(to: root.appending(path: name))
        }
        try Data(Self.dump(disk).utf8).write(to: file("dump.txt"))
        try Data("\(LZ4_versionNumber())\n".utf8).write(to: file("lz4.txt"))
    }
}
