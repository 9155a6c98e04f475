// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tidemark
import TidemarkModel

/// `tidemark record`: one record.
struct RecordCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "record",
        abstract: "Print a record, as it is or as it was.",
        discussion: """
            Ends with status 1 if there is no such record, or was none at that point.

              tidemark record notes.tide milk --zone lists
              tidemark record notes.tide milk --zone lists --at 1042
            """
    )

    @OptionGroup var store: StoreArgument

    @Argument(help: "The record's name.")
    var name: String

    @Option(help: ArgumentHelp("The record's zone.", valueName: "name"))
    var zone = ZoneID.defaultZoneName

    @OptionGroup var point: PointOption
    @OptionGroup var database: DatabaseOptions
    @OptionGroup var options: OutputOptions

    func run() async throws {
        try await store.read { store in try printRecord(of: store) }
    }

    private func printRecord(of store: Store) throws {
        let record = try store.record(
            RecordID(recordName: name, zone: ZoneID(zoneName: zone)),
            of: try database.holder,
            asOf: try point.position(in: store)
        )
        var output = StandardOutput()
        if options.isJSON(output) {
            try output.line { $0.append(json: record) }
        } else {
            for line in record.lines(Ink(output)) { try output.line(line) }
        }
        try output.flush()
    }
}
