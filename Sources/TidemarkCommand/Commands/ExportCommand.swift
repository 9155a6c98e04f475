// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tidemark
import TidemarkModel

/// `tidemark export`: the records of a moment, or the whole history.
struct ExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Print the live records as of a point, or the whole log as a change stream.",
        discussion: """
            One JSON object a line, or text on a terminal, ordered by zone, then record name, as UTF-8 bytes. A point \
            includes every commit at or before it. With --changes the commits up to the point are written, of all databases, \
            in the format that `import` reads, also on a terminal: importing them gives the same state.

              tidemark export notes.tide
              tidemark export notes.tide --at 2026-02-03T04:05:06Z --zone lists
              tidemark export notes.tide --changes | gzip >notes.jsonl.gz
              tidemark export notes.tide --changes --assets photos >notes.jsonl

            Records name assets by checksum and size. With --assets the bytes of all assets that are \
            named are written to a folder, each as a file named by its SHA-256.
            """
    )

    @OptionGroup var store: StoreArgument
    @OptionGroup var point: PointOption

    @Option(help: ArgumentHelp("Only this zone.", valueName: "name"))
    var zone: String?

    @Flag(help: "Print commits as a change stream instead of records.")
    var changes = false

    @Option(
        help: ArgumentHelp("Write the bytes of assets to this folder.", valueName: "folder"),
        completion: .directory
    )
    var assets: String?

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var options: OutputOptions

    func validate() throws {
        if changes, options.form == .text {
            throw ValidationError(
                "--changes writes the format that `import` reads, which is JSON: leave out --text."
            )
        }
        if changes, database.id != .standard {
            throw ValidationError(
                "--changes exports the commits to all databases, each with its database: leave out "
                    + "--container, --environment, --database and --owner."
            )
        }
    }

    func run() async throws {
        try await store.read { store in
            var folder = assets.map { AssetFolder($0) }
            try export(from: store, &folder)
            try await folder?.write(from: store)
        }
    }

    private func export(from store: Store, _ folder: inout AssetFolder?) throws {
        let position = try point.position(in: store)
        var writer = LineWriter()
        if changes {
            // A part of a commit under its request's id would stand against the whole one.
            let end = try position.map { try store.commitEnd(atOrBefore: $0) }
            try store.visitCommits(through: end) { line in
                var line = line
                if let zone {
                    let count = line.changes.count
                    line.changes.removeAll { $0.zone != ZoneID(zoneName: zone) }
                    if line.changes.isEmpty { return true }
                    if line.changes.count < count { line.requestID = nil }
                }
                folder?.add(line)
                return writer.write("commits") { bytes in
                    bytes.append(json: line)
                    bytes.removeLast()
                }
            }
        } else {
            try store.visitRecords(
                of: try database.holder,
                in: zone.map { ZoneID(zoneName: $0) },
                asOf: position
            ) { record in
                folder?.add(record.fields, of: database.id)
                return writer.write(record, options)
            }
        }
        try writer.finish()
    }
}

/// Writes what a visitor is shown, and keeps the first failure for the end of the visit.
private struct LineWriter: ~Copyable {
    private var output = StandardOutput()
    private var progress = Progress()
    private var failure: (any Error)?
    private var count = 0

    /// Writes a record for whom the output is; `false` to end the visit.
    mutating func write(_ record: Record, _ options: OutputOptions) -> Bool {
        if options.isJSON(output) { return write("records") { $0.append(json: record) } }
        let lines = record.lines(Ink(output)).joined(separator: "\n")
        return write("records") { $0.append(contentsOf: lines.utf8) }
    }

    /// Writes one line; `false` to end the visit.
    mutating func write(_ unit: String, _ append: (inout [UInt8]) -> Void) -> Bool {
        do {
            try output.line(append)
            count += 1
            if !output.isTerminal { progress.update(part: nil, "\(count) \(unit)") }
            return true
        } catch {
            failure = error
            return false
        }
    }

    mutating func finish() throws {
        progress.finish()
        if let failure { throw failure }
        try output.flush()
    }
}
