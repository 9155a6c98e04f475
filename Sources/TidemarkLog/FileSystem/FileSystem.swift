// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// How a file is opened.
package enum FileMode: Sendable {
    /// An existing file, for reading only.
    case read
    /// An existing file, for reading and writing.
    case readWrite
    /// A file that must not exist yet, for reading and writing.
    case create
}

/// The file calls that the log makes, and nothing else: the seam at which a store meets a disk.
///
/// Paths are plain strings with `/` between components. Every call either does all that it says
/// or throws; nothing is retried except after `EINTR`.
package protocol FileSystem: Sendable {
    /// Makes one directory; succeeds if it is there already.
    func createDirectory(_ path: String) throws(FileError)

    /// Opens a file.
    func open(_ path: String, _ mode: FileMode) throws(FileError) -> any LogFile

    /// Whether anything is at the path.
    func exists(_ path: String) throws(FileError) -> Bool

    /// The names in a directory, sorted as bytes, without `.` and `..`.
    func list(_ directory: String) throws(FileError) -> [String]

    /// Renames a file, replacing what is at the target. Durable after `syncDirectory`.
    func rename(_ path: String, to target: String) throws(FileError)

    /// Removes a file. Durable after `syncDirectory`.
    func remove(_ path: String) throws(FileError)

    /// Makes the creations, renames and removals in a directory durable.
    func syncDirectory(_ path: String) throws(FileError)
}

/// One open file. Closed when it is closed or dropped.
///
/// Safe to use from several threads at once; the offset is always given, never kept.
package protocol LogFile: AnyObject, Sendable {
    /// The path it was opened by.
    var path: String { get }

    /// Its length in bytes.
    func byteCount() throws(FileError) -> UInt64

    /// Reads until the buffer is full or the file ends; returns the bytes read.
    func read(into buffer: inout MutableRawSpan, at offset: UInt64) throws(FileError) -> Int

    /// Writes all of the bytes, growing the file if needed. Not durable before `sync`.
    func write(_ bytes: RawSpan, at offset: UInt64) throws(FileError)

    /// Makes all that was written, and the length, durable (`fdatasync`).
    func sync() throws(FileError)

    /// Cuts or extends (with zeros) to a length.
    func truncate(to byteCount: UInt64) throws(FileError)

    /// Fills the file with zeros from its end up to a length, reserving the space for real, so
    /// that a later `sync` over it neither allocates nor fails for want of space.
    func allocate(to byteCount: UInt64) throws(FileError)

    /// Takes an advisory lock without waiting, upgrading or downgrading one already held;
    /// `false` if another open file holds one against it. Dropped when the file is closed.
    func lock(_ kind: FileLock) throws(FileError) -> Bool

    /// Gives up the lock.
    func unlock() throws(FileError)

    /// Closes the file. Later calls are a programming error; closing twice is not.
    func close()
}

/// An advisory lock on a whole file, held by an open file.
package enum FileLock: Sendable {
    /// Any number may hold it at once.
    case shared
    /// One holder, and no shared ones.
    case exclusive
}
