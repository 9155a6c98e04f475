// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tidemark
import TidemarkEvents
import TidemarkLog
import TidemarkModel

/// `tidemark log verify`: whether everything is as it was written.
struct LogVerifyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Check every byte of the log and of assets, and the views against the log.",
        discussion: """
            Reads all segments with the code that opening uses, checks every checksum and that all \
            parts agree, folds the log and compares the views on disk with the result. Reads the \
            bytes of all assets that the log names, and says which records name those that are \
            missing or damaged; and reads the journal. Each finding names the file and the place in it. Ends with status 1 if there is any; a \
            write that was cut short before it was acknowledged is none. The last line also says \
            where the views could not be compared.
            """
    )

    @OptionGroup var store: StoreArgument
    @OptionGroup var options: OutputOptions

    func run() throws {
        let (reader, begun) = try ViewsCheck.begin(at: store.store)
        var check = begun
        var assets = BlobCheck(of: StoreFolder(store.store), PosixFileSystem())
        var progress = Progress()
        let last = reader.durableSequence.rawValue
        var failure: (any Error)?
        let result = try reader.verify { event in
            guard failure == nil else { return }
            do {
                try check.add(event)
                try assets.add(event)
            } catch {
                failure = error
            }
            progress.update(
                part: Double(event.sequence.rawValue) / Double(max(1, last)),
                "\(event.sequence) events"
            )
        }
        let missing = assets.finish { count in
            progress.update(
                part: Double(count) / Double(assets.count),
                "\(count) assets"
            )
        }
        progress.finish()
        var damage = result.damage
        switch failure {
        case FoldedViews.Failure.event(let failure)?:
            damage.append(LogError(.corrupted, failure.message))
        case let failure as EventFormatError:
            damage.append(LogError(.corrupted, failure.message))
        case FoldedViews.Failure.views(let message)?:
            // What is missing from a log makes no sense of the rest: then that is what to tell.
            if damage.isEmpty { damage.append(LogError(.corrupted, message)) }
        case let failure?:
            throw failure
        case nil:
            break
        }
        damage += try check.finish(isLogSound: damage.isEmpty) + missing
        let journal = JournalStanding(of: store.store, reader.store)
        damage += journal.damage
        var erasing: ErasureSubject?
        do throws(LogError) {
            erasing = try Store.pendingErasure(at: store.store)
        } catch {
            damage.append(error)
        }
        var output = StandardOutput()
        for finding in damage { try output.printFinding(finding, options) }
        try output.printSummary(
            result,
            assets.count,
            journal,
            findings: damage.count,
            check.outcome,
            options
        )
        try output.flush()
        noteTornTail(result.tornByteCount)
        if erasing != nil { noteCutOffErasure() }
        if !damage.isEmpty { throw ExitCode.failure }
    }
}

extension StandardOutput {
    fileprivate mutating func printFinding(_ finding: LogError, _ options: OutputOptions) throws {
        guard options.isJSON(self) else { return try line("Damaged: \(finding.text)") }
        try line { line in
            line.append(literal: "{\"finding\":")
            line.append(jsonString: finding.code.rawValue)
            if let path = finding.path {
                line.append(literal: ",\"file\":")
                line.append(jsonString: path)
            }
            if let offset = finding.offset {
                line.append(literal: ",\"offset\":")
                line.append(jsonNumber: offset)
            }
            line.append(literal: ",\"message\":")
            line.append(jsonString: finding.message)
            line.append(literal: "}")
        }
    }

    fileprivate mutating func printSummary(
        _ result: Verification,
        _ assetCount: Int,
        _ journal: JournalStanding,
        findings: Int,
        _ views: ViewsCheck.Outcome,
        _ options: OutputOptions
    ) throws {
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
