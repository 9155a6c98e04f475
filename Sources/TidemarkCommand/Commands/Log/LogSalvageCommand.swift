// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tidemark
import TidemarkLog
import TidemarkModel

/// `tidemark log salvage`: copies the readable parts of a damaged store.
struct LogSalvageCommand: FolderCommand {
    static let remedy = """
        It makes a new folder from a damaged one. Run it on the server's machine, and serve the new \
        folder with `tidemark serve`.
        """

    static let configuration = CommandConfiguration(
        commandName: "salvage",
        abstract: "Copy everything that can be read into a new store.",
        discussion: """
              tidemark log salvage notes.tide notes-salvaged.tide

            Works with any damage, also without a readable manifest, and does not change the \
            damaged store. Events keep their sequence numbers. The copy is a new incarnation, so \
            every device fetches everything again, and none misses what was lost. A zone whose \
            creation is lost is created again, with its name from the views or as salvaged-NUMBER. \
            Undamaged asset bytes are copied; `tidemark log verify` names those that are missing.

            Prints what was copied, and which sequence numbers are lost. The status is 1 if \
            anything was damaged or lost. The copy cannot be opened until the command has ended; \
            the next run replaces an interrupted copy.
            """
    )

    @OptionGroup var store: StoreArgument

    @Argument(help: "The folder of the new store, which must not exist.", completion: .directory)
    var destination: String

    @OptionGroup var options: OutputOptions

    func run() throws {
        let salvaged = try Store.salvage(from: store.folder, to: destination)
        let salvage = salvaged.log
        try options.print { line in
            line.append(json: salvaged)
        } lines: { _ in
            var lines = ["Copied \(salvage.eventCount) events in \(salvage.commitCount) commits."]
            if salvaged.assets.count > 0 {
                lines.append("Copied the bytes of \(salvaged.assets.count) assets.")
            }
            lines += salvage.lost.map { "Lost: events \($0.lowerBound) to \($0.upperBound)." }
            lines += salvage.mendedZones.map { "Made up: the creation of a zone, as event \($0)." }
            lines += salvage.incomplete.map {
                "Incomplete: the commit that begins with event \($0)."
            }
            return lines
        }
        if salvaged.erasing != nil { noteCutOffErasure() }
        if !salvage.lost.isEmpty {
            note(
                "The lost events may have changed or deleted records: those have their versions from "
                    + "before. `tidemark history` shows what is known of a record."
            )
        }
        try finish(salvaged.damage)
        // `finish` throws for damage only, and lost events must give the status 1 too.
        if !salvage.lost.isEmpty || !salvage.incomplete.isEmpty { throw ExitCode.failure }
    }
}

extension [UInt8] {
    fileprivate mutating func append(json salvaged: SalvagedStore) {
        let salvage = salvaged.log
        append(literal: "{")
        append(member: "commits", jsonNumber: salvage.commitCount)
        append(member: "events", jsonNumber: salvage.eventCount)
        append(member: "lost")
        append(jsonList: salvage.lost) { bytes, run in
            bytes.append(literal: "{")
            bytes.append(member: "first", jsonNumber: run.lowerBound.rawValue)
            bytes.append(member: "last", jsonNumber: run.upperBound.rawValue)
            bytes.append(literal: "}")
        }
        append(member: "incompleteCommits")
        append(jsonList: salvage.incomplete) { $0.append(jsonNumber: $1.rawValue) }
        append(member: "mendedZones")
        append(jsonList: salvage.mendedZones) { $0.append(jsonNumber: $1.rawValue) }
        append(member: "assets", jsonNumber: salvaged.assets.count)
        append(member: "damage", jsonNumber: salvaged.damage.count)
        append(literal: "}")
    }
}
