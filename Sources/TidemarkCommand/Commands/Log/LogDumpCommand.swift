// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TidemarkAdministration
import TidemarkLog

/// `tidemark log dump`: every event.
struct LogDumpCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dump",
        abstract: "Print the events of the log.",
        discussion: """
              tidemark log dump notes.tide --record milk
              tidemark log dump notes.tide --user u-1 --since 2026-02-01T00:00:00Z
              tidemark log dump notes.tide --from 100 --to 200 | jq .fields

            Prints one line for each event, oldest first, with its commit: user, device, time and \
            request. An event is printed if it meets all conditions.
            """
    )

    @OptionGroup var store: StoreArgument
    @OptionGroup var range: EventRange
    @OptionGroup var filter: EventFilter
    @OptionGroup var options: OutputOptions

    func run() async throws {
        var call = EventsCall(filter.filter)
        range.set(&call)
        var printer = LinePrinter(options)
        let found = try await store.serviceOfFiles().answer(call) { try printer.print($0) }
        // Before the notes: if both outputs lead to one file, the notes follow the events.
        try printer.flush()
        noteTornTail(found.tornByteCount)
        try finish(found.damage)
    }
}

extension LinePrinter {
    /// Prints an event of the log.
    mutating func print(_ event: LoggedEvent) throws {
        try print(json: { $0.append(json: event) }, lines: { _ in [event.text] })
    }
}
