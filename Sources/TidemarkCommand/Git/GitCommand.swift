// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The program git, for the repository at a path.
struct GitCommand {
    /// The repository's path.
    let repository: String

    /// Variables that lead git to another repository, such as git itself sets for its hooks.
    private static let variables = [
        "GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_SHALLOW_FILE", "GIT_GRAFT_FILE",
        "GIT_REPLACE_REF_BASE", "GIT_NAMESPACE",
    ]

    /// Starts git with some arguments.
    func start(
        _ arguments: [String],
        input: ChildProcess.Input = .nothing
    ) throws -> ChildProcess {
        try ChildProcess(
            ["git", "-C", repository] + arguments,
            without: Self.variables,
            input: input
        )
    }

    /// Visits the lines that git prints for some arguments.
    private func visitLines(_ arguments: [String], _ visit: (String) -> Void) throws {
        let process = try start(arguments)
        var reader = ByteReader(process.outputDescriptor, name: "git \(arguments[0])")
        while let line = try reader.next(until: UInt8(ascii: "\n")) {
            visit(String(decoding: line, as: UTF8.self))
        }
        // A failure of git is reported here, and not as missing lines.
        try process.finish()
    }

    /// Returns the number of commits in the first-parent history of `HEAD`, up to a commit and after
    /// it; the first is `nil` if the history does not have that commit.
    func countCommits(around commit: String?) throws -> (before: Int?, after: Int) {
        var (before, after): (Int?, Int) = (nil, 0)
        try visitLines(["rev-list", "--first-parent", "HEAD", "--"]) { id in
            if before != nil {
                before? += 1
            } else if id == commit {
                before = 1
            } else {
                after += 1
            }
        }
        return (before, after)
    }
}
