// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// A file call that failed: which one, on what, and the system's error number.
public struct FileError: Error, Hashable, Sendable {
    /// The call, by the name its manual page has.
    public enum Call: String, Hashable, Sendable {
        case open, stat, list = "readdir", read = "pread", write = "pwrite", sync = "fdatasync"
        case truncate = "ftruncate", allocate, lock = "flock", rename, remove = "unlink"
        case createDirectory = "mkdir", syncDirectory = "fsync"
    }

    /// The call that failed.
    public let call: Call
    /// The file or directory it was about.
    public let path: String
    /// The system's `errno`.
    public let errorNumber: Int32

    /// Describes one failed call.
    public init(call: Call, path: String, errorNumber: Int32) {
        self.call = call
        self.path = path
        self.errorNumber = errorNumber
    }
}
