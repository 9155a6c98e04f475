// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SimulatedDisk

@testable import TidemarkLog

/// A store of two or three segments that are small enough to damage at every bit.
struct SmallStore {
    /// How the last writer left the store.
    enum End {
        /// Closed.
        case closed
        /// The process ended after a marker had vouched for the last frame.
        case vouched
        /// The process ended, and nothing vouches for the last frame.
        case unvouched
        /// The same, and no segment has got its footer.
        case unsealed

        /// The ends that differ in what stands at the end of the last segment.
        static let all = [closed, vouched, unvouched]
    }

    static let path = "/small.tide"

    let disk = SimulatedFileSystem(keepsTrace: false)
    private(set) var history = History()
    private(set) var line = IncarnationLine(entries: [])

    init(_ end: End, seed: UInt64 = 1) throws {
        if end == .unsealed { disk.failCall(1, of: .truncate, with: EIO, forGood: true) }
        let log = try Self.open(disk, seed: seed).log
        line = log.line
        var drafts = DraftSource(seed: seed &+ 100)
        // Two segments are full before the third one takes its first commit.
        while log.files.segmentCount < 3 {
            let draft = drafts.draft(events: 1...2, payload: 20...90, envelope: 4...9)
            _ = try log.append(draft)
            history.append(draft)
            try log.blockUntilDurable(log.lastSequence)
        }
        let draft = drafts.draft(events: 2...2, payload: 150...300, envelope: 4...9)
        _ = try log.append(draft)
        history.append(draft)
        try log.blockUntilDurable(log.lastSequence)
        history.acknowledge(in: log)
        history.isCreated = true
        switch end {
        case .closed: try log.close()
        case .vouched: log.vouch()
        case .unvouched, .unsealed: break
        }
        disk.clearFaults()
    }

    static func open(
        _ disk: SimulatedFileSystem,
        seed: UInt64 = 7
    ) throws(LogError) -> (log: SegmentLog, report: RecoveryReport) {
        var configuration = LogConfiguration()
        configuration.segmentByteCount = 900
        return try SegmentLog.openAndSeal(
            path,
            creating: true,
            configuration: configuration,
            environment: CrashWorkload.environment(disk, seed: seed),
            onDurable: { _ in }
        )
    }

    // MARK: Files

    /// The segments' paths, the one that takes events last.
    var segments: [String] {
        get throws {
            try disk.list(Self.path + "/segments").filter { $0.hasSuffix(".seg") }
                .map { Self.path + "/segments/" + $0 }
        }
    }

    var manifest: String { Self.path + "/manifest-000001" }
    var current: String { Self.path + "/CURRENT" }

    /// All files that hold anything.
    var files: [String] {
        get throws { try segments + [manifest, current] }
    }

    /// The same disk with one file changed.
    func damaging(_ path: String, _ damage: (inout [UInt8]) -> Void) throws -> SimulatedFileSystem {
        let copy = disk.crash(.keepingEverything)
        var bytes = try disk.contents(of: path)
        damage(&bytes)
        try copy.setContents(of: path, to: bytes)
        return copy
    }

    // MARK: What must hold

    /// Opens a damaged store for writing, and says what is wrong about what comes of it: it must
    /// be refused with an error that names the file and the place, or hold every event.
    func wrong(_ disk: SimulatedFileSystem, _ path: String, isMissing: Bool = false) -> String? {
        do throws(LogError) {
            let (log, _) = try Self.open(disk)
            let found = try log.written()
            if found.count < history.events.count { return "the log has become shorter" }
            if found != history.events { return "events have changed" }
            if !log.line.entries.starts(with: line.entries) { return "incarnations have changed" }
            return nil
        } catch {
            let codes: [LogError.Code] = [.corrupted, .newerVersion, .foreignFile]
            if !codes.contains(error.code) || error.path != path
                || (error.offset == nil && !isMissing)
            {
                return "it was told as \(error)"
            }
            return nil
        }
    }

    /// Reads a damaged store without opening it for writing: whatever is read must be what was
    /// written, and if something is not there, damage must be told.
    func wrongToReader(_ disk: SimulatedFileSystem, demandsDamage: Bool = false) -> String? {
        do throws(LogError) {
            let reader = try LogReader(Self.path, fileSystem: disk)
            var found: [WrittenEvent] = []
            let verification = try reader.verify { found.append(WrittenEvent($0)) }
            for event in found where history.events[Int(event.sequence) - 1] != event {
                return "event \(event.sequence) has changed"
            }
            if found.count < history.events.count || demandsDamage, verification.damage.isEmpty {
                return "\(found.count) of \(history.events.count) events, and no damage"
            }
            return nil
        } catch {
            return error.path == nil ? "it was told as \(error)" : nil
        }
    }
}
