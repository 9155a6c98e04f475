// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Why the log could not do what was asked: what, where, expected and found, and what to do.
public struct LogError: Error, Hashable, Codable, Sendable {
    /// The kinds of failure, by what a caller can do about them.
    public enum Code: String, Hashable, Codable, Sendable {
        /// Bytes that were once on disk are no longer what was written. Read what is sound, or
        /// salvage.
        case corrupted
        /// The disk refused a call; the same call may work later.
        case unreadable
        /// The disk is full. What is stored can be read; writing works again when there is space.
        case full
        /// The writer has ended after a failed write or sync; reopen the store.
        case writerFailed
        /// Another process, or another opening in this one, has the store open for writing.
        case locked
        /// Nothing is at the path, or it is not a store.
        case notAStore
        /// Written by a newer version of Tidemark than this one can read.
        case newerVersion
        /// A file of another store lies in this one.
        case foreignFile
        /// Compaction has dropped what would be needed.
        case pruned
        /// One commit is larger than the format allows.
        case tooLarge
        /// The log was opened for reading only, or is closed.
        case readOnly
        /// The task was cancelled; nothing is half done.
        case cancelled
    }

    /// What kind of failure it is.
    public let code: Code
    /// One or two sentences: what was expected, what was found, and what to do.
    public let message: String
    /// The file it is about.
    public let path: String?
    /// The byte in that file it is about.
    public let offset: UInt64?
    /// The call that failed, where one did.
    public let cause: FileError?

    /// Describes one failure.
    public init(
        _ code: Code,
        _ message: String,
        path: String? = nil,
        offset: UInt64? = nil,
        cause: FileError? = nil
    ) {
        self.code = code
        self.message = message
        self.path = path
        self.offset = offset
        self.cause = cause
    }
}

extension LogError: CustomStringConvertible {
    /// The code, the file and the place in it, the message, and the call that failed.
    public var description: String {
        let offset = offset.map { ", offset \($0)" } ?? ""
        let place = path.map { "\($0)\(offset): " } ?? ""
        // What the system refused names its file already.
        return "\(code): \(cause == nil ? place : "")\(message)"
    }
}
