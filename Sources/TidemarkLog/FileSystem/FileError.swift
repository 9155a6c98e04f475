// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// A file call that failed: which one, on what, and the system's error number.
public struct FileError: Error, Hashable, Codable, Sendable {
    /// The call, by the name its manual page has.
    public enum Call: String, Hashable, Codable, Sendable {
        case open, stat
        case list = "readdir"
        case read = "pread"
        case write = "pwrite"
        case sync = "fdatasync"
        case truncate = "ftruncate"
        case allocate
        case lock = "flock"
        case rename, link
        case remove = "unlink"
        case createDirectory = "mkdir"
        case syncDirectory = "fsync"
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

extension FileError {
    /// True if the disk, or this user's quota, is full; the call may succeed later.
    package var isOutOfSpace: Bool { errorNumber == ENOSPC || errorNumber == EDQUOT }

    /// True if the process, or the machine, has no more open files.
    package var isOutOfDescriptors: Bool { errorNumber == EMFILE || errorNumber == ENFILE }

    /// True if nothing is at the path.
    package var isMissing: Bool { errorNumber == ENOENT || errorNumber == ENOTDIR }

    /// True if the user lacks the permission for the call.
    package var isForbidden: Bool { errorNumber == EACCES || errorNumber == EPERM }

    /// True if the file cannot have a second name there, but can be copied.
    package var meansNoLink: Bool {
        switch errorNumber {
        case EXDEV, EPERM, EACCES, EMLINK, EOPNOTSUPP, ENOTSUP, ENOSYS: call == .link
        default: false
        }
    }

    /// True if something is at the path already.
    package var isAlreadyThere: Bool { errorNumber == EEXIST }
}

extension FileError: CustomStringConvertible {
    /// The call, the path, the system's message and, if known, a remedy.
    public var description: String {
        let what = "\(call.rawValue) of \(path) failed: \(Self.words(for: errorNumber))"
        guard let remedy else { return what + "." }
        return what + ". " + remedy
    }

    /// A remedy for the failure, as one or two sentences.
    package var remedy: String? {
        switch errorNumber {
        case ENOSPC: "Free space on that disk, then try again."
        case EDQUOT: "Free space, or have the disk quota raised, then try again."
        case EACCES, EPERM:
            "Give the user of this process permission for the file and the folders above it."
        case EROFS: "The disk is mounted read-only. Mount it for writing, or use another folder."
        case ENOENT where call == .sync:
            "The file was removed while it was open, so writes to it would be lost. Restore it "
                + "from a backup, then open it again."
        case ENOENT where call == .createDirectory:
            "The folder above it does not exist. Create that folder first, or check the path."
        case ENOENT: "Nothing exists at this path. Check the path."
        case ENOTDIR: "A part of the path is a file, not a folder. Check the path."
        case ENXIO: "The path is a pipe, a socket or a device, but a file is expected. Remove it."
        case ENOMEM:
            "Raise this process's memory limit (ulimit -v), or give the machine more memory."
        case EISDIR: "The path is a folder, but a file is expected. Check the path."
        case EEXIST:
            "The path already exists. Use another path, or remove what is there if it is stale."
        case EIO:
            "The disk reported an error. Check the system's log and the disk's health, and make a "
                + "backup before you try again."
        case EMFILE: "Raise this process's limit of open files (ulimit -n), or close some."
        case ENFILE: "The system has too many open files. Close some, or raise its limit."
        case EFBIG: "Raise this process's limit of file sizes (ulimit -f), or use another disk."
        case ELOOP, ENAMETOOLONG: "Use a shorter path without circular symbolic links."
        case EXDEV: "Both paths must be on one disk."
        case EOPNOTSUPP, ENOLCK:
            "That file system does not support this call. Use a local disk rather than a network "
                + "share."
        default: nil
        }
    }

    /// Returns the system's message for an error number, followed by the number.
    private static func words(for number: Int32) -> String {
        let words = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
            buffer.initialize(repeating: 0)
            guard let base = buffer.baseAddress,
                strerror_r(number, base, buffer.count - 1) == 0
            else { return "unknown error" }
            return String(cString: base)
        }
        return "\(words) (error \(number))"
    }
}
