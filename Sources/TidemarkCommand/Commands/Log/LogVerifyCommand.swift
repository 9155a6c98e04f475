// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tidemark
import TidemarkAdministration
import TidemarkLog

/// `tidemark log verify`: whether everything is as it was written.
struct LogVerifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Verify every byte of the log and of assets, and the views against the log.",
        discussion: """
              tidemark log verify notes.tide

            Reads all segments with the code that opens stores. Checks every checksum and that all \
            parts agree. Folds the log, and compares the views on disk with the result. Reads the \
            bytes of all assets that the log names, and reads the journal. Each finding names the \
            file and the position. The status is 1 if there is any finding; a write that was cut \
            off before it was acknowledged is not one. The last line also says where the views \
            could not be compared.
            """
    )

    @OptionGroup var store: StoreArgument
    @OptionGroup var options: OutputOptions

    func run() async throws {
        let service = try store.serviceOfFiles()
        let result = try await Progress.showing("segments and assets") { report in
            try await service.answer(VerificationCall(), report: report)
        }
        var output = StandardOutput()
        // On standard output, unlike the damage that other commands meet: here it is the result.
        for finding in result.findings { try output.printFinding(finding, options) }
        try output.printSummary(result, options)
        try output.flush()
        noteTornTail(result.tornByteCount)
        if result.hasPendingErasure { noteCutOffErasure() }
        if !result.findings.isEmpty { throw ExitCode.failure }
    }
}

extension StandardOutput {
    fileprivate mutating func printFinding(_ finding: LogError, _ options: OutputOptions) throws {
        guard options.isJSON(self) else { return try line("Damaged: \(finding.text)") }
        try line { line in
            line.append(literal: "{")
            line.append(member: "finding", jsonString: finding.code.rawValue)
            line.append(member: "file", jsonString: finding.path)
            line.append(member: "offset", jsonNumber: finding.offset)
            line.append(member: "message", jsonString: finding.message)
            line.append(literal: "}")
        }
    }

    fileprivate mutating func printSummary(
        _ result: StoreVerification,
        _ options: OutputOptions
    ) throws {
        let (assetCount, journal) = (result.assetCount, result.journal)
        let (findings, views) = (result.findings.count, result.views)
        if options.isJSON(self) {
            let figures: Figures = [
                ("segments", "\(result.segmentCount)"), ("commits", "\(result.commitCount)"),
                ("events", "\(result.eventCount)"), ("tornBytes", "\(result.tornByteCount)"),
                ("assets", "\(assetCount)"), ("journalEntries", "\(journal.entryCount)"),
                ("journalLost", "\(journal.lostCount)"), ("findings", "\(findings)"),
                ("views", "\"\(views.rawValue)\""),
            ]
            try line { $0.append(json: figures) }
        } else {
            let read =
                "segments: \(result.segmentCount), commits: \(result.commitCount), events: "
                + "\(result.eventCount)" + (assetCount > 0 ? ", assets: \(assetCount)" : "")
                + (journal.entryCount > 0 ? ", journal entries: \(journal.entryCount)" : "")
            try line(
                findings == 0
                    ? "Sound. Read \(read)." : "Damaged places: \(findings). Read \(read)."
            )
            if let note = views.note { try line(note) }
            if journal.lostCount > 0 {
                try line("Journal entries that could not be written: \(journal.lostCount).")
            }
        }
    }
}
