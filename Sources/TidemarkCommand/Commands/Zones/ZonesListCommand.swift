// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tidemark
import TidemarkModel

/// `tidemark zones list`: what zones there are.
struct ZonesListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List a database's zones.",
        discussion: """
            One line for each zone, ordered by name as UTF-8 bytes: how many records and \
            tombstones it holds, and the sequence number of its last event. Of a shared database those \
            that others share with its owner.
            """
    )

    @OptionGroup var store: StoreArgument
    @OptionGroup var database: DatabaseOptions
    @OptionGroup var options: OutputOptions

    func run() async throws {
        try await store.read { store in
            if database.database == .shared { return try await printShared(by: store) }
            try options.print(
                try store.zoneFigures(of: database.id),
                in: Table([
                    ("zone", .left), ("records", .right), ("tombstones", .right), ("last", .right),
                    ("created", .left),
                ]),
                json: { line, zone in
                    line.append(literal: "{\"zone\":")
                    line.append(jsonString: zone.standing.identity.zoneName.string)
                    line.append(literal: ",\"records\":")
                    line.append(jsonNumber: zone.liveCount)
                    line.append(literal: ",\"tombstones\":")
                    line.append(jsonNumber: zone.tombstoneCount)
                    line.append(literal: ",\"lastSequence\":")
                    line.append(jsonNumber: zone.standing.head)
                    line.append(literal: ",\"created\":")
                    line.append(jsonNumber: zone.standing.createdTime)
                    line.append(literal: "}")
                },
                row: { zone in
                    [
                        zone.standing.identity.zoneName.string.printable, "\(zone.liveCount)",
                        "\(zone.tombstoneCount)", "\(zone.standing.head)",
                        RFC3339.text(milliseconds: zone.standing.createdTime),
                    ]
                }
            )
        }
    }

    private func printShared(by store: Store) async throws {
        let caller = Caller(database: database.id, user: database.id.owner)
        try options.print(
            try await store.zones(as: caller).map(\.zoneID),
            in: Table([("owner", .left), ("zone", .left)]),
            json: { $0.append(json: .zone($1)) },
            row: { [$0.ownerName.printable, $0.zoneName.printable] }
        )
    }
}
