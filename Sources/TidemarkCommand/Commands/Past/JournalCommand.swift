// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tidemark
import TidemarkAdministration
import TidemarkModel

/// `tidemark journal`: shows rejections and the pages sent to devices.
struct JournalCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "journal",
        abstract: "Print the journal: rejected requests, and what devices fetched.",
        discussion: """
              tidemark journal notes.tide
              tidemark journal notes.tide --device phone --refusals

            Prints, oldest first, every rejected call with its items, codes and rules. If the \
            store keeps a full journal, it also prints every page of changes that a device was \
            given, with its tokens. Lines in between say what the journal holds from when on, and \
            how many entries are lost. The status is 1 if the journal is damaged; the rest is \
            printed.
            """
    )

    @OptionGroup var store: StoreArgument

    @Flag(help: "Only rejected requests.")
    var refusals = false

    @Option(help: ArgumentHelp("Only requests of this device.", valueName: "name"))
    var device: String?

    @Option(help: ArgumentHelp("Only requests of this user, by record name.", valueName: "name"))
    var user: String?

    @OptionGroup var options: OutputOptions

    func run() async throws {
        try await store.ask { service in
            var printer = LinePrinter(options)
            let call = JournalCall(
                refusals: refusals,
                device: device,
                user: user.map { UserID($0) }
            )
            let standing = try await service.answer(call) { entry in
                try printer.print(
                    json: { $0.append(json: entry) },
                    lines: { ink in entry.lines(ink) }
                )
            }
            try printer.flush()
            try finish(standing.damage)
        }
    }
}
