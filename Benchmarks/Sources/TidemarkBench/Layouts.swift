// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Contenders
import Foundation
import Workload

/// Compares the layouts of SQLite, so that each work can be measured against the fastest.
struct LayoutsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "layouts",
        abstract: "Compare SQLite's layouts at each work, the layouts taking turns; best first."
    )

    @Option(help: "Records in the store.")
    var records = 100_000
    @Option(help: "Repetitions.")
    var repetitions = 5
    @Option(help: "Only the works whose title has this in it.")
    var only: String?
    @Option(help: "Only the layouts whose description has this in it.")
    var layout: String?
    @Option(help: "An empty folder for the stores, on the disk that is to be measured.")
    var folder: String = FileManager.default.currentDirectoryPath + "/.build/bench-stores"

    func run() async throws {
        let suites: [Suite] = [
            .oneWriter, .insertBatches, .updateBatches, .firstSync, .firstSyncAfterUpdates,
            .longLog(eventCount: records),
        ]
        for suite in suites where only.map(suite.title.contains) ?? true {
            var medians: [(layout: SQLiteLayout, figure: Double, processor: Double)] = []
            let samples = try await measure(suite)
            for (layout, figures, times) in samples {
                medians.append((layout, figures.median, times.median))
            }
            let isTime = suite == .oneWriter || suite == suites[5]
            medians.sort { isTime ? $0.figure < $1.figure : $0.figure > $1.figure }
            print("\n\(suite.title) (\(isTime ? "time" : "records/s"))")
            for (layout, figure, processor) in medians {
                print(figure.short, " processor \(processor.short) ms ", layout)
            }
            fflush(nil)
        }
    }

    private func measure(_ suite: Suite) async throws -> [(SQLiteLayout, [Double], [Double])] {
        let scale = Scale(
            repetitionCount: repetitions,
            startRecordCount: records,
            updatedRecordCount: records,
            zoneRecordCount: records,
            saveCount: 200,
            batchCount: 30
        )
        var folders: [String] = []
        defer { for folder in folders { try? FileManager.default.removeItem(atPath: folder) } }
        var trials: [any Trial] = []
        let layouts = Self.candidates(for: suite).filter {
            layout.map($0.description.contains) ?? true
        }
        for layout in layouts {
            let own = folder + "/layout-\(UUID())"
            try FileManager.default.createDirectory(atPath: own, withIntermediateDirectories: true)
            folders.append(own)
            let setting = Setting(
                scale: scale,
                pages: PageSource(),
                folder: own,
                eventCount: records
            )
            trials.append(
                try await TriedLayout.$tried.withValue(layout) {
                    try await suite.trial(SQLiteContender<TriedLayout>.self, setting)
                }
            )
        }
        var samples = layouts.map { ($0, [Double](), [Double]()) }
        for _ in 0..<repetitions {
            for index in trials.indices {
                let start = Self.processorMilliseconds
                let found = try await TriedLayout.$tried.withValue(layouts[index]) {
                    guard let log = trials[index] as? LongLog<SQLiteContender<TriedLayout>> else {
                        return try await trials[index].measure(samples[index].1.count)
                    }
                    return [Name.delta(records, .warm): try await log.warmDelta()]
                }
                samples[index].2.append(Self.processorMilliseconds - start)
                for (name, value) in found where name != Name.sync {
                    samples[index].1.append(value)
                }
            }
        }
        for trial in trials { try await trial.end() }
        return samples
    }

    /// What the process has used of the processor: of more use than the clock on a busy machine.
    private static var processorMilliseconds: Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) * 1000 + Double(time.tv_nsec) / 1e6
    }

    /// Writing depends on how often the WAL is emptied, reading on whether the file is mapped, and both on
    /// the cache: a walk is faster if the memory of its pages is used again while it is in the processor's.
    private static func candidates(for suite: Suite) -> [SQLiteLayout] {
        let isWriting = [.oneWriter, .insertBatches, .updateBatches].contains(suite)
        var layouts: [SQLiteLayout] = []
        for tables in SQLiteLayout.Tables.allCases {
            for pageByteCount in [4096, 8192, 16_384] {
                for cacheByteCount in [SQLiteLayout.defaultCacheByteCount, 64 << 20] {
                    for isTuned in [false, true] {
                        var layout = SQLiteLayout(tables)
                        layout.pageByteCount = pageByteCount
                        layout.cacheByteCount = cacheByteCount
                        if isTuned, isWriting { layout.checkpointPageCount = 10_000 }
                        if isTuned, !isWriting { layout.mapByteCount = 2 << 30 }
                        layouts.append(layout)
                    }
                }
            }
        }
        return layouts
    }
}
