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
            try await take(lines, into: store, &report)
        } catch {
            failure = error
            folder.remove(store)
        }
        do {
            try store.close()
        } catch {
            // The first failure is the one to tell.
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

    /// Imports all lines; what came before an error is durable when it is thrown.
    private func take(
        _ lines: any CommitLines,
        into store: Store,
        _ report: inout ImportReport
    ) async throws {
        var changes = try store.beginImport()
        var folder = assets.map { AssetFolder($0) }
        var reader = ChangeStreamReader()
        var progress = Progress()
        defer { progress.finish() }
        var lineCount = 0
        do {
            while let bytes = try lines.next() {
                let line: ChangeStreamLine
                do {
                    line = try reader.read(bytes)
                } catch {
                    throw CommandError(
                        "\(lines.place): \(error.message) (at byte \(error.offset))"
                    )
                }
                do {
                    folder?.add(line)
                    try await folder?.read(into: store)
                    report.count(try await changes.add(line), of: line)
                } catch {
                    throw CommandError("\(lines.place): \(error)")
                }
                lineCount += 1
                if let acknowledgeEvery, lineCount % acknowledgeEvery == 0 {
                    try await changes.finish()
                    note("{\"acknowledged\":\(lineCount)}")
                }
                progress.update(part: lines.part, "\(lineCount) commits")
            }
        } catch {
            try? await changes.finish()
            throw error
        }
        try await changes.finish()
        for waiting in try changes.waitingShares() {
            note(
                "The share \(waiting.share) shows nothing yet: no line has brought its root "
                    + "\(waiting.root). It begins when one does."
            )
        }
    }
}

/// What an import came to.
private struct ImportReport {
    private var commits = 0
    private var changes = 0
    private var skipped = 0
    private var missingDeletes = 0

    mutating func count(_ outcome: ChangeImport.Outcome, of line: ChangeStreamLine) {
        switch outcome {
        case .applied(let missingDeletionCount):
            commits += 1
            changes += line.changes.count
            missingDeletes += missingDeletionCount
        case .skipped:
            skipped += 1
        }
    }

    var text: String {
        var parts = ["Imported \(changes) changes in \(commits) commits."]
        if skipped > 0 { parts.append("Passed over \(skipped) that the store has already.") }
        if missingDeletes > 0 {
            parts.append("\(missingDeletes) deletions were of records that were not there.")
        }
        return parts.joined(separator: " ")
    }

    var figures: Figures {
        [
            ("commits", "\(commits)"), ("changes", "\(changes)"), ("skipped", "\(skipped)"),
            ("missingDeletes", "\(missingDeletes)"),
        ]
    }
}
