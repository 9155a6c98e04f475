// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tidemark
import TidemarkAdministration
import TidemarkModel

/// `tidemark schema drift`: shows the builds whose writes and queries production would reject.
struct SchemaDriftCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "drift",
        abstract: "List writes in development that production would reject, by build of the app.",
        discussion: """
              tidemark schema drift notes.tide
              tidemark schema drift notes.tide --since 2026-02-03T00:00:00Z

            Prints, by build, the record types, fields and indexes that the build used and the \
            production schema does not have, with their number and times. A promotion adds what \
            development has. A value of another type than production's field stays rejected. Reads \
            the whole log; --since leaves out what was before a point.
            """
    )

    @OptionGroup var store: StoreArgument
    @Option(help: .container) var container = ContainerID.standard

    @Option(point: "The point after which to look: \(Point.explanation).")
    var since: Point?

    @OptionGroup var options: OutputOptions

    func run() async throws {
        try await store.ask { service in
            let point = try await since?.position(by: service) ?? .zero
            // A point includes its event, and the drift begins after it. The highest position,
            // which a number may name, has none after it.
            let first = point < .max ? point.next : point
            let drift = try await service.answer(SchemaDriftCall(of: container, since: first))
            try options.print(drift.entries)
            if drift.uncounted > 0 {
                note("Not listed, because there are too many: \(drift.uncounted) more.")
            }
        }
    }
}

extension OutputOptions {
    fileprivate func print(_ drift: [SchemaDriftCall.Entry]) throws {
        try print(
            drift,
            in: Table([
                ("build", .left), ("missing in production", .left), ("times", .right),
                ("first", .left), ("last", .left), ("remedy", .left),
            ]),
            json: { $0.append(json: $1) },
            row: { entry in
                [
                    entry.build ?? "-", entry.missing, "\(entry.count)",
                    RFC3339.text(milliseconds: entry.firstSeen),
                    RFC3339.text(milliseconds: entry.lastSeen), entry.remedy,
                ]
            }
        )
    }
}

extension [UInt8] {
    fileprivate mutating func append(json entry: SchemaDriftCall.Entry) {
        append(literal: "{\"build\":")
        if let build = entry.build {
            append(jsonString: build)
        } else {
            append(literal: "null")
        }
        append(member: "missing", jsonString: entry.missing)
        append(member: "times", jsonNumber: entry.count)
        append(member: "first", jsonNumber: entry.firstSeen)
        append(member: "last", jsonNumber: entry.lastSeen)
        append(member: "remedy", jsonString: entry.remedy)
        append(literal: "}")
    }
}
