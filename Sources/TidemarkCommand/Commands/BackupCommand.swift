// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tidemark
import TidemarkAdministration
import TidemarkModel

/// `tidemark backup`: creates or updates a backup of a store.
struct BackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Back up a store, open or not, into a folder. Later backups copy only new files.",
        discussion: """
              tidemark backup notes.tide /backups/notes.tide

            The store may be in use. The first backup copies all of it. Later backups into the \
            same folder copy new segments and assets, and the active segment. An interrupted \
            backup leaves the previous one usable; run it again. The folder can be read like a \
            store, and `tidemark log verify` checks it.

            The command does not change a folder that holds anything else, or a backup with events \
            that the store no longer has. The status is 1 if an asset's bytes are damaged; \
            everything else is backed up. For a server, the folder is an absolute path on the \
            server's machine.
            """
    )

    @OptionGroup var store: StoreArgument

    @Argument(help: "The folder of the backup.", completion: .directory)
    var destination: String

    @OptionGroup var options: OutputOptions

    func run() async throws {
        let service = try store.serviceOfFiles()
        let report = try await Progress.showing("segments") { report in
            try await service.answer(BackupCall(to: destination), report: report)
        }
        try options.print { line in
            line.append(json: report)
        } lines: { _ in
            var lines = [
                "The backup goes up to event \(report.lastSequence). Copied "
                    + "\(report.copiedSegmentCount) of \(report.segmentCount) segments, "
                    + "\(report.copiedByteCount) bytes."
            ]
            if report.assetCount > 0 {
                lines.append("Copied \(report.copiedAssetCount) of \(report.assetCount) assets.")
            }
            return lines
        }
        try finish(report.damage)
    }
}

extension [UInt8] {
    fileprivate mutating func append(json report: BackupReport) {
        append(literal: "{")
        append(member: "lastSequence", jsonNumber: report.lastSequence.rawValue)
        append(member: "segments", jsonNumber: report.segmentCount)
        append(member: "copiedSegments", jsonNumber: report.copiedSegmentCount)
        append(member: "copiedBytes", jsonNumber: report.copiedByteCount)
        append(member: "assets", jsonNumber: report.assetCount)
        append(member: "copiedAssets", jsonNumber: report.copiedAssetCount)
        append(member: "damaged", jsonNumber: report.damage.count)
        append(literal: "}")
    }
}
