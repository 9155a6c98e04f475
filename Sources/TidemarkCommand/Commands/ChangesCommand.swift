// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tidemark
import TidemarkAdministration
import TidemarkModel

/// `tidemark changes`: a delta, as a device would fetch it.
struct ChangesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "changes",
        abstract: "Print what changed in a zone after a change token.",
        discussion: """
              tidemark changes notes.tide --zone lists
              tidemark changes notes.tide --zone lists --since t.AQEB… --limit 100

            Prints each changed record once, by its last change, oldest first: {"changed":RECORD} \
            or {"deleted":{…}}. The last line is {"token","moreComing"}; pass that token to \
            --since the next time. Without a token, all live records are printed, and no \
            deletions. A terminal gets the same as text.
            """
    )

    @OptionGroup var store: StoreArgument

    @Option(help: ArgumentHelp("The zone.", valueName: "name"))
    var zone: String

    @Option(
        help: ArgumentHelp(
            "The change token of an earlier answer.",
            valueName: "token"
        ),
        transform: readToken
    )
    var since: ChangeToken?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("The number of records; all, unless given.", valueName: "records")
    )
    var limit: Int?

    @OptionGroup var user: AskingUser
    @OptionGroup var database: DatabaseOptions
    @OptionGroup var options: OutputOptions

    func validate() throws {
        if let limit, limit < 1 { throw ValidationError("--limit must be at least 1.") }
    }

    func run() async throws {
        try await store.ask { service in try await printChanges(by: service) }
    }

    private func printChanges(by service: any AdministrationService) async throws {
        var printer = LinePrinter(options)
        let caller = user.caller(of: database.id)
        var since = since
        var left = limit ?? .max
        while true {
            let request = ZoneChangesRequest(
                zone: database.zone(zone),
                since: since,
                // Without a limit, the store chooses the size of its pages.
                limit: limit == nil ? nil : left
            )
            let page = try await service.answer(ChangesCall(request, as: caller))
            for change in page.changes {
                try printer.print(
                    json: { $0.append(json: change) },
                    lines: { ink in change.lines(ink) }
                )
            }
            left -= page.changes.count
            since = page.token
            // The token is printed last. A reader that is cut off before has no newer token, and
            // repeats from its old one without a loss.
            guard page.moreComing, left > 0 else {
                try printer.print { line in
                    line.append(literal: "{")
                    line.append(member: "token", jsonString: page.token.description)
                    line.append(member: "moreComing", jsonBool: page.moreComing)
                    line.append(literal: "}")
                } lines: { _ in
                    ["token \(page.token)\(page.moreComing ? ", with more to come" : "")"]
                }
                break
            }
        }
        try printer.flush()
    }
}

/// Reads a change token of the command line.
func readToken(_ text: String) throws -> ChangeToken {
    guard let token = ChangeToken(text) else {
        throw ValidationError(
            "'\(text)' is not a change token. A token begins with t., and this command prints it."
        )
    }
    return token
}

extension RecordChange {
    /// The change as lines for a person.
    fileprivate func lines(_ ink: Ink) -> [String] {
        switch self {
        case .changed(let record): record.lines(ink)
        case .deleted(let deletion):
            [
                ink.text(
                    "\(deletion.recordID)  \(deletion.recordType)  deleted".printable,
                    .removed
                )
            ]
        }
    }
}

extension [UInt8] {
    fileprivate mutating func append(json change: RecordChange) {
        switch change {
        case .changed(let record):
            append(literal: "{\"changed\":")
            append(json: record)
        case .deleted(let deletion):
            append(literal: "{\"deleted\":")
            append(json: deletion)
        }
        append(UInt8(ascii: "}"))
    }
}
