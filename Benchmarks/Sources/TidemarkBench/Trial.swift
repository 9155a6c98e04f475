// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Contenders
import Foundation
import Workload

/// One engine doing one work, over and over, so that engines can take turns.
protocol Trial: AnyObject {
    /// Brings the store to where the work starts. Not timed.
    init(_ setting: Setting) async throws

    /// Does the work once and says what it measured, by measurement.
    func measure(_ repetition: Int) async throws -> [String: Double]

    /// Measures the floors under the work, by measurement.
    ///
    /// Called once, after the turns of all engines: what a floor does to the disk and to the caches
    /// must not be part of the next turn.
    func floors() async throws -> [String: Double]

    /// Closes the store.
    func end() async throws
}

extension Trial {
    func floors() -> [String: Double] { [:] }
}

/// What a trial needs to know.
struct Setting: Sendable {
    let scale: Scale
    let pages: PageSource
    /// An empty folder of the trial's own.
    var folder: String
    /// The events of the log, for works that are done at several sizes.
    var eventCount = 0
    /// The real history, or a generated one of its size, where it is the work.
    var history: [RealCommit] = []
}

extension Contender {
    /// Fills a store with a history, fast and without durability, and opens it again with
    /// durability.
    static func filled(_ setting: Setting, _ work: Work, _ history: History) async throws -> Self {
        let filling = try await Self.open(setting.folder, for: work, durability: .none)
        try await filling.fill(history, setting.pages)
        try await filling.close()
        return try await Self.open(setting.folder, for: work, durability: .full)
    }

    /// Saves commits one after another, and returns the median time of one in microseconds.
    func medianTime(saving commits: [Prepared]) async throws -> Double {
        var times: [Double] = []
        for commit in commits {
            let start = ContinuousClock.now
            try await save(commit)
            times.append(start.microsecondsUntilNow)
        }
        return times.median
    }
}

/// The works, in the order in which they are measured.
enum Suite: Hashable {
    case oneWriter, manyWriters, insertBatches, updateBatches, unchangedBatches, subscribed
    case whileCompacting
    case firstSync, firstSyncAfterUpdates
    case longLog(eventCount: Int)
    case queries
    case sharing
    case history

    func trial<Engine: Contender>(
        _ engine: Engine.Type,
        _ setting: Setting
    ) async throws -> any Trial {
        switch self {
        case .oneWriter: try await OneWriter<Engine>(setting)
        case .manyWriters: try await ManyWriters<Engine>(setting)
        case .insertBatches: try await InsertBatches<Engine>(setting)
        case .updateBatches: try await UpdateBatches<Engine>(setting)
        case .unchangedBatches: try await UnchangedBatches<Engine>(setting)
        case .subscribed: try await Subscribed<Engine>(setting)
        case .whileCompacting: WhileCompacting<Engine>(setting)
        case .firstSync: try await FirstSync<Engine>(setting)
        case .firstSyncAfterUpdates: try await FirstSyncAfterUpdates<Engine>(setting)
        case .longLog: try await LongLog<Engine>(setting)
        case .queries: try await Queries<Engine>(setting)
        case .sharing: try await Sharing<Engine>(setting)
        case .history: HistoryOnDisk<Engine>(setting)
        }
    }

    var title: String {
        switch self {
        case .longLog(let eventCount): "a log of \(eventCount) events"
        default: "\(self)"
        }
    }

    /// How often each engine does the work; what is measured is the median.
    func repetitionCount(_ scale: Scale) -> Int {
        switch self {
        case .history: 1
        // First the deltas, and then the openings.
        case .longLog: 2 * scale.killCount
        default: scale.repetitionCount
        }
    }

    /// True if disturbed repetitions are made again.
    ///
    /// Not where the worst one counts, which may have been the disturbed one, nor for works of one
    /// repetition, which count bytes.
    var repeatsDisturbed: Bool {
        switch self {
        case .history, .longLog: false
        default: true
        }
    }
}

/// How much is done.
struct Scale: Sendable {
    /// How often each engine does each work.
    var repetitionCount = 7
    /// How often each engine is killed and opened again, at each size of log.
    var killCount = 5
    /// Records in the store before single saves and inserts.
    var startRecordCount = 100_000
    /// Records in the store that is updated at random.
    var updatedRecordCount = 1_000_000
    /// Records of the zone that is read as a whole.
    var zoneRecordCount = 1_000_000
    /// Lengths of the logs that small deltas are read from and that are opened.
    var eventCounts = [10_000, 100_000, 1_000_000, 10_000_000]
    /// Single saves in one repetition.
    var saveCount = 500
    /// Single saves before the first repetition: SQLite and RocksDB then write into a log that they have
    /// used before, and no longer into one that grows with every sync.
    var warmUpSaveCount = 5_000
    /// Batches of 400 in one repetition.
    var batchCount = 50

    /// True if the zone that is read does not fit into the engines' caches.
    var isWhole: Bool { zoneRecordCount >= 1_000_000 }

    /// The history of the store before single saves and inserts.
    var startHistory: History {
        History(zoneCount: 4, recordCount: startRecordCount, roundCount: 1)
    }

    /// The history of the store that is updated at random.
    var updatedHistory: History {
        History(zoneCount: 4, recordCount: updatedRecordCount, roundCount: 1)
    }

    /// All that the bars speak of.
    static let full = Scale()

    /// The same works, smaller: about three minutes in all.
    static let quick = Scale(
        repetitionCount: 5,
        killCount: 3,
        startRecordCount: 20_000,
        updatedRecordCount: 100_000,
        zoneRecordCount: 60_000,
        eventCounts: [10_000, 100_000, 300_000],
        saveCount: 200,
        batchCount: 20
    )

    /// Hardly anything: seconds, to see that it all runs.
    static let smoke = Scale(
        repetitionCount: 2,
        killCount: 1,
        startRecordCount: 500,
        updatedRecordCount: 2_000,
        zoneRecordCount: 2_000,
        eventCounts: [10_000],
        saveCount: 5,
        warmUpSaveCount: 64,
        batchCount: 2
    )
}
