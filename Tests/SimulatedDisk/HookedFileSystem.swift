// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLock
package import TidemarkLog

/// A simulated disk that calls back after it was asked about a file: so a test can let something
/// happen between a question and what rests on its answer.
package final class HookedFileSystem: FileSystem {
    private let disk: SimulatedFileSystem
    private let hook = Lock<(@Sendable (String) -> Void)?>(nil)
    private let opening = Lock<Opening?>(nil)
    private let refusesRemovals = Lock(false)
    /// The number of openings, of files and directories, that fail from now on.
    private let refusedOpenings = Lock(0)
    private let listing = Lock<Visit?>(nil)
    private let syncing = Lock<Visit?>(nil)

    private struct Visit {
        var path: String
        var body: @Sendable () -> Void
    }

    private struct Opening {
        var path: String
        /// The number of times that the file is opened until then.
        var count: Int
        var body: @Sendable () -> Void
    }

    package init(_ disk: SimulatedFileSystem) {
        self.disk = disk
    }

    /// Calls back once, after the next question about a file.
    package func afterNextStatus(_ body: @escaping @Sendable (String) -> Void) {
        hook.withLock { $0 = body }
    }

    /// Calls back once, before a file is opened for the given time from now on, counted from 1.
    package func beforeOpening(
        _ path: String,
        time count: Int,
        _ body: @escaping @Sendable () -> Void
    ) {
        opening.withLock { $0 = Opening(path: path, count: count, body: body) }
    }

    /// Calls back once, before a directory is listed.
    package func beforeListing(_ path: String, _ body: @escaping @Sendable () -> Void) {
        listing.withLock { $0 = Visit(path: path, body: body) }
    }

    /// Calls back once, before a directory is synced.
    package func beforeSyncing(_ path: String, _ body: @escaping @Sendable () -> Void) {
        syncing.withLock { $0 = Visit(path: path, body: body) }
    }

    private func visit(_ path: String, _ hook: borrowing Lock<Visit?>) {
        let body = hook.withLock { visit -> (@Sendable () -> Void)? in
            guard let next = visit, next.path == path else { return nil }
            visit = nil
            return next.body
        }
        body?()
    }

    /// Lets removals fail, or no longer.
    package func refuseRemovals(_ refuses: Bool) {
        refusesRemovals.withLock { $0 = refuses }
    }

    /// Lets the next openings fail for want of descriptors.
    package func refuseOpenings(_ count: Int) {
        refusedOpenings.withLock { $0 = count }
    }

    /// The number of openings that are still to fail.
    package var refusedOpeningCount: Int { refusedOpenings.withLock { $0 } }

    private func takeDescriptor(_ path: String) throws(FileError) {
        let isRefused = refusedOpenings.withLock { count in
            defer { count = max(count - 1, 0) }
            return count > 0
        }
        // Too many open files.
        if isRefused { throw FileError(call: .open, path: path, errorNumber: 24) }
    }

    package func linkCount(of path: String) throws(FileError) -> Int {
        try disk.linkCount(of: path)
    }

    package func status(of path: String) throws(FileError) -> FileStatus? {
        let status = try disk.status(of: path)
        let hook = hook.withLock { hook in
            defer { hook = nil }
            return hook
        }
        hook?(path)
        return status
    }

    package func createDirectory(_ path: String) throws(FileError) {
        try disk.createDirectory(path)
    }

    package func open(_ path: String, _ mode: FileMode) throws(FileError) -> any LogFile {
        let body = opening.withLock { opening -> (@Sendable () -> Void)? in
            guard var next = opening, next.path == path else { return nil }
            next.count -= 1
            opening = next.count == 0 ? nil : next
            return next.count == 0 ? next.body : nil
        }
        body?()
        try takeDescriptor(path)
        return try disk.open(path, mode)
    }

    package func exists(_ path: String) throws(FileError) -> Bool { try disk.exists(path) }

    package func list(_ directory: String) throws(FileError) -> [String] {
        visit(directory, listing)
        return try disk.list(directory)
    }

    package func rename(_ path: String, to target: String) throws(FileError) {
        try disk.rename(path, to: target)
    }

    package func link(_ path: String, to target: String) throws(FileError) {
        try disk.link(path, to: target)
    }

    package func remove(_ path: String) throws(FileError) {
        if refusesRemovals.withLock({ $0 }) {
            throw FileError(call: .remove, path: path, errorNumber: 13)
        }
        try disk.remove(path)
    }

    package func syncDirectory(_ path: String) throws(FileError) {
        visit(path, syncing)
        try takeDescriptor(path)
        try disk.syncDirectory(path)
    }
}
