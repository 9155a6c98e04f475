// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tidemark
import TidemarkAdministration
import TidemarkLog
import TidemarkModel

/// `tidemark log stat`: figures.
struct LogStatCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stat",
        abstract: "Print what a store holds and what it takes, in figures.",
        discussion: """
            bytesOnDisk is what the log takes without space that is allocated ahead, which \
            spareBytes counts; viewBytes is what the views take, which could be computed again. \
            rawBytes is all commits and events before compression; ratio is rawBytes by \
            bytesOnDisk; journalLost counts entries of the journal that could not be written. Where damage keeps records from being counted, liveRecords and tombstones \
            are null.
            """
    )

    @OptionGroup var store: StoreArgument
    @OptionGroup var options: OutputOptions

    func run() async throws {
        let found = try await store.serviceOfFiles().answer(StatisticsCall())
        store.noteLag(found.clockLag)
        let figures: Figures = [
            ("events", "\(found.eventCount)"),
            ("commits", "\(found.commitCount)"),
            ("segments", "\(found.segmentCount)"),
            ("bytesOnDisk", "\(found.byteCount)"),
            ("spareBytes", "\(found.spareByteCount)"),
            ("viewBytes", "\(found.viewByteCount)"),
            ("rawBytes", "\(found.rawByteCount)"),
            ("ratio", ratioText(found.rawByteCount, found.byteCount)),
            ("liveRecords", found.liveRecordCount.map { "\($0)" } ?? "null"),
            ("tombstones", found.tombstoneCount.map { "\($0)" } ?? "null"),
            ("firstSequence", "\(found.firstSequence)"),
            ("lastSequence", "\(found.lastSequence)"),
            ("journalEntries", "\(found.journal.entryCount)"),
            ("journalBytes", "\(found.journal.byteCount)"),
            ("journalLost", "\(found.journal.lostCount)"),
        ]
        var output = StandardOutput()
        if options.isJSON(output) {
            try output.line { $0.append(json: figures) }
        } else {
            var table = Table([("", .left), ("", .right)])
            for figure in figures { table.append(["\(figure.name)", figure.value]) }
            for line in table.lines.dropFirst() { try output.line(line) }
        }
        try output.flush()
        noteTornTail(found.tornByteCount)
        try finish(found.damage + found.journal.damage)
    }
}
