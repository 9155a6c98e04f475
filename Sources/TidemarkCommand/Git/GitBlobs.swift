// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The contents of blobs, read through one `git cat-file --batch`.
final class GitBlobs {
    /// The information about one blob.
    enum Content {
        /// The content. Use it before the next call.
        case bytes(ArraySlice<UInt8>)
        /// The blob is larger than the limit.
        case tooLarge(byteCount: Int)
        /// Not in this repository, as in a clone that left blobs out.
        case missing
    }

    private let process: ChildProcess
    private let maximumByteCount: Int
    private var reader: ByteReader
    /// The next queries.
    private var waiting: ArraySlice<String> = []
    /// The number of queries that were written and not answered.
    private var unansweredCount = 0
    /// The number of unread bytes of the last answer.
    private var unreadByteCount = 0
    /// An id takes 65 bytes at most, so that all questions of one batch fit into the smallest pipe
    /// (16 KiB): asking never waits for answers that we do not read yet.
    private static let batchCount = 200

    /// Begins to read blobs of a repository.
    init(_ git: GitCommand, maximumByteCount: Int) throws {
        self.maximumByteCount = maximumByteCount
        process = try git.start(["cat-file", "--batch"], input: .pipe)
        reader = ByteReader(process.outputDescriptor, name: "git cat-file")
    }

    /// Requests blobs, which ``next()`` returns after those requested before.
    func request(_ ids: [String]) {
        waiting.append(contentsOf: ids)
    }

    /// The content of the next requested blob.
    func next() throws -> Content {
        try reader.skip(count: unreadByteCount)
        unreadByteCount = 0
        // A blob must have been requested before. Without a pending query, the read below would
        // wait forever.
        if unansweredCount == 0 { try ask() }
        unansweredCount -= 1
        // `ID blob BYTES`, then the content and an end of line; or `ID missing`.
        guard let header = try reader.next(until: UInt8(ascii: "\n")) else {
            throw CommandError("The command git cat-file ended before it answered.")
        }
        let words = header.split(separator: UInt8(ascii: " "))
        // The header must be parsed before the next read, which reuses the buffer.
        guard words.count == 3, let byteCount = Int(String(decoding: words[2], as: UTF8.self))
        else { return .missing }
        guard byteCount <= maximumByteCount else {
            // The content is not read into memory, only skipped by the next call, with the end of
            // line after it.
            unreadByteCount = byteCount + 1
            return .tooLarge(byteCount: byteCount)
        }
        // The end of line that git writes after each content.
        unreadByteCount = 1
        return .bytes(try reader.next(count: byteCount))
    }

    private func ask() throws {
        let batch = waiting.prefix(Self.batchCount)
        waiting = waiting.dropFirst(batch.count)
        unansweredCount = batch.count
        let questions = batch.flatMap { Array($0.utf8) + [UInt8(ascii: "\n")] }
        do {
            try writeAll(
                questions[...],
                to: process.inputDescriptor,
                name: "the input of git cat-file"
            )
        } catch is ClosedPipe {
            // Only a closed standard output is a normal end of the program.
            throw CommandError("The command git cat-file ended before it was asked for all files.")
        }
    }
}
