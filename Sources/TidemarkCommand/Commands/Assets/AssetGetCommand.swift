// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TidemarkAdministration
import TidemarkModel

/// `tidemark asset get`: the bytes of a field.
struct AssetGetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Write the bytes of a record's asset, now or at an earlier point.",
        discussion: """
              tidemark asset get notes.tide trip photo --zone lists >photo.jpg
              tidemark asset get notes.tide trip photo --zone lists --at 1042 --output old.jpg

            Writes to standard output, or to a file that must not exist yet. The bytes are \
            checked. If they are damaged, the last of them are not written, no file is left, and \
            the status is 1.
            """
    )

    @OptionGroup var store: StoreArgument

    @Argument(help: "The record's name.")
    var name: String

    @Argument(help: "The field.")
    var field: String

    @Option(help: ArgumentHelp("The record's zone.", valueName: "name"))
    var zone = ZoneID.defaultZoneName

    @Option(
        help: ArgumentHelp("The index in a list of assets, from 0.", valueName: "number")
    )
    var element = 0

    @Option(
        help: ArgumentHelp("The file to write.", valueName: "file"),
        completion: .file()
    )
    var output: String?

    @OptionGroup var point: PointOption
    @OptionGroup var database: DatabaseOptions

    func run() async throws {
        try await store.ask { service in
            let record = try await service.answer(
                RecordCall(
                    RecordID(recordName: name, zone: ZoneID(zoneName: zone)),
                    in: try database.holder,
                    asOf: try await point.position(by: service)
                )
            )
            let asset = try record.asset(in: field, element: element)
            let call = AssetBytesCall(of: asset, in: database.id)
            try await AssetFile.write(call, from: service, to: output)
        }
    }
}
