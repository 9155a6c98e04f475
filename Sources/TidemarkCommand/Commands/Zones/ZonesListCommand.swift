// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tidemark
import TidemarkAdministration
import TidemarkModel

/// `tidemark zones list`: lists the zones.
struct ZonesListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List a database's zones.",
        discussion: """
              tidemark zones list notes.tide
              tidemark zones list notes.tide --at 2026-02-03

            Prints one line for each zone, ordered by name as UTF-8 bytes: its records, its \
            tombstones, and the sequence number of its last event. For a shared database, the \
            zones that others share with its owner. As of a point, and for a shared database, only \
            names are printed. The default zone, which every other database has, is listed as of \
            each point, and now if it was ever written. A note says that no user is known by the name \
            of --owner, or that the database has no zones.
            """
    )

    @OptionGroup var store: StoreArgument
    @OptionGroup var point: PointOption
    @OptionGroup var database: DatabaseOptions
    @OptionGroup var options: OutputOptions

    func run() async throws {
        try await store.ask { service in
            let position = try await point.position(by: service)
            let zones = try await service.answer(ZonesCall(of: database.id, asOf: position))
            if zones.isEmpty, position == nil { try await database.noteIfEmpty(by: service) }
            if database.database == .shared { return try printShared(zones.map(\.zone)) }
            // As of a point there are no figures: views have those of the present only.
            if position != nil { return try printNames(zones.map(\.zone)) }
            try print(
                zones.compactMap { entry in entry.content.map { (entry.zone.zoneName, $0) } }
            )
        }
    }

    private func print(_ zones: [(name: String, content: ZonesCall.Content)]) throws {
        try options.print(
            zones,
            in: Table([
                ("zone", .left), ("records", .right), ("tombstones", .right), ("last", .right),
                ("created", .left),
            ]),
            json: { line, zone in
                line.append(literal: "{")
                line.append(member: "zone", jsonString: zone.name)
                line.append(member: "records", jsonNumber: zone.content.recordCount)
                line.append(member: "tombstones", jsonNumber: zone.content.tombstoneCount)
                line.append(member: "lastSequence", jsonNumber: zone.content.last.rawValue)
                line.append(member: "created", jsonNumber: zone.content.createdTime)
                line.append(literal: "}")
            },
            row: { zone in
                [
                    zone.name, "\(zone.content.recordCount)",
                    "\(zone.content.tombstoneCount)", "\(zone.content.last)",
                    RFC3339.text(milliseconds: zone.content.createdTime),
                ]
            }
        )
    }

    private func printNames(_ zones: [ZoneID]) throws {
        try options.print(
            zones,
            in: Table([("zone", .left)]),
            json: { line, zone in
                line.append(literal: "{")
                line.append(member: "zone", jsonString: zone.zoneName)
                line.append(literal: "}")
            },
            row: { [$0.zoneName] }
        )
    }

    private func printShared(_ zones: [ZoneID]) throws {
        try options.print(
            zones,
            in: Table([("owner", .left), ("zone", .left)]),
            json: { $0.append(json: .zone($1)) },
            row: { [$0.ownerName, $0.zoneName] }
        )
    }
}
