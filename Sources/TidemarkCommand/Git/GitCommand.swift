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

    /// Returns the ids of the first-parent history of `HEAD`, newest first.
    func commits() throws -> [String] {
        let process = try start(["rev-list", "--first-parent", "HEAD", "--"])
        var reader = ByteReader(process.outputDescriptor, name: "git rev-list")
        var ids: [String] = []
        while let line = try reader.next(until: UInt8(ascii: "\n")) {
            ids.append(String(decoding: line, as: UTF8.self))
        }
        // A failure of git is reported here, and not as missing commits.
        try process.finish()
        return ids
    }
}
