// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tidemark
import TidemarkAdministration
import TidemarkModel
import TidemarkReplay

/// `tidemark diff`: shows the differences between two points.
struct DiffCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "diff",
        abstract: "Print the differences between two points: zones and records, field by field.",
        discussion: """
              tidemark diff notes.tide --from 1042
              tidemark diff notes.tide --from 2026-02-03T04:05:06Z --to t.AQEB… --zone lists

            Prints the records that were added, changed or removed between the two points, by zone \
            and name. Changed records are compared field by field, texts line by line, and lists \
            element by element. A change that was reverted is not a difference. The cost is \
            proportional to the events between the points.
            """
    )

    @OptionGroup var store: StoreArgument

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("The first point: \(Point.explanation).", valueName: "point"),
        transform: { text in try Point(text) }
    )
    var from: Point

    @Option(point: "The second point; now, unless given.")
    var to: Point?

    @Option(help: ArgumentHelp("The zone; all of the database, unless given.", valueName: "name"))
    var zone: String?

    @Option(help: ArgumentHelp("Only the record of this name.", valueName: "name"))
    var record: String?

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var options: OutputOptions

    func run() async throws {
        try await store.ask { service in
            var printer = LinePrinter(options)
            let call = DifferencesCall(
                after: try await from.position(by: service),
                through: try await to?.position(by: service),
                of: try database.holder,
                in: zone.map { ZoneID(zoneName: $0) },
                record: record
            )
            _ = try await service.answer(call) { difference in
                try printer.print(
                    json: { $0.append(json: difference) },
                    lines: { ink in difference.lines(ink) }
                )
            }
            try printer.flush()
        }
    }
}
