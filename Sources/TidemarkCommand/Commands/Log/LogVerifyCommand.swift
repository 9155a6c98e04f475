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
        var printer = LinePrinter(options)
        // On standard output, unlike the damage that other commands meet: here it is the result.
        for finding in result.findings {
            try printer.print(
                json: { $0.append(json: finding) },
                lines: { _ in ["Damaged: \(finding.text)"] }
            )
        }
        try printer.print(
            json: { $0.append(json: result.figures) },
            lines: { _ in result.lines }
        )
        try printer.flush()
        noteTornTail(result.tornByteCount)
        if result.hasPendingErasure { noteCutOffErasure() }
        if !result.findings.isEmpty { throw ExitCode.failure }
    }
}

extension [UInt8] {
    fileprivate mutating func append(json finding: LogError) {
        append(literal: "{")
        append(member: "finding", jsonString: finding.code.rawValue)
        append(member: "file", jsonString: finding.path)
        append(member: "offset", jsonNumber: finding.offset)
        append(member: "message", jsonString: finding.message)
        append(literal: "}")
    }
}

extension StoreVerification {
    fileprivate var figures: Figures {
        [
            ("segments", "\(segmentCount)"), ("commits", "\(commitCount)"),
            ("events", "\(eventCount)"), ("tornBytes", "\(tornByteCount)"),
            ("assets", "\(assetCount)"), ("journalEntries", "\(journal.entryCount)"),
            ("journalLost", "\(journal.lostCount)"), ("findings", "\(findings.count)"),
            ("views", "\"\(views.rawValue)\""),
        ]
    }

    fileprivate var lines: [String] {
        let read =
            "segments: \(segmentCount), commits: \(commitCount), events: \(eventCount)"
            + (assetCount > 0 ? ", assets: \(assetCount)" : "")
            + (journal.entryCount > 0 ? ", journal entries: \(journal.entryCount)" : "")
        let verdict = findings.isEmpty ? "Sound." : "Damaged places: \(findings.count)."
        var lines = ["\(verdict) Read \(read)."]
        if let note = views.note { lines.append(note) }
        if journal.lostCount > 0 {
            lines.append("Journal entries that could not be written: \(journal.lostCount).")
        }
        return lines
    }
}
