// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tidemark
import TidemarkModel

/// `tidemark restore`: a store from a backup.
struct RestoreCommand: AsyncParsableCommand, FolderCommand {
    static let remedy = """
        It makes a new folder from a backup. Run it on the machine of the backup, and serve the new \
        folder with `tidemark serve`.
        """

    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Create a store from a backup, at its end or at an earlier point.",
        discussion: """
              tidemark restore /backups/notes.tide notes.tide
              tidemark restore /backups/notes.tide notes.tide --at 2026-02-03T04:05:06Z

            The new store has the same events, up to the last commit at or before the point. \
            Devices whose change tokens are from before it continue without noticing. Tokens from \
            after it have expired, and their devices fetch everything again. The backup is not \
            changed. Any other store can be restored from, too.

            A point before the history horizon cannot be restored; an older backup may have it.
            """
    )

    @Argument(help: "The folder of the backup.", completion: .directory)
    var backup: String

    @Argument(help: "The folder of the new store, where nothing is yet.", completion: .directory)
    var store: String

    @Option(point: "The last point to include: \(Point.explanation).")
    var at: Point?

    @OptionGroup var options: OutputOptions

    func run() async throws {
        // Before anything is written: a wrong point leaves no folder behind.
        let position = try at?.position(inStoreAt: backup)
        let report = try await Progress.showing("segments") {
            try Store.restore(from: backup, to: store, through: position)
        }
        try options.print { line in
            line.append(literal: "{")
            line.append(member: "lastSequence", jsonNumber: report.lastSequence.rawValue)
            line.append(member: "assets", jsonNumber: report.assetCount)
            line.append(member: "damaged", jsonNumber: report.damage.count)
            line.append(literal: "}")
        } lines: { _ in
            let assets = report.assetCount > 0 ? ["Copied \(report.assetCount) assets."] : []
            return ["The store goes up to event \(report.lastSequence)."] + assets
        }
        try finish(report.damage)
    }
}
