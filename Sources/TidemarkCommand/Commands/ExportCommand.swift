// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tidemark
import TidemarkAdministration
import TidemarkModel

/// `tidemark export`: the records of a moment, or the whole history.
struct ExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Print the live records as of a point, or the whole log as a change stream.",
        discussion: """
              tidemark export notes.tide
              tidemark export notes.tide --at 2026-02-03T04:05:06Z --zone lists
              tidemark export notes.tide --changes | gzip >notes.jsonl.gz
              tidemark export notes.tide --changes --assets photos >notes.jsonl

            Prints one JSON object per line, or text on a terminal, ordered by zone and record \
            name as UTF-8 bytes. A point includes every commit at or before it. With --changes, \
            the commits up to the point are printed, of all databases, in the format that `import` \
            reads; importing them gives the same state. Accounts and secrets of a server are left \
            out; --container tidemark.server exports them alone.

            Records name assets by checksum and size. --assets writes the bytes of all named \
            assets to a folder, each as a file named by its SHA-256.
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
        if changes, database.id != .standard, !isOfServer {
            throw ValidationError(
                "--changes exports the commits to all databases, each with its database: leave out "
                    + "--container, --environment, --database and --owner. The server's own container is "
                    + "exported only with --container \(ContainerID.server.identifier)."
            )
        }
    }

    /// True if the server's own container is named.
    private var isOfServer: Bool { database.id.container == .server }

    func run() async throws {
        try await store.ask { service in
            var folder = assets.map { AssetFolder($0) }
            try await export(by: service) { line in
                folder?.add(line)
            } _: { record in
                folder?.add(record.fields, of: database.id)
            }
            try await folder?.write(from: service)
        }
    }

    /// Prints commits or records, and gives each to a closure.
    private func export(
        by service: any AdministrationService,
        _ takeCommit: (ChangeStreamLine) -> Void,
        _ takeRecord: (Record) -> Void
    ) async throws {
        let position = try await point.position(by: service)
        let zone = zone.map { ZoneID(zoneName: $0) }
        var output = StandardOutput()
        var progress = Progress()
        defer { progress.finish() }
        var count = 0
        func write(_ unit: String, _ append: (inout [UInt8]) -> Void) throws {
            try output.line(append)
            count += 1
            // On one terminal, the bar and the lines would overwrite each other.
            if !output.isTerminal { progress.update(part: nil, "\(count) \(unit)") }
        }
        if changes {
            let call = CommitsCall(
                in: zone,
                through: position,
                of: isOfServer ? .server : nil
            )
            _ = try await service.answer(call) { line in
                takeCommit(line)
                try write("commits") { bytes in
                    bytes.append(json: line)
                    // `append(json:)` of a commit ends with a line feed, and `line` adds one.
                    bytes.removeLast()
                }
            }
        } else {
            let isJSON = options.isJSON(output)
            let ink = Ink(output)
            let call = RecordsCall(of: try database.holder, in: zone, asOf: position)
            _ = try await service.answer(call) { record in
                takeRecord(record)
                try write("records") { bytes in
                    if isJSON { return bytes.append(json: record) }
                    bytes.append(contentsOf: record.lines(ink).joined(separator: "\n").utf8)
                }
            }
        }
        try output.flush()
        if count == 0, !changes { try await database.noteIfEmpty(by: service) }
    }
}
