// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// How a file is opened.
package enum FileMode: Sendable {
    /// An existing file, for reading only.
    case read
    /// An existing file, for reading and writing.
    case readWrite
    /// A file that must not exist yet, for reading and writing.
    case create
}

/// What is known of a file without opening it.
package struct FileStatus: Hashable, Sendable {
    /// Its length in bytes.
    package var byteCount: UInt64
    /// When its content last changed, in milliseconds since 1970 by the file system's clock.
    package var modified: Int64
    /// Who may read it.
    package var permissions: FilePermissions

    package init(byteCount: UInt64, modified: Int64, permissions: FilePermissions = .owner) {
        self.byteCount = byteCount
        self.modified = modified
        self.permissions = permissions
    }
}

/// The file calls that a store makes, and nothing else: the seam at which it meets a disk.
///
/// Paths are plain strings with `/` between components. Every call either does all that it says
/// or throws. A call that was interrupted (`EINTR`) goes on, except a sync: no sync is repeated.
/// After a failed write or truncation any part of it may have happened.
package protocol FileSystem: Sendable {
    /// Makes one directory; succeeds if it is there already. Durable after `syncDirectory` of the
    /// directory it lies in.
    func createDirectory(_ path: String) throws(FileError)

    /// Opens a file. A file that this creates is durable, as a name, after `syncDirectory` of the
    /// directory it lies in, and as content after its own `sync`: each needs both.
    func open(_ path: String, _ mode: FileMode) throws(FileError) -> any LogFile

    /// Whether anything is at the path.
    func exists(_ path: String) throws(FileError) -> Bool

    /// What is known of the file at a path; `nil` if nothing is there.
    func status(of path: String) throws(FileError) -> FileStatus?

    /// How many names the file at a path has; zero if nothing is there.
    func linkCount(of path: String) throws(FileError) -> Int

    /// The names in a directory, sorted as bytes, without `.` and `..`.
    func list(_ directory: String) throws(FileError) -> [String]

    /// Renames a file, replacing what is at the target: at every moment, also after a crash, the
    /// target is the old file or the new one. Durable after `syncDirectory`. It does not sync the
    /// file's content: do that first.
    func rename(_ path: String, to target: String) throws(FileError)

    /// Gives a file another name beside the one it has, where nothing is yet; what is written by
    /// either name is read by both. Durable after `syncDirectory` of the directory the new name lies
    /// in. Not every file system can do it, and none from one to another.
    func link(_ path: String, to target: String) throws(FileError)

    /// Removes a file; those who have it open keep it until they close it. Durable after
    /// `syncDirectory`.
    func remove(_ path: String) throws(FileError)

    /// Makes the creations, renames and removals in a directory durable.
    func syncDirectory(_ path: String) throws(FileError)

    /// The same file system with a directory held on to: paths that begin with that directory's lead
    /// into it, wherever it is moved and whatever is put in its place. Other paths are as before.
    func holding(_ directory: String) throws(FileError) -> any FileSystem

    /// Whether the path of the directory that is held on to still leads to it: for those who have files
    /// opened by others, which know paths alone.
    func isInPlace() throws(FileError) -> Bool

    /// The same file system, where what is made can be read by other users too.
    func permitting(_ permissions: FilePermissions) -> any FileSystem
}

extension FileSystem {
    /// All bytes of a file up to its last hole; fails with `EFBIG` if they are more than a limit.
    ///
    /// No file that is read as a whole is longer than 1 GiB: segments of a journal, checks of views, what
    /// is being erased.
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

    /// The same file system, where what is made can be read by those who may read a directory; unchanged if
    /// nothing is there.
    package func permitting(asIn directory: String) throws(FileError) -> any FileSystem {
        guard let status = try status(of: directory) else { return self }
        return permitting(status.permissions)
    }

    /// For file systems whose directories cannot be moved.
    package func holding(_ directory: String) throws(FileError) -> any FileSystem { self }

    /// For file systems without users.
    package func permitting(_ permissions: FilePermissions) -> any FileSystem { self }

    /// For the same.
    package func isInPlace() throws(FileError) -> Bool { true }

    /// Gives a file another name; `false` if the file system cannot, so that it has to be copied.
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

/// One open file; closed when it is closed or dropped.
///
/// Safe to use from several threads at once; the offset is always given, never kept. Only closing
/// is not: nobody may be inside a call of the file when it is closed.
package protocol LogFile: AnyObject, Sendable {
    /// The path it was opened by.
    var path: String { get }

    /// Its length in bytes.
    func byteCount() throws(FileError) -> UInt64

    /// The first range at or behind an offset that may hold other bytes than zeros; `nil` if only zeros
    /// follow.
    ///
    /// A file that was extended has a hole there, which takes no space and no time to pass over. A file
    /// system that does not know its holes answers with the rest of the file.
    func dataRange(from offset: UInt64) throws(FileError) -> Range<UInt64>?

    /// Reads until the buffer is full or the file ends; returns the bytes read.
    func read(into buffer: inout MutableRawSpan, at offset: UInt64) throws(FileError) -> Int

    /// Writes all of the bytes, growing the file if needed. Not durable before `sync`.
    func write(_ bytes: RawSpan, at offset: UInt64) throws(FileError)

    /// Makes all that was written, and the length, durable (`fdatasync`).
    ///
    /// Throws also if the machine's file has no name any more: then nobody will find what it holds.
    func sync() throws(FileError)

    /// Cuts or extends (with zeros) to a length.
    func truncate(to byteCount: UInt64) throws(FileError)

    /// Fills the file with zeros from its end up to a length, reserving the space for real, so
    /// that a later `sync` over it neither allocates nor fails for want of space. Does nothing if
    /// the file is that long already. If it throws, the file is as long as before. Not durable
    /// before `sync`.
    func allocate(to byteCount: UInt64) throws(FileError)

    /// Takes an advisory lock without waiting, upgrading or downgrading one already held;
    /// `false` if another open file, of this process or another, holds one against it; the file
    /// then holds no lock, not even one it held before. Dropped when the file is closed.
    func lock(_ kind: FileLock) throws(FileError) -> Bool

    /// Gives up the lock.
    func unlock() throws(FileError)

    /// The process that has an exclusive lock on the file; `nil` if none has, or none can be told.
    func lockHolder() -> LockHolder?

    /// Closes the file. Later calls are a programming error; closing twice is not.
    func close()
}

extension LogFile {
    /// For files that other processes do not have.
    package func lockHolder() -> LockHolder? { nil }

    /// For files without holes: the rest of the file.
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
