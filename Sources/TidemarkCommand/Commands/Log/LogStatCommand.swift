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
        abstract: "Print the sizes of a store: zones, records, events and bytes.",
        discussion: """
              tidemark log stat notes.tide

            bytesOnDisk is the size of the log without preallocated space, which spareBytes \
            counts. viewBytes is the size of the views, which can be rebuilt. rawBytes is the size \
            of all commits and events before compression, and ratio is rawBytes divided by \
            bytesOnDisk. journalLost counts journal entries that could not be written. liveRecords \
            and tombstones are null if damage prevents a count.
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
        try options.print { line in
            line.append(json: figures)
        } lines: { _ in
            var table = Table([("", .left), ("", .right)])
            for figure in figures { table.append(["\(figure.name)", figure.value]) }
            // A table always begins with its headings, which are empty here.
            return Array(table.lines.dropFirst())
        }
        noteTornTail(found.tornByteCount)
        try finish(found.damage + found.journal.damage)
    }
}
