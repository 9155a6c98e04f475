// Tidemark
// SPDX-License-Identifier: Apache-2.0

import SimulatedDisk
import TidemarkLock
import TidemarkLog

/// A simulated disk that calls back after it was asked about a file: so a test can let something
/// happen between a question and what rests on its answer.
final class HookedFileSystem: FileSystem {
    private let disk: SimulatedFileSystem
    private let hook = Lock<(@Sendable (String) -> Void)?>(nil)

    init(_ disk: SimulatedFileSystem) {
        self.disk = disk
    }

    /// Calls back once, after the next question about a file.
    func afterNextStatus(_ body: @escaping @Sendable (String) -> Void) {
        hook.withLock { $0 = body }
    }

    func linkCount(of path: String) throws(FileError) -> Int { try disk.linkCount(of: path) }

    func status(of path: String) throws(FileError) -> FileStatus? {
        let status = try disk.status(of: path)
        let hook = hook.withLock { hook in
            defer { hook = nil }
            return hook
        }
        hook?(path)
        return status
    }

    func createDirectory(_ path: String) throws(FileError) { try disk.createDirectory(path) }

    func open(_ path: String, _ mode: FileMode) throws(FileError) -> any LogFile {
        try disk.open(path, mode)
    }

    func exists(_ path: String) throws(FileError) -> Bool { try disk.exists(path) }

    func list(_ directory: String) throws(FileError) -> [String] { try disk.list(directory) }

    func rename(_ path: String, to target: String) throws(FileError) {
        try disk.rename(path, to: target)
    }

    func link(_ path: String, to target: String) throws(FileError) {
        try disk.link(path, to: target)
    }

    func remove(_ path: String) throws(FileError) { try disk.remove(path) }

    func syncDirectory(_ path: String) throws(FileError) { try disk.syncDirectory(path) }
}
