// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The mode in which a file is opened.
package enum FileMode: Sendable {
    /// An existing file, for reading only.
    case read
    /// An existing file, for reading and writing.
    case readWrite
    /// A file that must not exist yet, for reading and writing.
    case create
}

/// The properties of a file that are known without opening it.
package struct FileStatus: Hashable, Sendable {
    /// The length of the file in bytes.
    package var byteCount: UInt64
    /// The time of the last content change, in milliseconds since 1970 by the file system's clock.
    package var modified: Int64
    /// The users that may read the file.
    package var permissions: FilePermissions

    package init(byteCount: UInt64, modified: Int64, permissions: FilePermissions = .owner) {
        self.byteCount = byteCount
        self.modified = modified
        self.permissions = permissions
    }
}

/// All file calls that a store makes: the only interface between a store and a disk.
///
/// Paths are plain strings with `/` between components. Every call either completes or throws. A
/// call that was interrupted (`EINTR`) is continued, except a sync: no sync is repeated. After a
/// failed write or truncation, any part of it may have been done.
package protocol FileSystem: Sendable {
    /// Makes one directory; succeeds if it is there already. Durable after `syncDirectory` of the
    /// directory it lies in.
    func createDirectory(_ path: String) throws(FileError)

    /// Opens a file. A file that this creates is durable, as a name, after `syncDirectory` of the
    /// directory it lies in, and as content after its own `sync`: each needs both.
    func open(_ path: String, _ mode: FileMode) throws(FileError) -> any LogFile

    /// Returns true if anything is at the path.
    func exists(_ path: String) throws(FileError) -> Bool

    /// Returns the properties of the file at a path; `nil` if nothing is there.
    func status(of path: String) throws(FileError) -> FileStatus?

    /// Returns the number of names (hard links) of the file at a path; zero if nothing is there.
    func linkCount(of path: String) throws(FileError) -> Int

    /// Returns the names in a directory, sorted as bytes, without `.` and `..`.
    func list(_ directory: String) throws(FileError) -> [String]

    /// Renames a file, replacing what is at the target: at every moment, also after a crash, the
    /// target is the old file or the new one. Durable after `syncDirectory`. It does not sync the
    /// file's content: do that first.
    func rename(_ path: String, to target: String) throws(FileError)

    /// Gives a file an additional name; nothing may exist there yet.
    ///
    /// A write under either name is visible under both. Durable after `syncDirectory` of the
    /// directory of the new name. Not every file system supports this, and none supports it across
    /// file systems.
    func link(_ path: String, to target: String) throws(FileError)

    /// Removes a file; processes that have it open keep it until they close it.
    ///
    /// Durable after `syncDirectory`.
    func remove(_ path: String) throws(FileError)

    /// Makes the creations, renames and removals in a directory durable.
    func syncDirectory(_ path: String) throws(FileError)

    /// Returns the same file system bound to a directory.
    ///
    /// Paths that begin with the directory's path lead into that directory, even if it is moved or
    /// another one takes its place. Other paths are unaffected.
    func holding(_ directory: String) throws(FileError) -> any FileSystem

    /// Returns true if the path of the bound directory still leads to it.
    ///
    /// For callers that have files opened by libraries that only know paths.
    func isInPlace() throws(FileError) -> Bool

    /// Returns a path by which libraries can open what is at a path of the bound directory, even if
    /// that directory was moved; `nil` if the system does not tell.
    func currentPath(of path: String) -> String?

    /// Returns true if a directory is known to be on a disk of this machine, so that a sync of a file
    /// in it never waits for a network.
    func isLocal(_ directory: String) -> Bool

    /// Returns the same file system with new files and directories readable by other users too.
    func permitting(_ permissions: FilePermissions) -> any FileSystem
}

extension FileSystem {
    /// Returns all bytes of a file up to its last hole; fails with `EFBIG` if they are more than a
    /// limit.
    ///
    /// Files that are read as a whole are at most 1 GiB: journal segments, checks of views, and the
    /// list of data being erased.
    package func contents(
        of path: String,
        limit: Int = 1 << 30
    ) throws(FileError) -> [UInt8] {
        let file = try open(path, .read)
        defer { file.close() }
        var end: UInt64 = 0
        while let data = try file.dataRange(from: end) { end = data.upperBound }
        guard end > 0 else { return [] }
        guard end <= limit else {
            throw FileError(call: .read, path: path, errorNumber: EFBIG)
        }
        var bytes = [UInt8](repeating: 0, count: Int(end))
        var mutable = bytes.mutableSpan
        var span = mutable.mutableBytes
        let count = try file.read(into: &span, at: 0)
        bytes.removeLast(bytes.count - count)
        return bytes
    }

    /// Returns the same file system with new files readable by the users that may read a directory;
    /// unchanged if the directory does not exist.
    package func permitting(asIn directory: String) throws(FileError) -> any FileSystem {
        guard let status = try status(of: directory) else { return self }
        return permitting(status.permissions)
    }

    /// The default implementation for file systems whose directories cannot be moved.
    package func holding(_ directory: String) throws(FileError) -> any FileSystem { self }

    /// The default implementation for file systems without users.
    package func permitting(_ permissions: FilePermissions) -> any FileSystem { self }

    /// The default implementation for file systems whose directories cannot be moved.
    package func isInPlace() throws(FileError) -> Bool { true }

    /// The default implementation for file systems whose directories cannot be moved.
    package func currentPath(of path: String) -> String? { path }

    package func isLocal(_ directory: String) -> Bool { false }

    /// Gives a file an additional name; `false` if the file system does not support that, so that
    /// the file must be copied.
    package func linkIfPossible(
        _ path: String,
        to target: String
    ) throws(FileError) -> Bool {
        do throws(FileError) {
            try link(path, to: target)
            return true
        } catch {
            guard error.meansNoLink else { throw error }
            return false
        }
    }
}

/// An open file, which is closed by `close()` or when it is deallocated.
///
/// Safe to use from several threads at once: the offset is always an argument, never state. Closing
/// is the exception: no other call may be running when the file is closed.
package protocol LogFile: AnyObject, Sendable {
    /// The path it was opened by.
    var path: String { get }

    /// Its length in bytes.
    func byteCount() throws(FileError) -> UInt64

    /// Returns the first range at or after an offset that may hold bytes other than zeros; `nil` if
    /// only zeros follow.
    ///
    /// An extended file has a hole there, which takes no space and no time to skip. A file system
    /// that does not report holes returns the rest of the file.
    func dataRange(from offset: UInt64) throws(FileError) -> Range<UInt64>?

    /// Reads until the buffer is full or the file ends; returns the bytes read.
    func read(into buffer: inout MutableRawSpan, at offset: UInt64) throws(FileError) -> Int

    /// Writes all of the bytes, growing the file if needed. Not durable before `sync`.
    func write(_ bytes: RawSpan, at offset: UInt64) throws(FileError)

    /// Makes all written bytes, and the length, durable (`fdatasync`).
    ///
    /// Throws also if the file no longer has a name on the machine's file system, because its
    /// content could not be found again.
    func sync() throws(FileError)

    /// Cuts or extends (with zeros) to a length.
    func truncate(to byteCount: UInt64) throws(FileError)

    /// Fills the file with zeros from its end up to a length, reserving the space.
    ///
    /// A later `sync` then neither allocates nor fails for lack of space. Does nothing if the file
    /// is that long already. If it throws, the file has its old length. Not durable before `sync`.
    func allocate(to byteCount: UInt64) throws(FileError)

    /// Takes an advisory lock without waiting, upgrading or downgrading one already held.
    ///
    /// Returns `false` if another open file, of this process or another, holds a conflicting lock.
    /// The file then holds no lock, not even one that it held before. The lock is released when the
    /// file is closed.
    func lock(_ kind: FileLock) throws(FileError) -> Bool

    /// Releases the lock.
    func unlock() throws(FileError)

    /// Returns the process that holds an exclusive lock on the file; `nil` if there is none or it
    /// is unknown.
    func lockHolder() -> LockHolder?

    /// Closes the file. Later calls are a programming error; closing twice is not.
    func close()
}

extension LogFile {
    /// The default implementation for files that other processes cannot open.
    package func lockHolder() -> LockHolder? { nil }

    /// The default implementation for files without holes, which returns the rest of the file.
    package func dataRange(from offset: UInt64) throws(FileError) -> Range<UInt64>? {
        let end = try byteCount()
        return offset < end ? offset..<end : nil
    }
}

/// An advisory lock on a whole file, held by an open file.
package enum FileLock: Sendable {
    /// Any number may hold it at once.
    case shared
    /// One holder, and no shared ones.
    case exclusive
}
