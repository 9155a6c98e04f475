// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tidemark
import TidemarkModel

/// `tidemark fork`: a store from any moment of another one.
struct ForkCommand: AsyncParsableCommand, FolderCommand {
    static let remedy = """
        A fork shares files with its store, so it is on the same machine. Run the command there; \
        the store may be open.
        """

    static let configuration = CommandConfiguration(
        commandName: "fork",
        abstract: "Create a store from any point of another one, sharing its files.",
        discussion: """
              tidemark fork notes.tide try.tide
              tidemark fork notes.tide yesterday.tide --at 2026-02-03T04:05:06Z

            The fork is a store of its own. Writing to it does not change the original. Both share \
            the files of finished segments and of assets, which never change; on another file \
            system the files are copied. The original may be in use meanwhile.

            Devices whose change tokens are from before the point can continue with the fork. \
            Tokens from after it have expired. A point before the history horizon is rejected.
            """
    )

    @OptionGroup var store: StoreArgument

    @Argument(help: "The folder of the fork, where nothing is yet.", completion: .directory)
    var destination: String

    @Option(point: "The last point to include: \(Point.explanation).")
    var at: Point?

    @OptionGroup var options: OutputOptions

    func run() async throws {
        // Before anything is written: a wrong point leaves no folder behind.
        let position = try at?.position(inStoreAt: store.folder)
        let path = try store.folder
        let report = try await Progress.showing("segments") {
            try Store.fork(from: path, to: destination, through: position)
        }
        try options.print { line in
            line.append(json: report)
        } lines: { _ in
            let copiedCount = report.segmentCount - report.sharedSegmentCount
            var lines = [
                "The fork goes up to event \(report.lastSequence).",
                "It shares \(report.sharedSegmentCount) of \(report.segmentCount) segments; "
                    + "\(copiedCount) were written, \(report.copiedByteCount) bytes.",
            ]
            if report.assetCount > 0 {
                lines.append("It shares \(report.sharedAssetCount) of \(report.assetCount) assets.")
            }
            if !report.hasViews { lines.append("Its first opening makes the views from the log.") }
            return lines
        }
        try finish(report.damage)
    }
}

extension [UInt8] {
    fileprivate mutating func append(json report: ForkReport) {
        append(literal: "{")
        append(member: "lastSequence", jsonNumber: report.lastSequence.rawValue)
        append(member: "segments", jsonNumber: report.segmentCount)
        append(member: "sharedSegments", jsonNumber: report.sharedSegmentCount)
        append(member: "copiedBytes", jsonNumber: report.copiedByteCount)
        append(member: "assets", jsonNumber: report.assetCount)
        append(member: "sharedAssets", jsonNumber: report.sharedAssetCount)
        append(member: "damaged", jsonNumber: report.damage.count)
        append(member: "views", jsonBool: report.hasViews)
        append(literal: "}")
    }
}
