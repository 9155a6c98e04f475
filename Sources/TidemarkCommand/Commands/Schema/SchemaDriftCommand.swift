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
        abstract: "List what builds of the app do in development that production would refuse.",
        discussion: """
            By build: record types and fields that it has saved, and indexes that its queries have \
            brought, which production's schema does not have; how often and when. A promotion adds what \
            development has; a value of another type than production's field has is refused for good. \
            Reads the whole log; --since leaves out what was before a point.

              tidemark schema drift notes.tide
              tidemark schema drift notes.tide --since 2026-02-03T00:00:00Z
            """
    )

    @OptionGroup var store: StoreArgument
    @OptionGroup var container: ContainerOption

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Only after a point: \(Point.explanation).", valueName: "point"),
        transform: { text in try Point(text) }
    )
    var since: Point?

    @OptionGroup var options: OutputOptions

    func run() async throws {
        try await store.ask { service in
            let first = try await since?.position(by: service).next
            let drift = try await service.answer(
                SchemaDriftCall(of: container.id, since: first ?? .zero)
            )
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
        append(literal: ",\"missing\":")
        append(jsonString: entry.missing)
        append(literal: ",\"times\":")
        append(jsonNumber: entry.count)
        append(literal: ",\"first\":")
        append(jsonNumber: entry.firstSeen)
        append(literal: ",\"last\":")
        append(jsonNumber: entry.lastSeen)
        append(literal: ",\"remedy\":")
        append(jsonString: entry.remedy)
        append(literal: "}")
    }
}
