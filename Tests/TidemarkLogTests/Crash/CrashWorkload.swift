// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SimulatedDisk
import Testing
import TidemarkLock

@testable import TidemarkLog

/// A store's life in one thread, with everything that a log does to its files: creation, commits
/// alone and together, markers, segment switches with sealing, a clean close, a reopening after
/// it, a write that fails halfway, and a reopening after that.
struct CrashWorkload: Sendable {
    static let path = "/notes.tide"

    /// What has been appended and promised so far, for those who look between two calls.
    private final class Progress: Sendable {
        let history = Lock(History())
    }

    var seed: UInt64 = 1
    /// Rounds of commits in each of the three openings.
    var roundCount = 5

    static var configuration: LogConfiguration {
        var configuration = LogConfiguration()
        configuration.segmentByteCount = 6 << 10
        return configuration
    }

    static func environment(_ fileSystem: any FileSystem, seed: UInt64) -> LogEnvironment {
        var environment = LogEnvironment.fixed(fileSystem, seed: seed)
        environment.writesInline = true
        return environment
    }

    static func open(
        _ fileSystem: any FileSystem,
        seed: UInt64,
        creating: Bool = true,
        segmentByteCount: Int? = nil,
        writesInline: Bool = true
    ) throws(LogError) -> (log: SegmentLog, report: RecoveryReport) {
        var environment = environment(fileSystem, seed: seed)
        environment.writesInline = writesInline
        var configuration = configuration
        if let segmentByteCount { configuration.segmentByteCount = segmentByteCount }
        return try SegmentLog.openAndSeal(
            path,
            creating: creating,
            configuration: configuration,
            environment: environment,
            onDurable: { _ in }
        )
    }

    /// Runs on a disk and visits every point at which a crash could come, the end included.
    func run(
        on disk: SimulatedFileSystem,
        visit: @escaping @Sendable (SimulatedFileSystem, History) -> Void
    ) throws {
        let progress = Progress()
        let files = WatchedFileSystem(disk) { disk in
            visit(disk, progress.history.withLock { $0 })
        }
        var drafts = DraftSource(seed: seed)
        for opening in 0..<3 as Range<UInt64> {
            progress.history.withLock { $0.isClosed = false }
            let (log, report) = try Self.open(files, seed: seed &* 100 &+ opening)
            try progress.history.withLock { try $0.adopt(log, report) }
            for round in 0..<roundCount {
                // After the failure the first commit has no room in the segment that was begun.
                let isLarge = round == 3 || (opening == 2 && round == 0)
                try append(
                    commitCount: round % 3 == 1 ? 3 : 1,
                    isLarge: isLarge,
                    to: log,
                    from: &drafts,
                    progress
                )
                if round % 2 == 0 { log.vouch() }
            }
            if opening == 1 {
                try fail(log, on: disk, with: &drafts, progress)
            } else {
                try log.close()
                progress.history.withLock { $0.isClosed = true }
            }
        }
        visit(disk, progress.history.withLock { $0 })
    }

    /// Ends the writer by a write that fails at the border of a sector.
    private func fail(
        _ log: SegmentLog,
        on disk: SimulatedFileSystem,
        with drafts: inout DraftSource,
        _ progress: Progress
    ) throws {
        let offset = log.disk.withLock { Int($0.active.offset) }
        disk.failCall(
            disk.callCount(of: .write) + 1,
            of: .write,
            with: EIO,
            writing: 2 * Layout.sectorByteCount - offset % Layout.sectorByteCount
        )
        let draft = drafts.draft(events: 3...3, payload: 600...600)
        progress.history.withLock { $0.append(draft) }
        _ = try log.append(draft)
        #expect(throws: LogError.self) { try log.blockUntilDurable(log.lastSequence) }
    }

    private func append(
        commitCount: Int,
        isLarge: Bool,
        to log: SegmentLog,
        from drafts: inout DraftSource,
        _ progress: Progress
    ) throws {
        for _ in 0..<commitCount {
            let draft =
                isLarge ? drafts.draft(events: 2...3, payload: 3000...9000) : drafts.draft()
            progress.history.withLock { $0.append(draft) }
            _ = try log.append(draft)
        }
        try log.blockUntilDurable(log.lastSequence)
        progress.history.withLock { $0.acknowledge(in: log) }
    }
}

extension CrashWorkload {
    /// Where ``salvage(on:)`` copies to.
    static let salvagedPath = "/salvaged.tide"

    /// Copies what is left of the log, and reads the copy, which is sound.
    static func salvage(
        on disk: SimulatedFileSystem
    ) throws -> (salvage: Salvage, copied: [WrittenEvent]) {
        let salvage = try Salvage.run(
            from: path,
            to: salvagedPath,
            environment: environment(disk, seed: 500)
        )
        let copy = try LogReader(salvagedPath, fileSystem: disk)
        #expect(try copy.verify().damage == [])
        return (salvage, try copy.written())
    }
}

extension SimulatedFileSystem {
    /// Bytes of all files of a workload's store.
    var storeByteCount: Int {
        get throws {
            var byteCount = 0
            for folder in [CrashWorkload.path, CrashWorkload.path + "/segments"] {
                for name in try list(folder) where name != "segments" {
                    byteCount += try contents(of: folder + "/" + name).count
                }
            }
            return byteCount
        }
    }
}
