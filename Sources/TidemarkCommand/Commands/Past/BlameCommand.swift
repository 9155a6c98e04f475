// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tidemark
import TidemarkAdministration
import TidemarkModel
import TidemarkReplay

/// `tidemark blame`: shows the event that set each field of a record.
struct BlameCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "blame",
        abstract: "Print who set each field of a record.",
        discussion: """
              tidemark blame notes.tide milk --zone lists
              tidemark blame notes.tide milk --zone lists --at 1042

            Prints for each field its value and the change that set it: time, user, device, build \
            and request. Removed fields are included as far as the record remembers them. A save \
            of a whole record is not blamed for fields that it left unchanged. The status is 1 if \
            the record does not exist, or did not exist at that point.
            """
    )

    @OptionGroup var store: StoreArgument
    @OptionGroup var record: RecordArgument
    @OptionGroup var point: PointOption
    @OptionGroup var database: DatabaseOptions
    @OptionGroup var options: OutputOptions

    func run() async throws {
        try await store.ask { service in
            let blame = try await service.answer(
                BlameCall(
                    of: record.id,
                    in: try database.holder,
                    asOf: try await point.position(by: service)
                )
            )
            let table = Table([
                ("field", .left), ("value", .left), ("set by", .right), ("time", .left),
                ("who", .left), ("build", .left), ("request", .left),
            ])
            try options.print(blame.fields, in: table) { line, field in
                line.append(json: field)
            } row: { field in
                let value = field.element.isRemoved ? "(removed)" : field.element.shortText
                return [
                    field.name, value, "\(field.stamp)",
                    field.origin?.timeText ?? "(history pruned)", field.origin?.author ?? "",
                    field.origin?.build ?? "", field.origin?.request ?? "",
                ]
            }
        }
    }
}
