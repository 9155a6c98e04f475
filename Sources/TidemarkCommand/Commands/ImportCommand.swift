// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tidemark
import TidemarkModel

/// `tidemark import`: a history from outside.
struct ImportCommand: AsyncParsableCommand, FolderCommand {
    static let remedy = """
        An imported line keeps the user and the time that it names, which a server accepts from no \
        client. Stop the server and import into its folder, or send records with `tidemark save`.
        """

    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Import a change stream into a store, one commit per line.",
        discussion: """
              tidemark import notes.tide history.jsonl.gz
              other-tool | tidemark import notes.tide -
              tidemark import notes.tide notes.jsonl --assets photos
              tidemark import notes.tide lists.jsonl --grow-schema
              tidemark import notes.tide --git .

            Creates the store if it does not exist. FILE is JSON Lines (Docs/formats/changes.md), \
            or - for standard input. A file whose name ends in .gz is decompressed with gzip. With \
            --git, the lines are made from the history of a repository: a commit becomes a commit, \
            a file becomes a record. Importing it again begins after the last commit that the store \
            has, and fails if HEAD does not have that commit in its history.

            An import adds nothing to the schema unless --grow-schema is given. A stream that a \
            store exported whole has the schema in it. The times of a store never go back: a line \
            gets at least the time of the commit before it. So import all parts of a history \
            before the store has commits of today, such as those of --grow-schema or a compaction.

            Lines that the store already has are skipped, so an import can be repeated, whole or \
            in parts. The store recognizes lines that were imported, and commits with a request \
            id. It does not recognize what was saved without a request id and then exported; \
            import such an export into another store. An invalid line stops the import: the lines \
            before it are kept, and nothing of it is applied. A store that the command created is \
            removed again if the import fails before the first commit.
            """
    )

    @OptionGroup var store: WrittenStoreArgument

    @Argument(help: "The change stream, or - for standard input.", completion: .file())
    var file: String?

    @Option(
        help: ArgumentHelp(
            "Import the history of this git repository instead of a file.",
            valueName: "repository"
        ),
        completion: .directory
    )
    var git: String?

    @Option(
        help: ArgumentHelp(
            """
            Take the bytes of assets that records name from this folder, which `export --assets` \
            writes: files named by their SHA-256.
            """,
            valueName: "folder"
        ),
        completion: .directory
    )
    var assets: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            """
            After each such number of lines, wait for the disk and print {"acknowledged":LINES} to \
            standard error: that many lines are on disk.
            """,
            valueName: "lines"
        )
    )
    var acknowledgeEvery: Int?

    @Flag(
        help: """
            Add the record types and fields of the imported records to the development schema, as \
            saves of them would.
            """
    )
    var growSchema = false

    @OptionGroup var options: OutputOptions

    func validate() throws {
        guard (file == nil) != (git == nil) else {
            throw ValidationError("Name a file, or a repository with --git, and not both.")
        }
        if git != nil, assets != nil {
            throw ValidationError(
                "--assets is for a file: the records of a repository have no assets."
            )
        }
        if let acknowledgeEvery, acknowledgeEvery < 1 {
            throw ValidationError("--acknowledge-every must be at least 1.")
        }
    }

    func run() async throws {
        // The input is opened before the store: a missing file must not leave a new store.
        let lines: any CommitLines =
            if let git {
                try GitHistory(repository: git)
            } else {
                try FileLines(path: file ?? "-")
            }
        let folder = NewFolder(try store.folder)
        let store = try await store.open(.creating)
        var report = ImportReport()
        var failure: (any Error)?
        do {
            if let history = lines as? GitHistory, let last = try GitHistory.lastCommit(in: store) {
                report.passOver(try history.begin(after: last))
            }
            try await LineImport(
                assets: assets,
                acknowledgeEvery: acknowledgeEvery,
                growsSchema: growSchema
            )
            .run(lines, into: store, &report)
        } catch {
            failure = error
            // Before the store is closed: its lock keeps other processes out while the folder is
            // removed.
            folder.remove(store)
        }
        do {
            try store.close()
        } catch {
            // Report the first failure.
            failure = failure ?? error
        }
        // Also after a failure: the lines before it are kept, and the report counts them.
        try options.print(
            json: { $0.append(json: report.figures) },
            lines: { _ in [report.text] }
        )
        for text in lines.notes { note(text) }
        if let failure { throw failure }
    }
}
