// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The names of what is measured, as they stand in the JSON.
enum Name {
    static let sync = "fdatasync"
    static let oneWriter = "save.oneWriter"
    static let manyWriters = "save.64Writers"
    static let insertBatches = "save.batch400.insert"
    static let updateBatches = "save.batch400.update"
    static let unchangedBatches = "save.batch400.ifUnchangedShare"
    static let unchangedNeighbours = "save.batch400.neighbours.ifUnchangedShare"
    static let unchangedOneWriter = "save.oneWriter.ifUnchangedShare"
    static let subscribedInserts = "save.batch400.insert.subscribedShare"
    static let subscribedInsertsNotified = "save.batch400.insert.notifiedShare"
    static let subscribedOneWriter = "save.oneWriter.subscribedShare"
    static let firstSync = "firstSync.fresh"
    static let firstSyncAfterUpdates = "firstSync.updatedAndCompacted"
    static let firstSyncUncached = "firstSync.uncached"
    static let firstSyncShare = "firstSync.shareOfLZ4Alone"
    static let replay = "replay"
    static let replayOnOneProcessor = "replay.oneProcessor"
    static let queryEqual = "query.equal"
    static let queryRange = "query.range"
    static let queryIndexFresh = "queryIndex.fresh"
    static let queryIndexReplaced = "queryIndex.replaced"
    static let shareFirstSync = "share.firstSync"
    static let shareDelta = "share.delta100"
    static let history = "disk.history"
    static let historyWritten = "disk.history.beforeCompacting"
    static let historyViews = "disk.history.ofWhichViews"
    static let historySpare = "disk.history.spareBeside"
    static let compactingMedian = "save.oneWriter.compacting"
    static let compactingP99 = "save.oneWriter.compactingP99"
    static let heap = "heap.idlePerRecord"
    static let current = "disk.currentOnly"

    enum Temperature: String {
        case warm, cold
    }

    static func delta(_ eventCount: Int, _ temperature: Temperature) -> String {
        "delta100.\(temperature).\(eventCount)"
    }

    static func open(_ eventCount: Int) -> String { "open.afterKill9.\(eventCount)" }
    static func openMemory(_ eventCount: Int) -> String { "open.afterKill9.memory.\(eventCount)" }
}

/// What Tidemark must reach.
enum Bar {
    /// At least so many times SQLite's figure.
    case timesSQLite(Double)
    /// At most this part of SQLite's figure.
    case shareOfSQLite(Double)
    case atLeast(Double)
    /// At least a figure, or at least this part of SQLite's.
    case atLeastOr(Double, shareOfSQLite: Double)
    case atMost(Double)
    /// At most one `fdatasync` of the same run, and so many microseconds.
    case syncAnd(Double)
    /// Measured for comparison.
    case none

    /// Whether the figures meet it; `nil` where that cannot be said.
    func isMet(tidemark: Double?, sqlite: Double?, sync: Double?) -> Bool? {
        guard let tidemark else { return nil }
        return switch self {
        case .timesSQLite(let times): sqlite.map { tidemark >= times * $0 }
        case .shareOfSQLite(let share): sqlite.map { tidemark <= share * $0 }
        case .atLeast(let least): tidemark >= least
        case .atLeastOr(let least, let share):
            tidemark >= least ? true : sqlite.map { tidemark >= share * $0 }
        case .atMost(let most): tidemark <= most
        case .syncAnd(let more): sync.map { tidemark <= $0 + more }
        case .none: nil
        }
    }

    func text(_ unit: String) -> String {
        switch self {
        case .timesSQLite(let times): "≥ \(times.short) × SQLite"
        case .shareOfSQLite(let share): "≤ \(share.short) × SQLite"
        case .atLeast(let least): "≥ \(least.short) \(unit)"
        case .atLeastOr(let least, let share):
            "≥ \(least.short) \(unit) or \(share.short) × SQLite"
        case .atMost(let most): "≤ \(most.short) \(unit)"
        case .syncAnd(let more): "≤ fdatasync + \(more.short) \(unit)"
        case .none: ""
        }
    }
}

/// One line of the table.
struct Measurement: Encodable {
    let name: String
    let unit: String
    let bar: Bar
    /// The median by engine; absent where the engine has nothing to measure.
    var medians: [String: Double] = [:]
    /// The lowest and the highest of the repetitions, by engine.
    var spreads: [String: [Double]] = [:]
    var met: Bool?
    /// The figure of the parts of the work that cannot be left out, alone.
    var floor: Double?
    /// The median disturbance of Tidemark's repetitions.
    var disturbance: Disturbance?
    /// Whether the figure is the worst of the repetitions instead of their median: for what depends
    /// on the moment at which a process was killed.
    var showsWorst = false

    /// Tidemark's figure divided by another's, whether more is better or less.
    func ratio(to engine: String) -> Double? {
        guard let tidemark = medians["tidemark"], let other = medians[engine] else { return nil }
        return other == 0 ? nil : tidemark / other
    }

    private enum Key: String, CodingKey {
        case name, unit, tidemark, sqlite, sqliteRowid, rocksdb, ratioToSQLite, ratioToSQLiteRowid
        case floor, bar, met, spread, disturbance
    }

    /// Every key is there, `null` where there is nothing to say.
    func encode(to encoder: any Encoder) throws {
        var object = encoder.container(keyedBy: Key.self)
        try object.encode(name, forKey: .name)
        try object.encode(unit, forKey: .unit)
        try object.encode(medians["tidemark"], forKey: .tidemark)
        try object.encode(medians["sqlite"], forKey: .sqlite)
        try object.encode(medians["sqliteRowid"], forKey: .sqliteRowid)
        try object.encode(medians["rocksdb"], forKey: .rocksdb)
        try object.encode(ratio(to: "sqlite"), forKey: .ratioToSQLite)
        try object.encode(ratio(to: "sqliteRowid"), forKey: .ratioToSQLiteRowid)
        try object.encode(floor, forKey: .floor)
        try object.encode(bar.text(unit), forKey: .bar)
        try object.encode(met, forKey: .met)
        try object.encode(spreads, forKey: .spread)
        try object.encode(disturbance, forKey: .disturbance)
    }

    /// All that is measured at a scale, in the order of the table.
    static func all(_ scale: Scale) -> [Measurement] {
        var list = [
            Measurement(name: Name.sync, unit: "µs", bar: .none),
            Measurement(name: Name.oneWriter, unit: "µs", bar: .syncAnd(40)),
            Measurement(name: Name.manyWriters, unit: "saves/s", bar: .timesSQLite(12)),
            Measurement(
                name: Name.insertBatches,
                unit: "records/s",
                bar: .timesSQLite(scale.isWhole ? 3 : 2)
            ),
            Measurement(name: Name.updateBatches, unit: "records/s", bar: .timesSQLite(3)),
            Measurement(name: Name.unchangedBatches, unit: "", bar: .atLeast(0.6)),
            Measurement(name: Name.unchangedNeighbours, unit: "", bar: .atLeast(2 / 3)),
            Measurement(name: Name.unchangedOneWriter, unit: "", bar: .atLeast(2 / 3)),
            Measurement(name: Name.subscribedInserts, unit: "", bar: .atLeast(0.5)),
            Measurement(name: Name.subscribedInsertsNotified, unit: "", bar: .none),
            Measurement(name: Name.subscribedOneWriter, unit: "", bar: .atLeast(0.5)),
            Measurement(name: Name.compactingMedian, unit: "× idle", bar: .none),
            Measurement(name: Name.compactingP99, unit: "× idle", bar: .atMost(2)),
            Measurement(
                name: Name.firstSync,
                unit: "records/s",
                bar: .timesSQLite(scale.isWhole ? 1.5 : 2)
            ),
            Measurement(
                name: Name.firstSyncAfterUpdates,
                unit: "records/s",
                bar: .timesSQLite(1.5)
            ),
            Measurement(name: Name.firstSyncUncached, unit: "records/s", bar: .none),
            Measurement(name: Name.firstSyncShare, unit: "", bar: .atLeast(0.8)),
        ]
        for count in scale.eventCounts {
            list += [
                Measurement(name: Name.delta(count, .warm), unit: "ms", bar: .shareOfSQLite(1)),
                Measurement(name: Name.delta(count, .cold), unit: "ms", bar: .atMost(10)),
            ]
        }
        for count in scale.eventCounts {
            list += [
                Measurement(name: Name.open(count), unit: "ms", bar: .atMost(50), showsWorst: true),
                Measurement(
                    name: Name.openMemory(count),
                    unit: "MiB",
                    bar: .atMost(64),
                    showsWorst: true
                ),
            ]
        }
        return list + [
            Measurement(name: Name.replay, unit: "events/s", bar: .none),
            Measurement(
                name: Name.replayOnOneProcessor,
                unit: "events/s",
                bar: .atLeast(2_500_000)
            ),
            Measurement(name: Name.queryEqual, unit: "µs", bar: .shareOfSQLite(1.5)),
            Measurement(name: Name.queryRange, unit: "µs", bar: .shareOfSQLite(1.5)),
            Measurement(name: Name.queryIndexFresh, unit: "records/s", bar: .atLeast(100_000)),
            Measurement(
                name: Name.queryIndexReplaced,
                unit: "records/s",
                bar: .atLeastOr(40_000, shareOfSQLite: 0.5)
            ),
            Measurement(name: Name.shareFirstSync, unit: "× owner's", bar: .atMost(2)),
            Measurement(name: Name.shareDelta, unit: "× owner's", bar: .atMost(2)),
            Measurement(name: Name.history, unit: "MB", bar: .shareOfSQLite(0.38)),
            Measurement(name: Name.historyWritten, unit: "MB", bar: .none),
            Measurement(name: Name.historyViews, unit: "MB", bar: .none),
            Measurement(name: Name.historySpare, unit: "MB", bar: .none),
            // None at all, but for what the ends of two stores happen to differ by.
            Measurement(name: Name.heap, unit: "bytes", bar: .atMost(1)),
            Measurement(name: Name.current, unit: "MB", bar: .shareOfSQLite(0.42)),
        ]
    }
}

extension Double {
    /// Three significant digits, thousands apart.
    var short: String {
        let size = abs(self)
        if size >= 1000 { return Int(rounded()).formatted(.number.locale(.init(identifier: "en"))) }
        if size >= 100 || self == rounded() { return String(Int(rounded())) }
        let digits = size >= 10 ? 1 : size >= 1 ? 2 : 3
        return formatted(
            .number.precision(.fractionLength(digits)).locale(.init(identifier: "en"))
        )
    }
}
