// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tidemark
import TidemarkAdministration
import TidemarkModel

/// `tidemark compact`: drops history from the log.
struct CompactCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "compact",
        abstract: "Rewrite the log without history that is no longer kept.",
        discussion: """
              tidemark compact notes.tide --keep-history 30d --dry-run
              tidemark compact notes.tide --keep-history none --tombstones 90d

            Without options all history is kept, and the log becomes shorter because it is \
            compressed better. --keep-history drops replaced versions after a time, counted from \
            when they were replaced; earlier points can then no longer be read. --tombstones drops \
            deletions after a time; devices that come back later have to fetch everything again. A \
            duration is a number and s, m, h, d, w or y: 12h, 30d.

            Results of requests are kept for 90 days, so that a retry gets the same answer. Other \
            commands can read the store meanwhile. Commands that write fail until the compaction \
            has ended, or wait for it with --wait. An interrupted compaction loses nothing; run it \
            again.
            """
    )

    @OptionGroup var store: WrittenStoreArgument

    @Option(
        help: "How long replaced versions are kept: a duration, all or none. (default: all)",
        transform: retention
    )
    var keepHistory = CompactionPolicy().history

    @Option(
        help: "How long deletions are kept: a duration, all or none. (default: 180d)",
        transform: retention
    )
    var tombstones = CompactionPolicy().tombstones

    @Flag(
        help: """
            Print what would be saved and which change tokens would expire; works while another \
            process writes.
            """
    )
    var dryRun = false

    @OptionGroup var options: OutputOptions

    func run() async throws {
        var policy = CompactionPolicy()
        policy.history = keepHistory
        policy.tombstones = tombstones
        let call = CompactionCall(policy, isDryRun: dryRun)
        // A dry run only reads, so it works while another process has the store open for writing.
        if dryRun {
            try await store.ask { service in try print(try await service.answer(call)) }
        } else {
            try await store.administer { service in
                try print(
                    try await Progress.showing("events") { report in
                        try await service.answer(call, report: report)
                    }
                )
            }
        }
    }

    private func print(_ report: CompactionReport) throws {
        try options.print(
            json: { $0.append(json: report, isDryRun: dryRun) },
            lines: { _ in report.text(isDryRun: dryRun) }
        )
    }
}

extension CompactionReport {
    /// The report as lines of text.
    fileprivate func text(isDryRun: Bool) -> [String] {
        let history =
            historyTime.map { time in
                "History is exact from event \(historyHorizon) on, "
                    + "\(RFC3339.text(milliseconds: time))."
            } ?? "All history is kept."
        var lines = [
            "\(isDryRun ? "Would drop" : "Dropped") \(droppedCount) of \(eventCount) events in "
                + "\(segmentCount) segments: \(oldByteCount) bytes "
                + "\(isDryRun ? "would become about" : "became") \(newByteCount).",
            history,
        ]
        if isDryRun {
            lines.append(
                "Segments that were never compacted become about a third shorter besides, by better "
                    + "compression."
            )
        }
        if requestCount > 0 {
            lines.append(
                "\(requestCount) replaced versions stay, since their requests may be asked again."
            )
        }
        // Devices with such tokens have to fetch everything again, so each zone is named.
        for expiry in expiries {
            lines.append(
                ("Zone \(expiry.zoneName) of \(expiry.database): change tokens from before event "
                    + "\(expiry.position) \(isDryRun ? "would expire" : "have expired").").printable
            )
        }
        if assetByteCount > 0 { lines.append("Removed \(assetByteCount) bytes of assets.") }
        if isRead {
            lines.append(
                "Another process still reads the old segments; they are removed by the next "
                    + "compaction or opening after it has ended."
            )
        }
        return lines
    }
}

extension [UInt8] {
    fileprivate mutating func append(json report: CompactionReport, isDryRun: Bool) {
        append(literal: "{")
        append(member: "dryRun", jsonBool: isDryRun)
        append(member: "segments", jsonNumber: report.segmentCount)
        append(member: "events", jsonNumber: report.eventCount)
        append(member: "dropped", jsonNumber: report.droppedCount)
        append(member: "keptForRequests", jsonNumber: report.requestCount)
        append(member: "bytesBefore", jsonNumber: report.oldByteCount)
        append(member: "bytesAfter", jsonNumber: report.newByteCount)
        append(member: "assetBytes", jsonNumber: report.assetByteCount)
        append(member: "isRead", jsonBool: report.isRead)
        append(member: "historyFrom", jsonNumber: report.historyHorizon.rawValue)
        append(member: "expired")
        append(jsonList: report.expiries) { bytes, expiry in
            bytes.append(literal: "{")
            bytes.append(member: "zone", jsonString: expiry.zoneName)
            bytes.append(member: "owner", jsonString: expiry.owner)
            bytes.append(member: "database", jsonString: "\(expiry.database)")
            bytes.append(member: "before", jsonNumber: expiry.position.rawValue)
            bytes.append(literal: "}")
        }
        append(literal: "}")
    }
}
