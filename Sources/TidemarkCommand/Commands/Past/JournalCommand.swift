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
        abstract: "Print what was asked of a store and not done, and what devices were told.",
        discussion: """
            Oldest first: every call that was refused, with its items, codes and rules, and, where the \
            store kept a full journal, every page of changes that a device was given, with the tokens \
            that it came with and got. Lines in between say from when on the journal holds what, and how \
            many entries are lost. Ends with status 1 if the journal is damaged; the rest is printed.

              tidemark journal notes.tide
              tidemark journal notes.tide --device phone --refusals
            """
    )

    @OptionGroup var store: StoreArgument

    @Flag(help: "Only what was refused.")
    var refusals = false

    @Option(help: ArgumentHelp("Only what this device asked.", valueName: "name"))
    var device: String?

    @Option(help: ArgumentHelp("Only what this user asked, by record name.", valueName: "name"))
    var user: String?

    @OptionGroup var options: OutputOptions

    func run() async throws {
        try await store.ask { service in
            var output = StandardOutput()
            let isJSON = options.isJSON(output)
            let ink = Ink(output)
            let call = JournalCall(
                refusals: refusals,
                device: device,
                user: user.map { UserID($0) }
            )
            let standing = try await service.answer(call) { entry in
                if isJSON {
                    try output.line { $0.append(json: entry) }
                } else {
                    for line in entry.lines(ink) { try output.line(line) }
                }
            }
            try output.flush()
            try finish(standing.damage)
        }
    }
}
