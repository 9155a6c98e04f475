// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog
import TidemarkModel

/// The history of a git repository as a change stream: one line for each commit that changed files.
///
/// A record is a path in the zone `files`, of type `File`. Its fields: `mode` in octal digits,
/// `byteCount` and `text`; or, where the content is not text or too large for a record, `blob`, its
/// id in git. The commit's id is the request id, so that importing again passes over it. The user
/// is a short hash of the author's address: the address itself is not stored. Times that go back
/// are raised to the one before.
final class GitHistory: CommitLines {
    private let git: GitCommand
    /// The commits that are read, once the first one is.
    private var log: GitLog?
    /// The ids of the commits to read, newest first.
    private var commits: [String]
    private let blobs: GitBlobs
    private var line: [UInt8] = []
    private var commitID = ""
    private var commitCount = 0
    private var lastTime = Int64.min
    private var skippedPathCount = 0

    /// The longest content that is stored; a longer one is only named.
    ///
    /// A record's size counts the names and values of all fields: 1,000 bytes are for the others.
    static let maximumTextByteCount = Limits().bytesPerRecord - 1_000
    /// The longest path that can be a record's name.
    static let maximumPathByteCount = Limits().nameByteCount

    /// Reads the history of the repository at a path.
    init(repository: String) throws {
        git = GitCommand(repository: repository)
        commits = try git.commits()
        blobs = try GitBlobs(git, maximumByteCount: Self.maximumTextByteCount)
    }

    /// Begins after the last commit that a store has, and returns the number of commits up to it.
    ///
    /// Each commit is stored as what it changed in the one before. So it must follow the last one:
    /// commits that the store lacks before that were erased, or not in a shallow clone.
    ///
    /// Throws if the history does not have that commit.
    func begin(after last: String) throws -> Int {
        guard let newCount = commits.firstIndex(of: last) else {
            throw CommandError(
                "The store has the commit \(last), which the history of HEAD in \(git.repository) "
                    + "does not have: it is another repository or branch, or its history was "
                    + "rewritten. Import it into a new store."
            )
        }
        log = try GitLog(git, after: last)
        let knownCount = commits.count - newCount
        commits.removeLast(knownCount)
        return knownCount
    }

    func next() throws -> ArraySlice<UInt8>? {
        let log = try self.log ?? GitLog(git, after: nil)
        self.log = log
        while let commit = try log.next() {
            commitCount += 1
            commitID = commit.id
            // Git has seconds and a change stream milliseconds. The product may exceed 64 bits.
            let (time, isTooLate) = commit.committerTime.multipliedReportingOverflow(by: 1000)
            if isTooLate {
                throw CommandError(
                    "\(place): its committer's time, \(commit.committerTime) s after 1970, is outside the range that a store can hold."
                )
            }
            // The log's times never go back, and clocks of committers do.
            lastTime = max(lastTime, time)
            let changes = commit.changes.filter { Self.isRecordName($0.path) }
            // A skipped path does not stop the import. The count is reported at the end.
            skippedPathCount += commit.changes.count - changes.count
            if !changes.isEmpty {
                try encode(commit, changes)
                return line[...]
            }
        }
        return nil
    }

    var place: String { "commit \(commitID)" }

    var part: Double? { Double(commitCount) / Double(max(1, commits.count)) }

    var notes: [String] {
        guard skippedPathCount > 0 else { return [] }
        return [
            """
            Skipped \(skippedPathCount) changes to paths that cannot be record names: not UTF-8, \
            or longer than \(Self.maximumPathByteCount) bytes.
            """
        ]
    }

    /// The name under which an author's changes are stored.
    static func user(_ author: String) -> String {
        // A fixed seed: every import of the repository gives the same names. 48 bits suffice to
        // tell authors apart, and are no protection against guessing an address.
        let hash = xxh3(Array(author.utf8).span.bytes, seed: 0)
        let digits = String(hash >> 16, radix: 16)
        return "u-" + String(repeating: "0", count: 12 - digits.count) + digits
    }

    private static func isRecordName(_ path: [UInt8]) -> Bool {
        path.count <= maximumPathByteCount && String(validating: path, as: UTF8.self) != nil
    }

    // MARK: Writing a line

    private func encode(_ commit: GitLog.Commit, _ changes: [GitChange]) throws {
        // All blobs of the commit at once, in the order in which `appendFields` takes them.
        blobs.request(changes.filter(\.hasContent).map(\.blob))
        line.removeAll(keepingCapacity: true)
        // Ids, modes and hashes are digits and letters, so they are written without escapes. Paths
        // and contents are escaped.
        append(#"{"time":\#(lastTime),"user":"\#(Self.user(commit.author))","#)
        append(#""request":"\#(commit.id)","changes":["#)
        for (index, change) in changes.enumerated() {
            append(index == 0 ? #"{"op":""# : #",{"op":""#)
            append(change.isDeletion ? "delete" : "save")
            append(#"","zone":"files","recordName":"#)
            change.path.withUnsafeBufferPointer { line.append(jsonUTF8: $0) }
            if !change.isDeletion { try appendFields(of: change) }
            append("}")
        }
        append("]}")
    }

    private func appendFields(of change: GitChange) throws {
        append(#","recordType":"File","fields":{"mode":"\#(change.mode)""#)
        // The same condition as for the requests in `encode`. Otherwise each later change would get
        // the content of another blob.
        if change.hasContent {
            switch try blobs.next() {
            case .bytes(let bytes):
                append(#","byteCount":\#(bytes.count)"#)
                if Self.isText(bytes) {
                    append(#","text":"#)
                    bytes.withUnsafeBufferPointer { line.append(jsonUTF8: $0) }
                } else {
                    append(#","blob":"\#(change.blob)""#)
                }
            case .tooLarge(let byteCount):
                append(#","byteCount":\#(byteCount),"blob":"\#(change.blob)""#)
            case .missing:
                append(#","blob":"\#(change.blob)""#)
            }
        } else {
            append(#","blob":"\#(change.blob)""#)
        }
        append("}")
    }

    /// UTF-8 without zero bytes, which no text has.
    private static func isText(_ bytes: ArraySlice<UInt8>) -> Bool {
        !bytes.contains(0) && String(validating: bytes, as: UTF8.self) != nil
    }

    private func append(_ text: String) {
        line.append(contentsOf: text.utf8)
    }
}
