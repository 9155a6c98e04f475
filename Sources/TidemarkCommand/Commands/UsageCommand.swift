// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tidemark
import TidemarkModel

/// `tidemark usage`: what databases take up.
struct UsageCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "usage",
        abstract: "Count what live records and their assets take up.",
        discussion: """
            One line for each database, or with --zones for each zone. What is in a private \
            database counts against its user, what is in the public one against the container. \
            Bytes are those of records' bodies, uncompressed, and of the assets that they name; \
            what the log takes on disk is told by `log stat`.

              tidemark usage notes.tide
              tidemark usage notes.tide --zones --text
            """
    )

    @OptionGroup var store: StoreArgument

    @Flag(help: "One line for each zone.")
    var zones = false

    @OptionGroup var options: OutputOptions

    func run() async throws {
        try await store.read { store in try print(try store.usages()) }
    }

    private func print(_ databases: [DatabaseUsage]) throws {
        var output = StandardOutput()
        var table = Table([
            ("database", .left), ("zone", .left), ("records", .right), ("record bytes", .right),
            ("asset bytes", .right),
        ])
        let isJSON = options.isJSON(output)
        for database in databases {
            let parts: [(ZoneID?, Usage)] =
                zones ? database.zones.map { ($0.zone, $0.usage) } : [(nil, database.total)]
            for (zone, usage) in parts {
                if isJSON {
                    try output.line { $0.append(json: database.database, zone, usage) }
                } else {
                    table.append([
                        "\(database.database)".printable, zone?.zoneName.printable ?? "",
                        "\(usage.recordCount)", "\(usage.recordByteCount)",
                        "\(usage.assetByteCount)",
                    ])
                }
            }
        }
        if !isJSON { for line in table.lines { try output.line(line) } }
        try output.flush()
    }
}

extension [UInt8] {
    fileprivate mutating func append(json database: DatabaseID, _ zone: ZoneID?, _ usage: Usage) {
        append(literal: "{\"container\":")
        append(jsonString: database.container.identifier)
        append(literal: ",\"environment\":")
        append(jsonString: database.environment.rawValue)
        append(literal: ",\"database\":")
        append(jsonString: database.scope.name)
        if database.owner != .current {
            append(literal: ",\"owner\":")
            append(jsonString: database.owner.userRecordName)
        }
        if let zone {
            append(literal: ",\"zone\":")
            append(jsonString: zone.zoneName)
        }
        append(literal: ",\"records\":")
        append(jsonNumber: usage.recordCount)
        append(literal: ",\"recordBytes\":")
        append(jsonNumber: usage.recordByteCount)
        append(literal: ",\"assetBytes\":")
        append(jsonNumber: usage.assetByteCount)
        append(literal: "}")
    }
}
