// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Tidemark
import TidemarkModel

/// The import of a change stream's lines into a store.
struct LineImport {
    /// The folder with the bytes of assets that records name.
    var assets: String?
    /// The number of lines after which the import waits for the disk and reports the durable lines,
    /// each time.
    var acknowledgeEvery: Int?
    /// True to add what the development schemas lack for the records, false to print a note of it;
    /// `nil` for neither.
    var growsSchema: Bool?

    /// Imports all lines.
    ///
    /// If this throws, the lines before the error are durable.
    func run(
        _ lines: any CommitLines,
        into store: Store,
        _ report: inout ImportReport
    ) async throws {
        var changes = try store.beginImport()
        var folder = assets.map { AssetFolder($0) }
        var reader = ChangeStreamReader()
        var schema = ImportedSchema()
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
                    // The bytes first: others see the record as soon as it is durable, and may
                    // fetch its asset at once.
                    folder?.add(line)
                    try await folder?.read(into: store)
                    report.count(try await changes.add(line), of: line)
                    if growsSchema != nil { schema.add(line) }
                } catch {
                    throw CommandError("\(lines.place): \(error)")
                }
                lineCount += 1
                if let acknowledgeEvery, lineCount % acknowledgeEvery == 0 {
                    try await changes.finish()
                    // On standard error, because standard output has the report at the end. Only
                    // after `finish`: the count is a promise about the disk.
                    note("{\"acknowledged\":\(lineCount)}")
                }
                progress.update(part: lines.part, "\(lineCount) commits")
            }
        } catch {
            // The lines before the error were accepted. Waiting for the disk keeps the promise that
            // they are durable.
            try? await changes.finish()
            throw error
        }
        try await changes.finish()
        if growsSchema == true {
            report.schemaChanges = try await schema.grow(store)
        } else if let first = try schema.missing(in: store).first {
            note(
                "The development schema lacks what the records have: \(first.changes[0]). Queries of "
                    + "an unknown record type are not checked, and the first save of one adds only the "
                    + "fields of that save. Import again with --grow-schema to add all; lines that the "
                    + "store has are skipped."
            )
        }
        // Only at the end: any later line may save the root of a share (`Docs/formats/changes.md`).
        for waiting in try changes.waitingShares() {
            note(
                "The share \(waiting.share) shows nothing yet: no line has brought its root "
                    + "\(waiting.root). It begins when one does."
            )
        }
    }
}

/// The result of an import.
struct ImportReport {
    private var commits = 0
    private var changes = 0
    private var skipped = 0
    private var missingDeletes = 0
    /// The additions to development schemas.
    var schemaChanges: [SchemaChange] = []

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

    /// Counts lines that were not read, because the store has them.
    mutating func passOver(_ count: Int) { skipped += count }

    var text: String {
        var parts = ["Imported \(changes) changes in \(commits) commits."]
        if skipped > 0 { parts.append("Passed over \(skipped) that the store has already.") }
        if missingDeletes > 0 {
            parts.append("\(missingDeletes) deletions were of records that were not there.")
        }
        parts += schemaChanges.map { "Schema: \($0)." }
        return parts.joined(separator: " ")
    }

    var figures: Figures {
        [
            ("commits", "\(commits)"), ("changes", "\(changes)"), ("skipped", "\(skipped)"),
            ("missingDeletes", "\(missingDeletes)"), ("schemaChanges", "\(schemaChanges.count)"),
        ]
    }
}
