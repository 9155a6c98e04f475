// Tidemark
// SPDX-License-Identifier: Apache-2.0

import SimulatedDisk
import TidemarkLog

/// A simulated disk that calls back before every call that can change it.
///
/// So one run of a workload meets every point at which a crash could come: the disk is copied as
/// it is then, and the workload goes on.
final class WatchedFileSystem: FileSystem {
    let disk: SimulatedFileSystem
    private let willChange: @Sendable (SimulatedFileSystem) -> Void
    private let isLocal: Bool

    init(
        _ disk: SimulatedFileSystem,
        isLocal: Bool = false,
        willChange: @escaping @Sendable (SimulatedFileSystem) -> Void
    ) {
        self.disk = disk
        self.isLocal = isLocal
        self.willChange = willChange
    }

    func isLocal(_ directory: String) -> Bool { isLocal }

    func createDirectory(_ path: String) throws(FileError) {
        willChange(disk)
        try disk.createDirectory(path)
    }

    func open(_ path: String, _ mode: FileMode) throws(FileError) -> any LogFile {
        if mode == .create { willChange(disk) }
        return WatchedFile(try disk.open(path, mode), of: self)
    }

    func exists(_ path: String) throws(FileError) -> Bool { try disk.exists(path) }

    func linkCount(of path: String) throws(FileError) -> Int { try disk.linkCount(of: path) }

    func status(of path: String) throws(FileError) -> FileStatus? { try disk.status(of: path) }

    func list(_ directory: String) throws(FileError) -> [String] { try disk.list(directory) }

    func rename(_ path: String, to target: String) throws(FileError) {
        willChange(disk)
        try disk.rename(path, to: target)
    }

    func link(_ path: String, to target: String) throws(FileError) {
        willChange(disk)
        try disk.link(path, to: target)
    }

    func remove(_ path: String) throws(FileError) {
        willChange(disk)
        try disk.remove(path)
    }

    func syncDirectory(_ path: String) throws(FileError) {
        willChange(disk)
        try disk.syncDirectory(path)
    }

    private final class WatchedFile: LogFile {
        private let file: any LogFile
        private let owner: WatchedFileSystem

        init(_ file: any LogFile, of owner: WatchedFileSystem) {
            self.file = file
            self.owner = owner
        }

        var path: String { file.path }

        func byteCount() throws(FileError) -> UInt64 { try file.byteCount() }

        func read(into buffer: inout MutableRawSpan, at offset: UInt64) throws(FileError) -> Int {
            try file.read(into: &buffer, at: offset)
        }

        func write(_ bytes: RawSpan, at offset: UInt64) throws(FileError) {
            owner.willChange(owner.disk)
            try file.write(bytes, at: offset)
        }

        func sync() throws(FileError) {
            owner.willChange(owner.disk)
            try file.sync()
        }

        func truncate(to byteCount: UInt64) throws(FileError) {
            owner.willChange(owner.disk)
            try file.truncate(to: byteCount)
        }

        func allocate(to byteCount: UInt64) throws(FileError) {
            owner.willChange(owner.disk)
            try file.allocate(to: byteCount)
        }

        func lock(_ kind: FileLock) throws(FileError) -> Bool { try file.lock(kind) }

        func unlock() throws(FileError) { try file.unlock() }

        func close() { file.close() }
    }
}
