// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// A failure of a log operation, with its place, the expected and found values, and a remedy.
public struct LogError: Error, Hashable, Codable, Sendable {
    /// The kinds of failure, grouped by the caller's possible reactions.
    public enum Code: String, Hashable, Codable, Sendable {
        /// Bytes that were once on disk differ from the bytes written.
        ///
        /// Read the sound parts, or salvage the store.
        case corrupted
        /// A file call failed; the same call may succeed later.
        case unreadable
        /// The disk is full.
        ///
        /// Stored data can be read; writing works again when there is space.
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
        /// Compaction has dropped events that the operation needs.
        case pruned
        /// One commit is larger than the format allows.
        case tooLarge
        /// The log was opened for reading only, or is closed.
        case readOnly
        /// The task was cancelled, and its operation has left no partial result.
        case cancelled
    }

    /// The kind of failure.
    public let code: Code
    /// One or two sentences with the expected state, the found state and a remedy.
    public let message: String
    /// The path of the affected file.
    public let path: String?
    /// The offset of the failure in that file, in bytes.
    public let offset: UInt64?
    /// The failed file call, if there was one.
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

extension LogError {
    /// The error for a manifest whose segments do not follow each other.
    static let segmentsOutOfOrder = LogError(
        .corrupted,
        "The manifest's segments are out of order. `tidemark log salvage` rebuilds the store from "
            + "its segments."
    )
}

extension LogError: CustomStringConvertible {
    /// The code, the file and offset, the message, and the failed call.
    public var description: String {
        let offset = offset.map { ", offset \($0)" } ?? ""
        let place = path.map { "\($0)\(offset): " } ?? ""
        // The description of a failed call already contains the path.
        return "\(code): \(cause == nil ? place : "")\(message)"
    }
}
