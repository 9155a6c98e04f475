// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tidemark
import TidemarkAdministration
import TidemarkModel

/// `tidemark usage`: lists the space used by databases.
struct UsageCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "usage",
        abstract: "Print the space that live records and their assets use.",
        discussion: """
              tidemark usage notes.tide
              tidemark usage notes.tide --zones --text

            Prints one line for each database, or with --zones for each zone. A private database \
            counts against its user, the public one against the container. Bytes are those of \
            records' bodies, uncompressed, and of the assets they name. `log stat` prints the size \
            of the log on disk.
            """
    )

    @OptionGroup var store: StoreArgument

    @Flag(help: "One line for each zone.")
    var zones = false

    @OptionGroup var options: OutputOptions

    func run() async throws {
        try await store.ask { service in try print(try await service.answer(UsageCall())) }
    }

    private func print(_ databases: [DatabaseUsage]) throws {
        let parts = databases.flatMap {
            used -> [(database: DatabaseID, zone: ZoneID?, usage: Usage)] in
            zones
                ? used.zones.map { (used.database, $0.zone, $0.usage) }
                : [(used.database, nil, used.total)]
        }
        try options.print(
            parts,
            in: Table([
                ("database", .left), ("zone", .left), ("records", .right), ("record bytes", .right),
                ("asset bytes", .right),
            ]),
            json: { $0.append(json: $1.database, $1.zone, $1.usage) },
            row: { part in
                [
                    "\(part.database)", part.zone?.zoneName ?? "",
                    "\(part.usage.recordCount)", "\(part.usage.recordByteCount)",
                    "\(part.usage.assetByteCount)",
                ]
            }
        )
    }
}

extension [UInt8] {
    fileprivate mutating func append(json database: DatabaseID, _ zone: ZoneID?, _ usage: Usage) {
        append(literal: "{")
        append(member: "container", jsonString: database.container.identifier)
        append(member: "environment", jsonString: database.environment.rawValue)
        append(member: "database", jsonString: database.scope.name)
        if database.owner != .current {
            append(member: "owner", jsonString: database.owner.userRecordName)
        }
        append(member: "zone", jsonString: zone?.zoneName)
        append(member: "records", jsonNumber: usage.recordCount)
        append(member: "recordBytes", jsonNumber: usage.recordByteCount)
        append(member: "assetBytes", jsonNumber: usage.assetByteCount)
        append(literal: "}")
    }
}
