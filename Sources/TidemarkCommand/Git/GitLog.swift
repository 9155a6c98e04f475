// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The first-parent history of a repository, oldest commit first, as `git log` prints it.
final class GitLog {
    /// One commit, and its changes compared with its first parent.
    struct Commit {
        var id: String
        /// Seconds since 1970, by the committer's clock.
        var committerTime: Int64
        /// The author's address, or name where there is none.
        var author: String
        var changes: [GitChange]
    }

    private let process: ChildProcess
    private var reader: ByteReader
    private var isAtEnd = false

    /// Begins to read the history of a repository after a commit, or from its beginning.
    ///
    /// A shallow clone's begins where the clone does, with a commit that adds all there was.
    init(_ git: GitCommand, after commit: String?) throws {
        process = try git.start(
            [
                "-c", "log.showRoot=true", "log", "--reverse",
                // The log is a line of commits, so only first parents are followed. A merge is one
                // commit with all changes that it brought.
                "--first-parent", "--diff-merges=first-parent", "--raw", "-z", "--no-abbrev",
                // Override what a user's configuration might set.
                "--no-renames", "--no-relative", "--no-color", "--no-notes",
                "--no-show-signature", "--ignore-submodules=none", "-O/dev/null",
                // Each commit begins with an empty field, which no change does.
                "--format=%x00%H%x00%ct%x00%ae%x00%an",
                commit.map { $0 + "..HEAD" } ?? "HEAD", "--",
            ]
        )
        reader = ByteReader(process.outputDescriptor, name: "git log")
        // The empty field before the first commit.
        _ = try reader.next(until: 0)
    }

    /// The next commit; `nil` after the last.
    func next() throws -> Commit? {
        guard !isAtEnd else { return nil }
        guard let id = try reader.next(until: 0) else {
            // Also before the first commit: git may have failed at once.
            isAtEnd = true
            try process.finish()
            return nil
        }
        var commit = Commit(
            id: String(decoding: id, as: UTF8.self),
            committerTime: 0,
            author: "",
            changes: []
        )
        guard let time = Int64(try text()) else { throw malformed("a commit's time") }
        commit.committerTime = time
        let address = try text()
        let name = try text()
        commit.author = address.isEmpty ? name : address
        try readChanges(&commit.changes)
        return commit
    }

    /// Reads changes up to the empty field before the next commit, or the end.
    private func readChanges(_ changes: inout [GitChange]) throws {
        while var header = try reader.next(until: 0) {
            if header.isEmpty { return }
            // The first change stands on a line of its own behind the commit.
            if header.first == UInt8(ascii: "\n") { header.removeFirst() }
            // A copy, because reading the path reuses the buffer.
            let kept = Array(header)
            guard let path = try reader.next(until: 0),
                let change = GitChange(header: kept[...], path: path)
            else { throw malformed("a change") }
            changes.append(change)
        }
        // Only the status of git tells a complete history from one that was cut off by a failure.
        isAtEnd = true
        try process.finish()
    }

    private func text() throws -> String {
        guard let field = try reader.next(until: 0) else { throw malformed("a commit") }
        // An author in another encoding gets replacement characters: the same ones each time, so
        // the hash of the name is stable.
        return String(decoding: field, as: UTF8.self)
    }

    private func malformed(_ what: String) -> CommandError {
        CommandError(
            "The output of git log has \(what) in an unknown form. Check the version of git."
        )
    }
}
