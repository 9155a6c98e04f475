// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import Tidemark
import TidemarkLog
import TidemarkModel

/// `tidemark log stat`: figures.
struct LogStatCommand: ParsableCommand {
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

    func run() throws {
        let reader = try LogReader(store.store, fileSystem: PosixFileSystem())
        let log = try reader.figures()
        // Of a log that is damaged where a zone begins, records cannot be counted.
        let opened =
            reader.damage.isEmpty ? try store.open(.reading) : try? store.open(.reading)
        let records =
            reader.damage.isEmpty ? try opened?.figures() : try? opened?.figures()
        if let opened { store.noteLag(of: opened) }
        let bytesOnDisk = log.byteCount
        let ratio = ratioText(log.rawByteCount, bytesOnDisk)
        let isEmpty = log.eventCount == 0
        let journal = JournalStanding(of: store.store, reader.store)
        let figures: Figures = [
            ("events", "\(log.eventCount)"),
            ("commits", "\(log.commitCount)"),
            ("segments", "\(log.segments.count)"),
            ("bytesOnDisk", "\(bytesOnDisk)"),
            ("spareBytes", "\(log.spareByteCount)"),
            ("viewBytes", "\(Self.byteCount(ofFolder: reader.viewsPath))"),
            ("rawBytes", "\(log.rawByteCount)"),
            ("ratio", ratio),
            ("liveRecords", records.map { "\($0.liveRecordCount)" } ?? "null"),
            ("tombstones", records.map { "\($0.tombstoneCount)" } ?? "null"),
            ("firstSequence", isEmpty ? "0" : "\(log.segments.first?.id.first ?? .zero)"),
            ("lastSequence", "\(reader.durableSequence)"),
            ("journalEntries", "\(journal.entryCount)"),
            ("journalBytes", "\(journal.byteCount)"),
            ("journalLost", "\(journal.lostCount)"),
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
        try finish(reader, and: journal.damage)
    }

    private static func byteCount(ofFolder path: String) -> Int {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
        return names.reduce(0) { sum, name in
            let attributes = try? FileManager.default.attributesOfItem(atPath: "\(path)/\(name)")
            return sum + ((attributes?[.size] as? Int) ?? 0)
        }
    }
}
