// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tidemark
import TidemarkAdministration
import TidemarkModel

/// `tidemark record`: one record.
struct RecordCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "record",
        abstract: "Print a record, now or at an earlier point.",
        discussion: """
              tidemark record notes.tide milk --zone lists
              tidemark record notes.tide milk --zone lists --at 1042

            The status is 1 if the record does not exist, or did not exist at that point.
            """
    )

    @OptionGroup var store: StoreArgument
    @OptionGroup var record: RecordArgument
    @OptionGroup var point: PointOption
    @OptionGroup var database: DatabaseOptions
    @OptionGroup var options: OutputOptions

    func run() async throws {
        try await store.ask { service in try await printRecord(by: service) }
    }

    private func printRecord(by service: any AdministrationService) async throws {
        let call = RecordCall(
            record.id,
            in: try database.holder,
            asOf: try await point.position(by: service)
        )
        let record = try await service.answer(call)
        try options.print(
            json: { $0.append(json: record) },
            lines: { ink in record.lines(ink) }
        )
    }
}
