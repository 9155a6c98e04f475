// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tidemark
import TidemarkModel

/// `tidemark import`: a history from outside.
struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Append a change stream to a store, one commit per line.",
        discussion: """
            Creates the store if there is none. FILE is JSON Lines (Docs/formats/changes.md), `-` \
            for standard input; a name that ends in .gz goes through `gzip -dc`. With --git the \
            lines are made of a repository's history: a commit is a commit, a file is a record.

            Lines that the store already has are passed over, so that an import can be run again, \
            whole or in parts, and doubles nothing. Known are lines that were imported, and commits \
            with a request id: not what was saved without one and exported, so import an export into \
            another store. A line that is not valid stops the import: all before it is kept, nothing \
            of it is applied. A store that was created, and got no commit before the import stopped, is \
            removed.

              tidemark import notes.tide history.jsonl.gz
              other-tool | tidemark import notes.tide -
              tidemark import notes.tide notes.jsonl --assets photos
              tidemark import notes.tide --git .
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
            After so many lines each time, wait for the disk and print {"acknowledged":LINES} to \
            standard error: that many lines survive whatever happens next.
            """,
            valueName: "lines"
        )
    )
    var acknowledgeEvery: Int?

    @OptionGroup var options: OutputOptions

    func validate() throws {
        guard (file == nil) != (git == nil) else {
            throw ValidationError("Name a file, or a repository with --git, and not both.")
        }
        if let acknowledgeEvery, acknowledgeEvery < 1 {
            throw ValidationError("--acknowledge-every must be at least 1.")
        }
    }

    func run() async throws {
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
            try await LineImport(assets: assets, acknowledgeEvery: acknowledgeEvery)
                .run(lines, into: store, &report)
        } catch {
            failure = error
            folder.remove(store)
        }
        do {
            try store.close()
        } catch {
            // Report the first failure.
            failure = failure ?? error
        }
        var output = StandardOutput()
        if options.isJSON(output) {
            try output.line { $0.append(json: report.figures) }
        } else {
            try output.line(report.text)
        }
        try output.flush()
        for text in lines.notes { note(text) }
        if let failure { throw failure }
    }
}
