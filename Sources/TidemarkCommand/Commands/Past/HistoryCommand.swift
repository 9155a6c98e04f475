// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tidemark
import TidemarkAdministration
import TidemarkModel
import TidemarkReplay

/// `tidemark history`: all that happened to a record.
struct HistoryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "history",
        abstract: "Print every version of a record, newest first.",
        discussion: """
              tidemark history notes.tide milk --zone lists
              tidemark history notes.tide milk --zone lists --limit 1

            Prints for each version its time, user, device, build and request, and the fields that \
            were set or removed with their earlier values. Deletions, later versions and earlier \
            zones of the same name are included. The cost is proportional to the versions of the \
            record. The last line says where compaction has dropped versions. The status is 1 if \
            the record never existed.
            """
    )

    @OptionGroup var store: StoreArgument
    @OptionGroup var record: RecordArgument

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("The number of versions; all, unless given.", valueName: "count")
    )
    var limit: Int?

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var options: OutputOptions

    func validate() throws {
        if let limit, limit < 1 { throw ValidationError("--limit must be at least 1.") }
    }

    func run() async throws {
        try await store.ask { service in
            var printer = LinePrinter(options)
            let call = HistoryCall(
                of: record.id,
                in: try database.holder,
                limit: limit
            )
            _ = try await service.answer(call) { entry in
                try printer.print(
                    json: { $0.append(json: entry) },
                    lines: { ink in entry.lines(ink) }
                )
            }
            try printer.flush()
        }
    }
}
