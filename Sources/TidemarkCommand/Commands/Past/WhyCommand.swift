// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tidemark
import TidemarkAdministration
import TidemarkModel
import TidemarkReplay

/// `tidemark why`: why a device does not have a record.
struct WhyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "why",
        abstract: "Explain why a device does not have a version of a record.",
        discussion: """
              tidemark why notes.tide --record milk --zone lists --device phone
              tidemark why notes.tide --record milk --zone lists --owner anna --device tablet --as bob
              tidemark why notes.tide --record milk --zone lists --device phone --at 1042

            Follows the record from its save to the device, and names the first broken link: not \
            visible to the device's user, with the share, role or parent; rejected, with the code \
            and the rule; never saved; delivered by a token, acknowledged or not; or committed \
            after the device's token. The answer comes first, then what else is known, then what \
            cannot be known.

            --owner names the owner of the database that holds the record. --as names the user of \
            the device; unless given, the user who last used it. If the zone has no such record, \
            other zones and databases are searched for one. The status is 1 if the answer is that \
            the log has no such zone.

            What devices were given is known only from a full journal, which `tidemark serve` and \
            `tidemark exec` write, and programs that open the store with StoreOptions.journal = \
            .full.
            """
    )

    @OptionGroup var store: StoreArgument

    @Option(help: ArgumentHelp("The record.", valueName: "name"))
    var record: String

    @Option(help: ArgumentHelp("The record's zone.", valueName: "name"))
    var zone = ZoneID.defaultZoneName

    @Option(help: ArgumentHelp("The device's identifier.", valueName: "name"))
    var device: String

    @Option(
        name: .customLong("as"),
        help: ArgumentHelp(
            "The user of the device, by user record name or account:NAME.",
            valueName: "user"
        )
    )
    var user: String?

    @OptionGroup var point: PointOption
    @OptionGroup var database: DatabaseOptions
    @OptionGroup var options: OutputOptions

    func run() async throws {
        try await store.ask { service in
            let explanation = try await service.answer(
                AbsenceCall(
                    of: RecordID(recordName: record, zone: ZoneID(zoneName: zone)),
                    in: try database.holder,
                    asOf: try await point.position(by: service),
                    from: device,
                    of: user.map { database.container.user($0) }
                )
            )
            var output = StandardOutput()
            if options.isJSON(output) {
                try output.line { $0.append(subjectOf: explanation) }
                for cause in explanation.causes { try output.line { $0.append(json: cause) } }
                for hint in explanation.hints { try output.line { $0.append(json: hint) } }
                for gap in explanation.gaps { try output.line { $0.append(json: gap) } }
            } else {
                let question = AbsenceQuestion(store: store.store, device: device, user: user)
                let lines = explanation.lines(Ink(output), question)
                for line in lines { try output.line(line) }
            }
            try output.flush()
            // The zone of the question is missing, which is an error in other commands too.
            if case .noSuchZone? = explanation.causes.first { throw ExitCode.failure }
        }
    }
}
