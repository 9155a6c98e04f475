// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import Tidemark
import TidemarkAdministration
import TidemarkModel
import TidemarkReplay

/// `tidemark case`: extracts the part of a history that reproduces some records.
struct CaseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "case",
        abstract: "Extract the part of the log that reproduces the history of some records.",
        discussion: """
              tidemark case notes.tide --record milk --zone lists -o case.jsonl
              tidemark case notes.tide --record milk --record eggs --zone lists --mask-names -o case.jsonl

            Writes a change stream with all versions of the records, of their parents, of the \
            records they refer to and of their shares, and with the schema of their types. \
            `tidemark import` makes a store of it. A second file, whose name ends with \
            .expected.jsonl, has the final records, one per line.

            --mask replaces values by others of the same length; equal values stay equal. Request \
            ids are left out. --mask-names also replaces the names of users, devices, zones and \
            records. Types, fields, builds and times stay.
            """
    )

    @OptionGroup var store: StoreArgument

    @Option(help: ArgumentHelp("A record. May be repeated.", valueName: "name"))
    var record: [String]

    @Option(help: ArgumentHelp("The records' zone.", valueName: "name"))
    var zone = ZoneID.defaultZoneName

    @Option(
        name: [.customShort("o"), .customLong("output")],
        help: ArgumentHelp("The file to write the change stream to.", valueName: "file"),
        completion: .file()
    )
    var output: String

    @Flag(help: "Replace values by others of the same length.")
    var mask = false

    @Flag(help: "Replace names of users, devices, zones and records too; implies --mask.")
    var maskNames = false

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var options: OutputOptions

    func validate() throws {
        if record.isEmpty { throw ValidationError("Name a record with --record.") }
        if output.isEmpty || output == "-" {
            throw ValidationError("A case is two files: name the first one with --output.")
        }
    }

    func run() async throws {
        try await store.ask { service in
            let found = try await service.answer(
                CaseCall(
                    of: record.map { RecordID(recordName: $0, zone: ZoneID(zoneName: zone)) },
                    in: try database.holder,
                    masking: maskNames ? .names : mask ? .values : .nothing
                )
            )
            if !found.prunedRecordIDs.isEmpty {
                note(
                    "History pruned: of \(found.prunedRecordIDs.count) records the log has not all "
                        + "versions any more; the case begins with those that are left."
                )
            }
            let expected = Self.expectedPath(beside: output)
            try write(found.lines.map { line in { $0.append(json: line) } }, to: output)
            try write(found.records.map { record in { $0.append(json: record) } }, to: expected)
            let figures: Figures = [
                ("commits", "\(found.lines.count)"),
                ("changes", "\(found.lines.reduce(0) { $0 + $1.changes.count })"),
                ("records", "\(found.recordIDs.count)"), ("live", "\(found.records.count)"),
            ]
            try options.print { line in
                line.append(json: figures)
            } lines: { _ in
                let text = figures.map { "\($0.name): \($0.value)" }.joined(separator: ", ")
                return ["\(text). Expected in the end: \(expected.printable)"]
            }
        }
    }

    /// Returns the path of the file with the expected records of a change stream.
    static func expectedPath(beside path: String) -> String {
        (path.hasSuffix(".jsonl") ? String(path.dropLast(6)) : path) + ".expected.jsonl"
    }

    private func write(_ lines: [(inout [UInt8]) -> Void], to path: String) throws {
        var bytes: [UInt8] = []
        for line in lines { line(&bytes) }
        do {
            try Data(bytes).write(to: URL(fileURLWithPath: path))
        } catch {
            throw CommandError(
                "\(path) cannot be written: \(error.localizedDescription) Check that its folder is "
                    + "there and can be written."
            )
        }
    }
}

extension [UInt8] {
    /// Appends a record of the end of a case as a line, in the form that `save` takes too.
    fileprivate mutating func append(json record: CaseRecord) {
        append(literal: "{")
        append(member: "zone", jsonString: record.id.zone.zoneName)
        append(member: "recordName", jsonString: record.id.recordName)
        append(member: "recordType", jsonString: record.recordType)
        append(member: "parent", jsonString: record.parent)
        append(member: "fields")
        append(json: record.fields)
        append(literal: "}\n")
    }
}
